"""`python -m sojourn`, and the command `sojourn`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; without what it needs, say what to install."""
    try:
        from .cli import app  # noqa: PLC0415  (typer is an extra)
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"the command line needs {error.name}; run: pip install 'sojourn[cli]'")
    app(prog_name="sojourn")


if __name__ == "__main__":
    main()
