"""What a checkpoint says of its stream: what is pending, since when, and how far it has come."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)

from ...kernel import NEVER
from ...schema import AT, KIND, OPENED_AT
from ..shard.pack import SHARD
from ..shard.segment import Kept, Segment
from ..shard.shape import DUE, EVENTS, IS_SPENT, OPERATIONS, PENDING, Shape
from ..shard.shard import heads_of
from ..shard.state import DATA, HEAD, NUMBER, STATE, read_head
from .batches import last_batch, watermark, watermark_of
from .changes import history_of
from .files import Files
from .settings import FORMAT, GIVEN, checked_settings, kept_settings

PROGRESS = "sojourn-progress.json"
"""The last report of a stream, in its checkpoint."""


class RuleStatus(NamedTuple):
    """What is pending under one rule. Times are epoch milliseconds; None where there is none."""

    name: str
    rule: str
    """As a sentence."""
    since: int | None
    """The time up to which it looks at no events, since it was added later."""
    pending: int
    opened_at: int | None
    """When the oldest pending operation was opened."""
    due_at: int | None
    """When the next one is due."""


class Status(NamedTuple):
    """Times are epoch milliseconds; None where there is none."""

    rules: list[RuleStatus]
    batch: int | None
    watermark: int | None
    as_of: int | None
    """The watermark of the last micro-batch: what ended by then has been told, and later events were not looked at."""
    pending: int
    opened_at: int | None
    """When the oldest pending operation was opened."""
    due_at: int | None
    """When the next one is due."""
    state_bytes: int
    segments: int
    rows_per_second: float | None
    """Of the last micro-batch, if the command line ran it."""


def status(spark: SparkSession, checkpoint: str) -> Status:
    """Read from the checkpoint; the stream may be running."""
    folder, files = checkpoint.rstrip("/"), Files(spark)
    shapes = history_of(files, folder, checked_settings(files, checkpoint)).shapes
    batch = last_batch(files, folder)
    shards = [] if batch is None else list(_shards(spark, folder, shapes, batch))
    rules = [_of_rule(shape, [rows for shard in shards for rows in shard.kept.get(shape.id, [])]) for shape in shapes]
    return Status(
        rules,
        batch,
        None if batch is None else watermark(files, folder, batch),
        None if batch is None else watermark_of(files, folder, batch),
        sum(rule.pending for rule in rules),
        _least(rule.opened_at for rule in rules),
        _least(rule.due_at for rule in rules),
        sum(shard.size for shard in shards),
        sum(shard.segments for shard in shards),
        _rows_per_second(files, folder),
    )


def _of_rule(shape: Shape, kept: Sequence[pa.RecordBatch]) -> RuleStatus:
    return RuleStatus(
        shape.rule.name,
        str(shape.rule),
        shape.since,
        sum(pc.sum(rows[PENDING]).as_py() or 0 for rows in kept),
        _least(opened_at(shape, rows) for rows in kept),
        _least(pc.min(rows[DUE].filter(pc.greater(rows[PENDING], 0))).as_py() for rows in kept),
    )


def _rows_per_second(files: Files, folder: str) -> float | None:
    """None also where the report is being written just now."""
    try:
        rate = json.loads(files.read(f"{folder}/{PROGRESS}") or "{}").get("processedRowsPerSecond")
    except ValueError:
        return None
    return None if rate is None else float(rate)


def pending_count(spark: SparkSession, checkpoint: str, told: Sequence[str] | None = None) -> int | None:
    """How many operations are open, by what the shards say of themselves: of the rules of these names, or of all.

    None where they come from a stream of their own: its shards do not count them.
    """
    files, folder = Files(spark), checkpoint.rstrip("/")
    batch, settings = last_batch(files, folder), kept_settings(files, folder)
    if batch is None or settings is None or settings["format"] != FORMAT:
        return 0
    if settings["operations"] == GIVEN:
        return None
    history = history_of(files, folder, settings)
    ids = [shape.id for shape in history.shapes if told is None or shape.rule.name in told]
    counted = {*ids, *history.told_when_removed}
    saved = state(spark, folder, batch).where(F.col(NUMBER) == HEAD).select(DATA).collect()
    heads = [heads_of(read_head(bytes(row[DATA]))[1]) for row in saved]
    return sum(head.pending for rules in heads for rule, head in rules.items() if rule in counted)


def opened_at(shape: Shape, rows: pa.RecordBatch) -> int | None:
    """The earliest opening of what is pending."""
    certain = pc.min(rows[OPERATIONS].flatten().field(OPENED_AT)).as_py()
    events = rows[EVENTS].flatten()
    opens = pc.equal(events.field(KIND), shape.plan.kinds.index(shape.rule.opens))
    others = pc.min(events.field(AT).filter(pc.and_not(opens, events.field(IS_SPENT)))).as_py()
    return _least([certain, others])


class _Shard(NamedTuple):
    kept: dict[str, list[pa.RecordBatch]]
    """By rule."""
    size: int
    segments: int


def _shards(spark: SparkSession, folder: str, shapes: Sequence[Shape], batch: int) -> Iterable[_Shard]:
    data: dict[int, dict[int, bytes]] = {}
    for row in state(spark, folder, batch).collect():
        data.setdefault(row[SHARD], {})[row[NUMBER]] = bytes(row[DATA])
    known = {shape.id: shape for shape in shapes}
    for by_number in data.values():
        _, saved = read_head(by_number.pop(HEAD))
        kept = {
            rule: _kept(known[rule], by_number, head.segments).valid_rows()
            for rule, head in heads_of(saved).items()
            if rule in known
        }
        yield _Shard(kept, sum(map(len, by_number.values())), len(by_number))


def _kept(shape: Shape, data: dict[int, bytes], numbers: Sequence[int]) -> Kept:
    return Kept(shape, [Segment.from_bytes(shape, data[number], number) for number in numbers])


def state(spark: SparkSession, folder: str, batch: int) -> DataFrame:
    """What the shards kept after a micro-batch: SHARD, NUMBER, DATA."""
    reader = spark.read.format("statestore").option("stateVarName", STATE).option("batchId", batch)
    names = {f"key.{SHARD}": SHARD, f"user_map_key.{NUMBER}": NUMBER, f"user_map_value.{DATA}": DATA}
    return reader.load(folder).select(*(F.col(path).alias(name) for path, name in names.items()))


def _least(times: Iterable[int | None]) -> int | None:
    return min((time for time in times if time is not None and time != NEVER), default=None)
