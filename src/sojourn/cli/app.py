"""All commands under one name."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from .data import backup, compact, inspect, verify
from .demo import demo
from .doctor import doctor
from .exits import EPILOG, show_tracebacks
from .explain import explain
from .recommend import recommend
from .replay import replay
from .report import report
from .rule import rule
from .serve import serve
from .simulate import simulate
from .stream import stream

app = typer.Typer(
    name="sojourn",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
)
app.command()(serve)
app.command()(replay)
app.command()(recommend)
app.command()(explain)
app.command()(report)
app.command()(verify)
app.command()(inspect)
app.command()(backup)
app.command()(compact)
app.add_typer(stream, name="stream")
app.add_typer(rule, name="rule")
app.command()(demo)
app.command()(simulate)
app.command()(doctor)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"sojourn {__version__}")
        raise typer.Exit


@app.callback()
def sojourn(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks, and what Spark logs.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Hold what cannot finish yet until its condition is met or its deadline passes; say which of the two it was."""
    show_tracebacks(debug)
