"""`sojourn explain`: why an operation ended as it did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import options as O  # noqa: N812
from ..exits import failures

if TYPE_CHECKING:
    from ...pipeline.results.explain import Explanation


def explain(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="An outcome table; with --rule an event log; or a hub's data folder.")
    ],
    who: Annotated[list[str], typer.Argument(metavar="WHO...", help="Operations by their id, or all those of a key.")],
    rule: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A rule in TOML. May be given several times.")
    ] = None,
    key: O.KeyColumn = None,
    kind: O.KindColumn = None,
    at: O.AtColumn = None,
    source: O.SourceColumn = None,
    value: O.ValueColumn = None,
    unit: O.InUnits = O.TimeUnit.AUTO,
    format: O.Format = None,
    option: O.Reading = None,
    operations: O.Operations = None,
    as_of: O.AsOfOption = "log",
    as_json: Annotated[bool, typer.Option("--json", help="Say it in JSON, one object per line.")] = False,
) -> None:
    """Say why operations ended as they did: from an outcome table, or event by event from a log and a rule.

    [bold]sojourn explain outcomes/ A1[/bold]
    [bold]sojourn explain events.parquet A1 --rule fine-paid.toml[/bold]
    """
    options = O.settings(option, "--option")
    with failures():
        from ...pipeline.no_pandas import without_pandas  # noqa: PLC0415  (NumPy and Arrow take a while to load)

        without_pandas()
        from ...pipeline.files.source import Source  # noqa: PLC0415
        from ...pipeline.results.explain import explain_events, explain_outcomes  # noqa: PLC0415
        from .job import opened_job  # noqa: PLC0415

        for asked in who:
            if rule or O.is_data_folder(table):
                with opened_job(
                    table,
                    rule,
                    columns=O.columns_of(key, kind, at, source, value),
                    unit=unit.value,
                    format=format,
                    options=options,
                    operations=operations,
                    as_of=as_of,
                ) as job:
                    explanations = explain_events(job, asked)
            else:
                explanations = explain_outcomes(Source.of(table, format, options), asked)
            for explanation in explanations:
                typer.echo(_json(explanation) if as_json else _text(explanation))


def _text(explanation: Explanation) -> str:
    from ...pipeline.results.explain import line_text  # noqa: PLC0415

    aside = [f"set aside, {text}" for text in explanation.set_aside]
    return "\n  ".join([explanation.sentence(), *map(line_text, explanation.lines), *aside])


def _json(explanation: Explanation) -> str:
    """Times are epoch milliseconds."""
    outcome = {name: value for name, value in explanation.outcome._asdict().items() if name != "seen"}
    events = [line._asdict() for line in explanation.lines]
    details = {"sentence": explanation.sentence(), "events": events, "set_aside": list(explanation.set_aside)}
    return json.dumps({**outcome, **details}, ensure_ascii=False)
