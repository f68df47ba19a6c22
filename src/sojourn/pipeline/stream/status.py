"""What a checkpoint says of its stream: what is pending, since when, and how far it has come."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from ...rules import Rule
from ..kernel import NEVER
from ..plan import Plan
from ..schema import AT, KIND, OPENED_AT
from .files import Files
from .segment import Kept, Segment
from .settings import Settings, checked_settings, type_of
from .shape import DUE, EVENTS, IS_SPENT, OPERATIONS, PENDING, Shape

PROGRESS = "sojourn-progress.json"
"""The last report of a stream, in its checkpoint."""


class Status(NamedTuple):
    """Times are epoch milliseconds; None where there is none."""

    rule: str
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
    shape = shape_of(checked_settings(files, checkpoint))
    batch = last_batch(files, folder)
    shards = [] if batch is None else list(_shards(spark, folder, shape, batch))
    kept = [rows for shard in shards for rows in shard.kept.valid_rows()]
    return Status(
        str(shape.rule),
        batch,
        None if batch is None else watermark(files, folder, batch),
        None if batch is None else watermark_of(files, folder, batch),
        sum(pc.sum(rows[PENDING]).as_py() or 0 for rows in kept),
        _least(opened_at(shape, rows) for rows in kept),
        _least(pc.min(rows[DUE]).as_py() for rows in kept),
        sum(shard.size for shard in shards),
        sum(len(shard.kept.segments) for shard in shards),
        _rows_per_second(files, folder),
    )


def _rows_per_second(files: Files, folder: str) -> float | None:
    """None also where the report is being written just now."""
    try:
        rate = json.loads(files.read(f"{folder}/{PROGRESS}") or "{}").get("processedRowsPerSecond")
    except ValueError:
        return None
    return None if rate is None else float(rate)


def shape_of(settings: Settings) -> Shape:
    rule = Rule.from_toml(str(settings["rule"]))
    pairs = [pair.rsplit(" ", 1) for pair in str(settings["numbers"]).splitlines()]
    return Shape(Plan.of(rule), {name: type_of(kind) for name, kind in pairs}, bool(settings["eager"]))


def pending_count(spark: SparkSession, checkpoint: str) -> int:
    """How many operations are open, by what the shards say of themselves."""
    batch = last_batch(Files(spark), checkpoint.rstrip("/"))
    if batch is None:
        return 0
    total = state(spark, checkpoint, "head", batch).selectExpr("sum(value.pending) AS total").first()
    return int(total["total"] or 0) if total else 0


def last_batch(files: Files, folder: str) -> int | None:
    """The last micro-batch that was completed."""
    return max((int(name) for name in files.names(f"{folder}/commits") if name.isdecimal()), default=None)


def watermark(files: Files, folder: str, batch: int) -> int | None:
    """The watermark that the next micro-batch has."""
    ms = int(json.loads((files.read(f"{folder}/commits/{batch}") or "").splitlines()[1])["nextBatchWatermarkMs"])
    return ms or None


def watermark_of(files: Files, folder: str, batch: int) -> int | None:
    """The watermark that a micro-batch had: up to then all is told that ended."""
    ms = int(json.loads((files.read(f"{folder}/offsets/{batch}") or "").splitlines()[1])["batchWatermarkMs"])
    return ms or None


def opened_at(shape: Shape, rows: pa.RecordBatch) -> int | None:
    """The earliest opening of what is pending."""
    certain = pc.min(rows[OPERATIONS].flatten().field(OPENED_AT)).as_py()
    events = rows[EVENTS].flatten()
    opens = pc.equal(events.field(KIND), shape.plan.kinds.index(shape.rule.opens))
    others = pc.min(events.field(AT).filter(pc.and_not(opens, events.field(IS_SPENT)))).as_py()
    return _least([certain, others])


class _Shard(NamedTuple):
    kept: Kept
    size: int


def _shards(spark: SparkSession, folder: str, shape: Shape, batch: int) -> Iterable[_Shard]:
    heads = {row["key"]["shard"]: row["value"]["segments"] for row in state(spark, folder, "head", batch).collect()}
    data: dict[int, dict[int, bytes]] = {}
    for row in state(spark, folder, "segments", batch).collect():
        data.setdefault(row["key"]["shard"], {})[row["user_map_key"]["number"]] = row["user_map_value"]["data"]
    for shard, numbers in heads.items():
        by_number = data.get(shard, {})
        segments = [Segment.from_bytes(shape, bytes(by_number[number]), number) for number in numbers]
        yield _Shard(Kept(shape, segments), sum(map(len, by_number.values())))


def state(spark: SparkSession, folder: str, name: str, batch: int) -> DataFrame:
    """A variable of the state, as it was after a micro-batch."""
    reader = spark.read.format("statestore").option("stateVarName", name).option("batchId", batch)
    return reader.load(folder)


def _least(times: Iterable[int | None]) -> int | None:
    return min((time for time in times if time is not None and time != NEVER), default=None)
