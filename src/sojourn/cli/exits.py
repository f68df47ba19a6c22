"""How a command ends: its exit code, and what it says when it fails."""

from __future__ import annotations

import builtins
import gc
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from .. import errors
from ..errors import SojournError
from .causes import innermost

DIFFERENT = 1
USAGE = 2
UNUSABLE = 3
SET_ASIDE = 4
UNEXPECTED = 70
INTERRUPTED = 130
CLOSED = 141

MEANINGS = {
    0: "all is well",
    DIFFERENT: "the engines differ (replay --engine both), what was told does not come out again (verify), "
    "a data folder is damaged (inspect), or a promise was broken (demo, simulate)",
    USAGE: "the command line cannot be understood, or names a place to write where something is read",
    UNUSABLE: "a log, a data folder, a rule, a place to write or something to be installed is missing or invalid, "
    "or Spark failed",
    SET_ASIDE: "rows had to be set aside, or nothing opened (replay --strict)",
    UNEXPECTED: "an error in Sojourn itself: please report it",
    INTERRUPTED: "interrupted",
    CLOSED: "nobody reads what is printed any more (a closed pipe)",
}
EPILOG = "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in MEANINGS.items()) + "."

_NOT_OURS = {
    *(name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, SojournError)),
    *(name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, OSError)),
    "ArrowInvalid",
}
"""Errors, by name, with which a task on Spark fails because of what it was given, not because of a bug."""

_state = {"debug": False}


def show_tracebacks(is_asked: bool) -> None:
    """Say whether a failure shows where it came from."""
    _state["debug"] = is_asked


def is_debugging() -> bool:
    return _state["debug"]


def fail(message: str, code: int = UNUSABLE) -> NoReturn:
    """Say why, and leave with a code that means it."""
    typer.echo(message if code == INTERRUPTED else f"error: {message}", err=True)
    raise typer.Exit(code)


@contextmanager
def failures() -> Iterator[None]:
    """An error inside becomes one line on stderr and an exit code; with `--debug` the traceback comes first."""
    try:
        yield
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        fail("interrupted", INTERRUPTED)
    except Exception as error:
        if is_debugging():
            traceback.print_exc()
        fail(_message(error), code_of(error))


@contextmanager
def loading() -> Iterator[None]:
    """Turn the garbage collector off while modules are loaded: it would take a tenth of a second, and find nothing."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def run(command: Callable[[], object]) -> NoReturn:
    """Run a command line to its end, and leave with a code of the table, whatever happens on the way."""
    code: str | int | None = 0
    try:
        with failures():
            command()
    except typer.Exit as ended:
        code = ended.exit_code
    except SystemExit as ended:
        code = _own_code(ended)
    gc.freeze()  # on its way out Python need not look for cycles, which takes a tenth of a second
    sys.exit(_flushed(code))


def code_of(error: Exception) -> int:
    """UNUSABLE if a file, a rule or the machine is at fault, UNEXPECTED if Sojourn itself is."""
    if isinstance(error, SojournError | OSError | ModuleNotFoundError):
        return UNUSABLE
    if not type(error).__module__.startswith(("pyspark.", "py4j.")):
        return UNEXPECTED
    lines = str(error).splitlines()
    named = {match[1] for line in lines if (match := re.match(r"(?:\w+\.)*(\w+)(?::|$)", line))}
    is_from_python = any(line.startswith("Traceback") for line in lines)
    return UNEXPECTED if is_from_python and not named & _NOT_OURS else UNUSABLE


def _own_code(ended: SystemExit) -> str | int | None:
    """Typer exits with 1 when its output is closed or its input ends; here 1 means something else."""
    if isinstance(ended.__context__, BrokenPipeError):
        return CLOSED
    return INTERRUPTED if isinstance(ended.__context__, typer.Abort) else ended.code


def _flushed(code: str | int | None) -> str | int | None:
    """The code, once all is printed: otherwise Python would complain on exit about what it cannot print."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = code or CLOSED
    if code == CLOSED:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _message(error: Exception) -> str:
    if isinstance(error, SojournError | OSError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        return f"{error}; run: {_install(error.name)}"
    return f"{type(error).__name__}: {innermost(error)} (--debug shows where)"


def _install(module: str | None) -> str:
    """How to install a module that is missing."""
    extras = {"pyspark": "spark", "py4j": "spark", "numpy": "pipeline", "pyarrow": "pipeline"}
    extras |= dict.fromkeys(("starlette", "uvicorn", "uvloop", "httptools", "prometheus_client"), "server")
    extra = extras.get((module or "").partition(".")[0])
    return f"pip install 'sojourn[{extra}]'" if extra else f"{sys.executable} -m pip install {module}"
