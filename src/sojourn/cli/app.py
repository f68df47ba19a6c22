"""All commands under one name. Only the one that is asked for is loaded, as each takes a while; for help all are."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated

import typer

from .. import __version__
from .exits import EPILOG, show_tracebacks

COMMANDS = {
    "serve": "serve",
    "replay": "replay.replay",
    "recommend": "replay.recommend",
    "explain": "replay.explain",
    "report": "replay.report",
    "verify": "data",
    "inspect": "data",
    "backup": "data",
    "compact": "data",
    "demo": "demo",
    "simulate": "simulate",
    "doctor": "doctor",
    "stream": "stream.stream",
    "rule": "rule",
}
"""By name: the module below this package that has it. In the order in which help shows them: groups come last."""


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """An app with the command that these arguments name; with all commands if they name none, or an unknown one."""
    asked = next((argument for argument in arguments if not argument.startswith("-")), "")
    return app_of([asked] if asked in COMMANDS else COMMANDS)


def app_of(names: Iterable[str]) -> typer.Typer:
    """An app that knows these commands."""
    app = typer.Typer(
        name="sojourn",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=EPILOG,
    )
    app.callback()(sojourn)
    for name in names:
        command = getattr(import_module(f".{COMMANDS[name]}", __package__), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"sojourn {__version__}")
        raise typer.Exit


def sojourn(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks, and what Spark logs.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Hold what cannot finish yet until its condition is met or its deadline passes; say which of the two it was."""
    gc.enable()  # it was off while the command was loaded
    show_tracebacks(debug)
