"""How a command ends: its exit code, and what it says when it fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from ..errors import SojournError
from .causes import innermost

DIFFERENT = 1
USAGE = 2
UNUSABLE = 3
SET_ASIDE = 4
UNEXPECTED = 70
INTERRUPTED = 130

MEANINGS = {
    0: "all is well",
    DIFFERENT: "the engines differ (replay --engine both), or a promise was broken (demo, simulate)",
    USAGE: "the command line cannot be understood",
    UNUSABLE: "a log, a rule, or something to be installed is missing or no good",
    SET_ASIDE: "rows had to be set aside (replay --strict)",
    UNEXPECTED: "an error that should not be: please report it",
    INTERRUPTED: "interrupted",
}
EPILOG = "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in MEANINGS.items()) + "."

_state = {"debug": False}


def show_tracebacks(is_asked: bool) -> None:
    """Whether a failure shows where it came from."""
    _state["debug"] = is_asked


def is_debugging() -> bool:
    return _state["debug"]


def fail(message: str, code: int = UNUSABLE) -> NoReturn:
    """Say why, and leave with a code that means it."""
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(code)


@contextmanager
def failures() -> Iterator[None]:
    """What goes wrong inside is said in a line; with `--debug`, as Python says it."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if is_debugging():
            raise
        if isinstance(error, SojournError | OSError):
            fail(str(error))
        if isinstance(error, ModuleNotFoundError):
            fail(f"{error}; run: {_install(error.name)}")
        fail(f"{type(error).__name__}: {gist(error)} (--debug shows where)", UNEXPECTED)


def gist(error: Exception) -> str:
    """The line of an error that says most."""
    return innermost(error)


def _install(module: str | None) -> str:
    """What brings a module that is not there."""
    extras = {"pyspark": "spark", "py4j": "spark", "numpy": "pipeline", "pyarrow": "pipeline"}
    extra = extras.get((module or "").partition(".")[0])
    return f"pip install 'sojourn[{extra}]'" if extra else f"{sys.executable} -m pip install {module}"
