"""`sojourn replay`: an event log in, outcomes out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import options as O  # noqa: N812
from ..exits import failures, loading

_EVENTS, _OUTPUT = "The events", "What comes out"


def replay(
    events: Annotated[
        str,
        typer.Argument(
            metavar="EVENTS",
            help="A file, a folder or a pattern: Parquet, CSV, JSON Lines, XES; or a hub's data folder.",
        ),
    ],
    rule: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="A rule in TOML. May be given several times. A data folder of a hub has its own."
        ),
    ] = None,
    engine: Annotated[
        O.Engine, typer.Option(help="spark; local: in this process; both: on both, and compared.")
    ] = O.Engine.SPARK,
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
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Fail if a row cannot be used, or if nothing opens.", rich_help_panel=_EVENTS),
    ] = False,
    out: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Outcomes as Parquet; DIR-quarantine beside it.", rich_help_panel=_OUTPUT),
    ] = None,
    only_ended: Annotated[
        bool, typer.Option("--only-ended", help="Write no pending operations.", rich_help_panel=_OUTPUT)
    ] = False,
    quarantine: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where rows set aside go, if not to DIR-quarantine.", rich_help_panel=_OUTPUT),
    ] = None,
    summary: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Counts as JSON: of each rule, group and what-if.", rich_help_panel=_OUTPUT),
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
        str | None, typer.Option(metavar="COLUMN", help="Count by a column of what opens.", rich_help_panel=_OUTPUT)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON, and nothing else.", rich_help_panel=_OUTPUT)
    ] = False,
    master: O.Master = None,
    conf: O.Conf = None,
    memory: O.Memory = None,
) -> None:
    """Replay an event log under rules: what became of each operation, when, and why.

    [bold]sojourn replay events.parquet --rule fine-paid.toml --report report.html[/bold]
    """
    options, spark, most = O.settings(option, "--option"), O.settings(conf, "--conf"), O.bytes_of(memory)
    if not rule and not O.is_data_folder(events):
        raise typer.BadParameter("is missing: only the data folder of a hub has rules of its own", param_hint="--rule")
    with failures():
        with loading():
            from ...pipeline.no_pandas import without_pandas  # noqa: PLC0415  (NumPy and Arrow take a while to load)

            without_pandas()
            from .job import opened_job  # noqa: PLC0415
            from .outputs import Outputs  # noqa: PLC0415
            from .run import ReplayRun  # noqa: PLC0415

        outputs = Outputs(out, summary, report, as_json, quarantine, only_ended)
        outputs.refuse_inputs(events, operations, *(rule or ()))
        with opened_job(
            events,
            rule,
            columns=O.columns_of(key, kind, at, source, value),
            unit=unit.value,
            format=format,
            options=options,
            operations=operations,
            as_of=as_of,
            what_if=what_if,
            by=by,
        ) as job:
            ReplayRun(job, outputs, is_strict=strict, master=master, conf=spark, memory=most).run(engine.value)
