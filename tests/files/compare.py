"""One log through every engine, held to what its writer knows: no wrong outcome, and no row lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from files.meant import CENSUS, Log
from parity.tables import as_outcomes, by_fold
from sojourn import SojournError
from sojourn.pipeline.local_replay import LocalReplay
from sojourn.pipeline.schema import CORRUPT, OUTCOMES, QUARANTINE
from sojourn.rules import Outcome, Rule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LATE = "10 days"

Aside = Counter[tuple[Any, ...]]


class Different(AssertionError):  # noqa: N818  (it says what it is)
    """What an engine said is not what is meant."""


def check_local(log: Log) -> LocalReplay:
    """The engine in this process against the writer of the log."""
    replay = LocalReplay(log.job())
    rules = (*log.rules, *CENSUS)
    expect("local: outcomes", outcomes_of(replay.outcomes), meant_outcomes(log, rules))
    check_aside("local", replay.quarantine, log, rules)
    check_every_row(replay, log)
    return replay


def checked_log(spark: SparkSession, log: Log, scratch: Path, files_at_once: int | None = None) -> None:
    """Through every engine; as a stream too, if it is to take so many files at once."""
    try:
        by_local = check_local(log)
    except SojournError as error:
        if not log.is_refused:
            raise
        check_refused(spark, log, error)
        return
    expect("local: is refused", False, log.is_refused)
    check_batch(spark, log, by_local, scratch / "batch")
    if files_at_once is not None and log.can_stream:
        check_stream(spark, log, log.rules[0], scratch / "stream", files_at_once)


def check_every_row(replay: LocalReplay, log: Log) -> None:
    """Used, of no concern to any rule, or set aside: together as many as were written."""
    used = Counter(row["rule"] for row in replay.outcomes.to_pylist() if row["rule"].startswith("census"))
    expect("local: rows used", used, log.census())
    expect("local: kinds", replay.kinds(), log.kinds())
    set_aside = sum(1 for row in replay.quarantine.to_pylist() if row["rule"] is None)
    known = {rule.opens for rule in CENSUS}
    not_concerned = sum(1 for row in log.rows if not row.useless() and row.event.kind not in known)
    expect("local: rows in all", used.total() + set_aside + not_concerned, len(log.rows))


def check_batch(spark: SparkSession, log: Log, by_local: LocalReplay, scratch: Path) -> None:
    """Spark, with what it writes, against the engine in this process."""
    from sojourn.pipeline.spark.replay import SparkReplay  # noqa: PLC0415  (an extra)

    replay = SparkReplay(log.job(), spark)
    replay.write(str(scratch / "outcomes"), str(scratch / "quarantine"))
    expect("batch: outcomes", outcomes_of(written(scratch / "outcomes", OUTCOMES)), outcomes_of(by_local.outcomes))
    aside, are_objects = written(scratch / "quarantine", QUARANTINE), log.format == "json"
    found, wanted = (rows_of(table, in_any_order=are_objects) for table in (aside, by_local.quarantine))
    expect("batch: quarantine", found, wanted)
    expect("batch: counts of reasons", replay.quarantined, by_local.quarantined)
    expect("batch: kinds", replay.kinds(), by_local.kinds())


def check_stream(spark: SparkSession, log: Log, rule: Rule, scratch: Path, files_at_once: int) -> None:
    """A stream, that ends once it has seen everything, against the engine in this process."""
    from sojourn.pipeline import stream  # noqa: PLC0415  (an extra)
    from sojourn.pipeline.stream.doors.sources import From  # noqa: PLC0415

    by_local = LocalReplay(log.job(rule))
    options = {**log.options, "maxFilesPerTrigger": str(files_at_once)}
    job = log.job(rule)
    events = From(f"file:{log.path}", None, log.format, options).read(spark, rule, job.named())
    told = stream.outcomes(events, rule, unit=log.unit, late=LATE, shards=2, **job.named())
    query = stream.write(told, str(scratch / "out"), checkpoint=str(scratch / "state"), available_now=True)
    try:
        query.awaitTermination()
    finally:
        query.stop()
    outcomes = written(scratch / "out" / "outcomes", OUTCOMES)
    aside = written(scratch / "out" / "quarantine", QUARANTINE)
    expect("stream: outcomes", outcomes_of(outcomes), as_told(outcomes_of(by_local.outcomes)))
    are_objects = log.format == "json"
    tables = (aside, by_local.quarantine)
    found, wanted = (rows_of(table, ["reason", "row"], in_any_order=are_objects) for table in tables)
    expect("stream: quarantine", found, wanted)


def check_refused(spark: SparkSession, log: Log, error: SojournError) -> None:
    """What one engine refuses, the other one refuses in the same words."""
    from sojourn.pipeline.spark.replay import SparkReplay  # noqa: PLC0415  (an extra)

    try:
        SparkReplay(log.job(), spark)
    except SojournError as found:
        expect("batch: refusal", str(found), str(error))
        return
    raise Different(f"batch reads what local refuses: {error}")


def as_told(outcomes: Counter[Outcome]) -> Counter[Outcome]:
    """A stream tells an end before it can know that the condition is met later."""
    return Counter(one if one.outcome == "completed" else one._replace(met_at=None) for one in outcomes.elements())


def meant_outcomes(log: Log, rules: Sequence[Rule]) -> Counter[Outcome]:
    return Counter(outcome for rule in rules for outcome in by_fold([rule], log.usable(rule)))


def outcomes_of(table: pa.Table) -> Counter[Outcome]:
    return Counter(as_outcomes(table)) if table.num_rows else Counter()


def rows_of(table: pa.Table, names: Sequence[str] = QUARANTINE.names, *, in_any_order: bool = False) -> Aside:
    """Rows as they stand; where lines are shared out to tasks, columns may be in another order."""
    rows = [{**row, "row": json.dumps(json.loads(row["row"]), sort_keys=in_any_order)} for row in table.to_pylist()]
    return Counter(tuple(row[name] for name in names) for row in rows)


def written(folder: Path, schema: pa.Schema) -> pa.Table:
    """What was written; nothing, if there was nothing to write."""
    table = ds.dataset(folder, partitioning="hive").to_table() if folder.exists() else schema.empty_table()
    return table if table.num_rows else schema.empty_table()


def check_aside(engine: str, quarantine: pa.Table, log: Log, rules: Sequence[Rule]) -> None:
    """Each row that is set aside is one of those that are to be, for a reason of its own."""
    found = Counter((row["rule"], row["reason"], name_of(row["row"])) for row in quarantine.to_pylist())
    left: Counter[Any] = Counter()
    for (rule, reasons, name), count in log.aside(*rules).items():
        left[rule, reasons, name] = count
        for reason in reasons:
            there = min(found[rule, reason, name], left[rule, reasons, name])
            found[rule, reason, name] -= there
            left[rule, reasons, name] -= there
    if +left or +found:
        raise Different(f"{engine}: quarantine\n  not set aside: {dict(+left)}\n  without cause: {dict(+found)}")


def name_of(row: str) -> str:
    """The serial number of a row, or the line that could not be read."""
    found = json.loads(row)
    return str(found["n"]) if "n" in found else str(found[CORRUPT])


def expect(what: str, found: Any, wanted: Any) -> None:
    if found == wanted:
        return
    if isinstance(found, Counter) and isinstance(wanted, Counter):
        raise Different(f"{what}\n  missing: {_some(wanted - found)}\n  instead: {_some(found - wanted)}")
    raise Different(f"{what}\n  wanted: {wanted}\n  found:  {found}")


def _some(rows: Counter[Any]) -> str:
    return f"{rows.total()} rows" + "".join(f"\n    {row}" for row in list(rows)[:3])
