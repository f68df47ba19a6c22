"""The command line: `sojourn ...`. A command is a file here, thin: what it does stands in the rooms below."""

from .app import app as app

__all__ = ["app"]
