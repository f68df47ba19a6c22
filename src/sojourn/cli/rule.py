"""`sojourn rule ...`: rule files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..rules import Rule
from .exits import failures

rule = typer.Typer(no_args_is_help=True, help="Look at rule files.")


@rule.callback()
def _group() -> None:
    """Look at rule files."""


@rule.command()
def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Rule files, in TOML.")],
    as_json: Annotated[bool, typer.Option("--json", help="Say it in JSON, one object per line.")] = False,
) -> None:
    """Read rule files, and say each rule as a sentence."""
    for file in files:
        with failures():
            parsed = Rule.from_toml(file)
        sentence = str(parsed)
        typer.echo(json.dumps({"file": str(file), "rule": parsed.name, "sentence": sentence}) if as_json else sentence)
