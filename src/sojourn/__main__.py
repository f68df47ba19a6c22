"""`python -m sojourn`, and the command `sojourn`."""

from __future__ import annotations

import gc
import sys

_UNUSABLE, _INTERRUPTED = 3, 130  # as in cli.exits, which cannot be imported without what is missing


def main() -> None:
    """Run the command line; without what it needs, say what to install."""
    gc.disable()  # loading makes much, and none of it is garbage; `cli.app.sojourn` has it looked for again
    try:
        from .cli import app_for  # noqa: PLC0415  (typer is an extra)
        from .cli.exits import run  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(f"the command line needs {error.name}; run: pip install 'sojourn[cli]'", file=sys.stderr)
        sys.exit(_UNUSABLE)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    run(lambda: app_for(sys.argv[1:])(prog_name="sojourn"))


if __name__ == "__main__":
    main()
