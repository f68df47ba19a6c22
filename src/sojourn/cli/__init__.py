"""The command line: `sojourn ...`. A command is a thin file here: the work is done in the packages below."""

from .app import app_for

__all__ = ["app_for"]
