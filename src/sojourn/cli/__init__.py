"""The command line: `sojourn ...`. A command is a thin file here: the work is done in the packages below."""

from .app import app as app

__all__ = ["app"]
