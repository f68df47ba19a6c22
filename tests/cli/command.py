"""The command line, run in this process."""

from __future__ import annotations

from typing import NamedTuple

from typer.testing import CliRunner

from sojourn.cli import app_for


class Ended(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


def sojourn(*arguments: object) -> Ended:
    given = [str(argument) for argument in arguments]
    result = CliRunner().invoke(app_for(given), given, prog_name="sojourn")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ended(result.exit_code, result.stdout, result.stderr)
