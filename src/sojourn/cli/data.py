"""`sojourn verify`, `inspect`, `backup` and `compact`: the data folder of a hub, from outside."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from ..rules.duration import duration_text
from ..rules.outcome import time_text
from .exits import DIFFERENT, fail, failures, is_debugging
from .options import Conf, Engine, Master, duration_of, settings
from .words import many

if TYPE_CHECKING:
    from ..durable.dataset.verified import Verified
    from ..durable.folder.inspection import Inspection, Standing
    from ..durable.folder.salvage import Salvaged

Data = Annotated[str, typer.Argument(metavar="DATA", help="The data folder of a hub, which may be running.")]
AsJson = Annotated[bool, typer.Option("--json", help="Say it in JSON.")]


def verify(
    data: Data,
    engine: Annotated[
        Engine, typer.Option(help="local: in this process; spark; both: on one after the other.")
    ] = Engine.LOCAL,
    as_json: AsJson = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Replay all that a hub has seen under the law: each outcome that it told must come out again, at its time.

    [bold]sojourn verify data/[/bold]
    """
    spark_conf = settings(conf, "--conf")
    with failures(), ExitStack() as stack:
        from ..durable import verify as verify_folder  # noqa: PLC0415

        spark = None
        if engine is not Engine.LOCAL:
            from .spark.session import spark_session  # noqa: PLC0415  (needs Spark)

            spark = stack.enter_context(spark_session(master, spark_conf, is_quiet=not is_debugging()))
        verified = verify_folder(data, engine=engine.value, spark=spark)
        typer.echo(json.dumps(verified._asdict()) if as_json else verified_text(verified))
        if not verified.is_same:
            fail(f"{many(verified.different, 'outcome')} did not come out as told", DIFFERENT)


def verified_text(verified: Verified) -> str:
    same = verified.checked - verified.different
    lines = [
        f"{same:,} of {many(verified.checked, 'outcome')} told came out again, at their times ({_engines(verified)})"
    ]
    lines += [f"  {difference}" for difference in verified.differences]
    lines.append(f"{many(verified.pending, 'wait')} pending as of {time_text(verified.as_of)}")
    if verified.untold:
        lines.append(f"{many(verified.untold, 'wait')} ended, and about to be told")
    if verified.unchecked:
        lines.append(f"{many(verified.unchecked, 'outcome')} not checked: the log does not go back to their opening")
    return "\n".join(lines)


def _engines(verified: Verified) -> str:
    return " and ".join({"local": "in this process", "spark": "on Spark"}[engine] for engine in verified.engines)


