"""`sojourn stream`: events in, outcomes out, for as long as events come."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ...rules.rule import EVENT_COLUMNS
from .. import options as O  # noqa: N812
from ..exits import failures

_EVENTS = "The events"


class Removed(StrEnum):
    """What becomes of what is pending under a rule that is removed: it is told as cancelled, or left untold."""

    CANCEL = "cancel"
    LEAVE = "leave"


stream = typer.Typer(invoke_without_command=True, no_args_is_help=True)


@stream.callback()
def run(
    context: typer.Context,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="SOURCE",
            help="file:FOLDER, delta:FOLDER, iceberg:TABLE, kafka:HOST:PORT/TOPIC or rate:ROWS_PER_SECOND.",
        ),
    ] = None,
    rule: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A rule, in TOML; repeat it for several.")
    ] = None,
    sink: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="SINK",
            help="parquet:FOLDER, delta:FOLDER, iceberg:TABLE, kafka:HOST:PORT/TOPIC or console.",
        ),
    ] = "console",
    checkpoint: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="What is needed to go on after a stop or a crash.")
    ] = None,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="Stop when all events that are there have been seen.")
    ] = False,
    every: Annotated[
        str | None, typer.Option(metavar="DURATION", help="How often to look for events; at once if not given.")
    ] = None,
    late: Annotated[str, typer.Option(metavar="DURATION", help="How late events may come.")] = "1 hour",
    shards: Annotated[int, typer.Option(help="Into how many parts the keys are split.")] = 16,
    eager: Annotated[bool, typer.Option("--eager", help="Tell completions at once, not only when certain.")] = False,
    remember: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="How long to remember keys that had their operation, and levels; for ever if not given.",
        ),
    ] = None,
    removed: Annotated[
        Removed | None,
        typer.Option(help="What becomes of operations under rules that the checkpoint has, and that are not given."),
    ] = None,
    heartbeat: Annotated[
        bool, typer.Option("--heartbeat", help="Let the clock move the watermark when no events come.")
    ] = False,
    key: O.KeyColumn = None,
    kind: O.KindColumn = None,
    at: O.AtColumn = None,
    by: O.SourceColumn = None,
    value: O.ValueColumn = None,
    unit: O.InUnits = O.TimeUnit.AUTO,
    schema: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help='As in "case_id string, at timestamp".', rich_help_panel=_EVENTS),
    ] = None,
    format: O.Format = None,
    option: O.Reading = None,
    operations: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="A stream of operations (operation_id, keys, opened_at, ...), as --from: events open nothing then.",
            rich_help_panel=_EVENTS,
        ),
    ] = None,
    operations_schema: Annotated[
        str | None, typer.Option(metavar="COLUMNS", help="Those of --operations.", rich_help_panel=_EVENTS)
    ] = None,
    master: O.Master = None,
    conf: O.Conf = None,
) -> None:
    """Tell what becomes of operations while their events are still coming. Ctrl-C stops after the micro-batch.

    [bold]sojourn stream --from file:events/ --rule fine-paid.toml --to parquet:outcomes/ --checkpoint state/[/bold]
    """
    if context.invoked_subcommand is not None:
        return
    for name, given in (("--from", source), ("--rule", rule), ("--checkpoint", checkpoint)):
        if given is None:
            raise typer.BadParameter("is missing", param_hint=name)
    if operations_schema is not None and operations is None:
        raise typer.BadParameter("is for what --operations names", param_hint="--operations-schema")
    options, spark = O.settings(option, "--option"), O.settings(conf, "--conf")
    with failures():
        from ...pipeline.stream.doors.sources import From  # noqa: PLC0415  (Spark takes a while to load)
        from .run import StreamRun  # noqa: PLC0415

        assert source is not None
        assert rule is not None
        assert checkpoint is not None
        StreamRun(
            From(source, schema, format, options),
            rule,
            sink,
            checkpoint,
            columns=dict(zip(EVENT_COLUMNS, (key, kind, at, by, value), strict=True)),
            options={
                "unit": unit.value,
                "late": late,
                "shards": shards,
                "eager": eager,
                "heartbeat": heartbeat,
                "remember": remember,
            },
            removed=None if removed is None else removed.value,
            available_now=available_now,
            every=every,
            operations=None if operations is None else From(operations, operations_schema),
        ).run(master, spark)


@stream.command()
def status(
    checkpoint: Annotated[str, typer.Argument(metavar="CHECKPOINT", help="The folder that a stream was given.")],
    pending: Annotated[
        bool, typer.Option("--pending", help="Show what is pending as of the watermark, the next due first.")
    ] = False,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="With --pending: write all of it there, as Parquet.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Say it in JSON; with --pending, all rows.")] = False,
) -> None:
    """Say what is pending, since when, how far the watermark is and how large the state.

    [bold]sojourn stream status state/ --pending[/bold]
    """
    if out is not None and not pending:
        raise typer.BadParameter("is for what --pending shows", param_hint="--out")
    with failures():
        from .status import show_status  # noqa: PLC0415  (Spark takes a while to load)

        show_status(checkpoint, as_json=as_json, with_pending=pending, out=out)
