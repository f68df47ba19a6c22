"""`sojourn replay`: an event log in, outcomes out."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..rules.rule import EVENT_COLUMNS
from .exits import failures

_LOG, _OUTPUT, _SPARK = "The log", "What comes out", "Spark"


class Engine(StrEnum):
    """Where a log is replayed."""

    SPARK = "spark"
    LOCAL = "local"
    BOTH = "both"


class Unit(StrEnum):
    """What a bare number means where a time is expected."""

    AUTO = "auto"
    SECONDS = "s"
    MILLISECONDS = "ms"


def replay(
    events: Annotated[
        str, typer.Argument(metavar="EVENTS", help="A file, a folder or a pattern: Parquet, CSV, JSON Lines, XES.")
    ],
    rule: Annotated[list[Path], typer.Option(metavar="FILE", help="A rule in TOML. May be given several times.")],
    engine: Annotated[
        Engine, typer.Option(help="spark; local: in this process; both: on both, and compared.")
    ] = Engine.SPARK,
    key: Annotated[str | None, typer.Option(help="Column of keys.", rich_help_panel=_LOG)] = None,
    kind: Annotated[str | None, typer.Option(help="Column of kinds.", rich_help_panel=_LOG)] = None,
    at: Annotated[str | None, typer.Option(help="Column of times.", rich_help_panel=_LOG)] = None,
    source: Annotated[str | None, typer.Option(help="Column of sources.", rich_help_panel=_LOG)] = None,
    value: Annotated[str | None, typer.Option(help="Column of values.", rich_help_panel=_LOG)] = None,
    unit: Annotated[
        Unit, typer.Option(help="What a bare number means as a time; auto looks at it.", rich_help_panel=_LOG)
    ] = Unit.AUTO,
    format: Annotated[
        str | None,
        typer.Option(help="What the files are, if their names do not say; anything Spark reads.", rich_help_panel=_LOG),
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="How to read them.", rich_help_panel=_LOG)
    ] = None,
    operations: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A table of operations (operation_id, keys, opened_at, ...): these, not events, open.",
            rich_help_panel=_LOG,
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail if a row cannot be used.", rich_help_panel=_LOG)
    ] = False,
    out: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Outcomes as Parquet; quarantine/ beside it.", rich_help_panel=_OUTPUT),
    ] = None,
    summary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Counts as JSON.", rich_help_panel=_OUTPUT)
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A page with charts, as one HTML file.", rich_help_panel=_OUTPUT)
    ] = None,
    what_if: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help='Other deadlines: "30 days,60 days"; "+15 min" moves each.', rich_help_panel=_OUTPUT
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Count by a column, in the report.", rich_help_panel=_OUTPUT)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON, and nothing else.", rich_help_panel=_OUTPUT)
    ] = False,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="The cluster; local[*] if none.", rich_help_panel=_SPARK)
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Settings of Spark.", rich_help_panel=_SPARK)
    ] = None,
) -> None:
    """Replay an event log under rules: what became of each operation, when, and why.

    [bold]sojourn replay events.parquet --rule fine-paid.toml --report report.html[/bold]
    """
    options, spark = settings(option, "--option"), settings(conf, "--conf")
    with failures():
        from .replaying import Outputs, Replaying, job_of  # noqa: PLC0415  (NumPy and Arrow take a while to load)

        columns = dict(zip(EVENT_COLUMNS, (key, kind, at, source, value), strict=True))
        job = job_of(
            events,
            rule,
            columns={ours: name for ours, name in columns.items() if name is not None},
            unit=unit.value,
            format=format,
            options=options,
            operations=operations,
            what_if=what_if,
            by=by,
        )
        outputs = Outputs(out, summary, report, as_json)
        Replaying(job, outputs, is_strict=strict, master=master, conf=spark).run(engine.value)


def settings(given: Iterable[str] | None, option: str) -> dict[str, str]:
    """NAME=VALUE, several times, as a mapping."""
    pairs = [text.partition("=") for text in given or ()]
    for name, equals, value in pairs:
        if not name or not equals:
            raise typer.BadParameter(f"{name + equals + value!r} is not NAME=VALUE", param_hint=option)
    return {name: value for name, _, value in pairs}