def inspect(
    data: Data,
    repair: Annotated[bool, typer.Option("--repair", help="Salvage what is whole into another folder.")] = False,
    to: Annotated[str | None, typer.Option(metavar="NEW", help="Where to, with --repair.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what is in a data folder: segments, records, what is pending, and whether it is whole.

    [bold]sojourn inspect data/[/bold]
    [bold]sojourn inspect --repair data/ --to mended/[/bold]
    """
    if repair != (to is not None):
        raise typer.BadParameter("--repair and --to belong together", param_hint="--to" if repair else "--repair")
    with failures():
        from ..durable.folder.inspection import inspect as inspect_folder  # noqa: PLC0415
        from ..durable.folder.salvage import salvage  # noqa: PLC0415

        if to is not None:
            salvaged = salvage(data, to)
            typer.echo(json.dumps(salvaged._asdict()) if as_json else salvaged_text(salvaged))
            return
        found = inspect_folder(data)
        typer.echo(json.dumps(as_dict(found)) if as_json else inspection_text(found))
        if found.damages:
            fail(f"{data!r} is damaged; salvage what is whole: sojourn inspect --repair {data} --to NEW", DIFFERENT)


def as_dict(found: Inspection) -> dict[str, object]:
    """Times are epoch milliseconds."""
    standing = None if found.standing is None else found.standing._asdict()
    return {**found._asdict(), "segments": [part._asdict() for part in found.segments], "standing": standing}


def inspection_text(found: Inspection) -> str:
    size = sum(part.size for part in found.segments)
    numbers = [part.number for part in found.segments]
    owned = "owned by" if found.is_owned else "not open; last owned by"
    lines = {
        "folder": found.folder,
        "owner": "never opened" if found.owner is None else f"{owned} {found.owner}",
        "segments": f"{len(numbers):,}, {_range(numbers)}, {many(size, 'byte')}",
        "records": ", ".join(f"{count:,} {name}" for name, count in found.records.items()) or "none",
        "snapshots": ", ".join(map(str, found.snapshots)) or "none",
        "data set": f"segments {_range(found.converted)}" if found.converted else "none",
        **({} if found.standing is None else _standing_lines(found.standing)),
    }
    if found.torn_bytes:
        lines["torn"] = f"{many(found.torn_bytes, 'byte')} at the end that were never acknowledged"
    text = [f"{name:<12} {value}" for name, value in lines.items()]
    return "\n".join([*text, *(f"{'damage':<12} {damage}" for damage in found.damages)])


def _standing_lines(standing: Standing) -> dict[str, str]:
    by_rule = ", ".join(f"{count:,} {rule}" for rule, count in standing.by_rule.items())
    lines = {"pending": f"{standing.pending:,}" + (f" ({by_rule})" if by_rule else "")}
    if standing.oldest is not None:
        age = duration_text(max(0, standing.last_stamp - standing.oldest))
        lines["oldest"] = f"opened {time_text(standing.oldest)}, {age} before the last record"
    if standing.next_due is not None:
        lines["next due"] = time_text(standing.next_due)
    if standing.untold:
        lines["untold"] = f"{standing.untold:,}, ended and about to be told"
    lines["outcomes"] = f"{standing.last_number:,} told"
    return {**lines, "last record": time_text(standing.last_stamp)}


def _range(numbers: list[int]) -> str:
    return f"{numbers[0]} to {numbers[-1]}" if numbers else "none"


def salvaged_text(salvaged: Salvaged) -> str:
    lines = [f"lost: {damage}" for damage in salvaged.damages]
    lines += [f"lost: waits {first} to {last}" for first, last in salvaged.lost_waits]
    lines += [f"lost: outcomes {first} to {last}" for first, last in salvaged.lost_outcomes]
    if salvaged.unreadable_outcomes:
        lines.append(f"{many(salvaged.unreadable_outcomes, 'outcome')} told behind the damage: only in lost.json")
    lines.append(f"{many(salvaged.records, 'record')} behind the damage applied")
    lines.append(f"{salvaged.folder}: {many(salvaged.pending, 'wait')} pending")
    return "\n".join(lines)


def backup(
    data: Data, to: Annotated[str, typer.Argument(metavar="TO", help="Where to: a folder that is not there yet.")]
) -> None:
    """Copy a data folder, while its owner runs. The copy opens as a hub, and verifies. Webhooks are in it, too.

    [bold]sojourn backup data/ backups/monday/[/bold]
    """
    with failures():
        from ..durable.folder.backup import backup as back_up  # noqa: PLC0415
        from ..service.webhooks.store import copy_store  # noqa: PLC0415

        made = back_up(data, to)
        copy_store(data, to)
        typer.echo(
            f"{made.folder}: {many(made.files, 'file')}, {many(made.size, 'byte')}; "
            f"{many(made.pending, 'wait')} pending, "
            f"{many(made.last_number, 'outcome')} told, as of {time_text(made.last_stamp)}"
        )


def compact(
    data: Data,
    keep: Annotated[str, typer.Option(metavar="DURATION", help="How long segments stay in the log.")] = "7 days",
) -> None:
    """Turn sealed segments into Parquet; if nobody owns the folder, remove those from the log that are old.

    [bold]sojourn compact data/[/bold]
    """
    with failures():
        from ..durable.folder.compaction import compact as compact_folder  # noqa: PLC0415

        done = compact_folder(data, keep=duration_of("--keep", keep))
        converted, removed = (many(len(segments), "segment") for segments in (done.converted, done.removed))
        typer.echo(f"{converted} converted to Parquet, {removed} removed from the log")
        if done.owner is not None:
            typer.echo(f"what is not sealed is left for later: {done.owner}")
