"""What a stream holds: the operations that a replay as of its watermark would call pending."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)

from ..columns.outcomes import outcome_table
from ..kernel import PENDING, Lanes, Operations, given, judge
from ..schema import OUTCOMES
from ..spark.schema import spark_schema
from .decide import opened_operations
from .files import Files
from .groups import Keys, together
from .segment import Kept, Segment
from .settings import checked_settings
from .shape import TIME, Shape, nothing
from .status import last_batch, shape_of, state, watermark_of

_SHARD, _ORDER, _SEGMENTS = "shard", "segments", "data"


def pending(checkpoint: str, spark: SparkSession | None = None) -> DataFrame:
    """The pending operations of a stream, as rows of an outcome table: lazily, from its checkpoint.

    They are those that a replay of the same events calls pending as of the watermark of the last micro-batch (`as_of`
    in the status): with what the stream has told, they are all outcomes of that replay. A stream that is eager has
    told some of them already. The stream may be running.
    """
    spark = spark or SparkSession.builder.getOrCreate()
    folder, files = checkpoint.rstrip("/"), Files(spark)
    shape = shape_of(checked_settings(files, checkpoint))
    batch = last_batch(files, folder)
    as_of = None if batch is None else watermark_of(files, folder, batch)
    if batch is None or as_of is None:
        return spark.createDataFrame([], spark_schema(OUTCOMES))
    heads = state(spark, folder, "head", batch).select(
        F.col("key.shard").alias(_SHARD), F.col("value.segments").alias(_ORDER)
    )
    segments = state(spark, folder, "segments", batch).select(
        F.col("key.shard").alias(_SHARD),
        F.struct(F.col("user_map_key.number"), F.col("user_map_value.data")).alias(_SEGMENTS),
    )
    shards = segments.groupBy(_SHARD).agg(F.collect_list(_SEGMENTS).alias(_SEGMENTS)).join(heads, _SHARD)
    return shards.mapInArrow(PendingOfShards(shape, as_of), spark_schema(OUTCOMES))


@dataclass(frozen=True)
class PendingOfShards:
    """On the executors: maps shards, each with its segments, to their pending operations."""

    shape: Shape
    as_of: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.select([_ORDER, _SEGMENTS]).to_pylist():
                data = {segment["number"]: segment["data"] for segment in row[_SEGMENTS]}
                segments = [Segment.from_bytes(self.shape, data[number], number) for number in row[_ORDER]]
                for rows in Kept(self.shape, segments).valid_rows():
                    yield from pending_of(self.shape, rows, self.as_of).to_batches()


def pending_of(shape: Shape, kept: pa.RecordBatch, as_of: int) -> pa.Table:
    """The pending operations among what is kept of some keys, as of a time up to which nothing else will come."""
    nobody = Keys(np.zeros(0, np.int64), pa.array([], pa.string()), np.zeros(0, np.int64))
    groups = together(shape, kept, nothing(shape.fresh), nobody, np.zeros(0, np.int64)).known(as_of)
    lanes = Lanes(shape.rule, groups.events)
    opened, _ = opened_operations(groups, lanes)
    operations = given(groups.events, opened.group, opened.since, opened.since + opened.deadline - opened.opened_at)
    verdicts = judge(shape.rule, groups.events, operations, lanes, as_of)
    own = Operations(opened.group, opened.opened_at, opened.deadline, opened.ordinal, operations.first)
    table = outcome_table(shape.rule, own, verdicts, groups.key.take(pa.array(opened.group)), time=TIME)
    return table.filter(pa.array(verdicts.ending == PENDING)).select(OUTCOMES.names)
