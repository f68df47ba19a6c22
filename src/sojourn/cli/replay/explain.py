"""`sojourn explain`: why an operation ended as it did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...rules.rule import EVENT_COLUMNS
from ..exits import failures
from ..options import (
    AsOfOption,
    AtColumn,
    Format,
    InUnits,
    KeyColumn,
    KindColumn,
    Operations,
    Reading,
    SourceColumn,
    TimeUnit,
    ValueColumn,
    is_data_folder,
    settings,
)

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
    key: KeyColumn = None,
    kind: KindColumn = None,
    at: AtColumn = None,
    source: SourceColumn = None,
    value: ValueColumn = None,
    unit: InUnits = TimeUnit.AUTO,
    format: Format = None,
    option: Reading = None,
    operations: Operations = None,
    as_of: AsOfOption = "log",
    as_json: Annotated[bool, typer.Option("--json", help="Say it in JSON, one object per line.")] = False,
) -> None:
    """Say why operations ended as they did: from an outcome table, or event by event from a log and a rule.

    [bold]sojourn explain outcomes/ A1[/bold]
    [bold]sojourn explain events.parquet A1 --rule fine-paid.toml[/bold]
    """
    options = settings(option, "--option")
    with failures():
        from ...pipeline.no_pandas import without_pandas  # noqa: PLC0415  (NumPy and Arrow take a while to load)

        without_pandas()
        from ...pipeline.files.source import Source  # noqa: PLC0415
        from ...pipeline.results.explain import explain_events, explain_outcomes  # noqa: PLC0415
        from .job import opened_job  # noqa: PLC0415

        columns = dict(zip(EVENT_COLUMNS, (key, kind, at, source, value), strict=True))
        named = {ours: name for ours, name in columns.items() if name is not None}
        for asked in who:
            if rule or is_data_folder(table):
                with opened_job(
                    table,
                    rule,
                    columns=named,
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
