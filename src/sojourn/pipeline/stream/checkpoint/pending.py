"""What a stream holds: the operations that a replay as of its watermark would call pending."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)

from ...kernel import PENDING
from ...schema import OUTCOMES
from ...spark.schema import spark_schema
from ..shard.groups import known_of
from ..shard.pack import SHARD
from ..shard.remove import judged, told
from ..shard.segment import Kept, Segment
from ..shard.shape import Shape
from ..shard.shard import heads_of
from ..shard.state import DATA, HEAD, NUMBER, read_head
from .batches import last_batch, watermark_of
from .changes import history_of
from .files import Files
from .settings import checked_settings
from .status import state

_STATE = "state"
"""All that is kept of a shard."""


def pending(checkpoint: str, spark: SparkSession | None = None) -> DataFrame:
    """The pending operations of a stream, as rows of an outcome table: lazily, from its checkpoint.

    They are those that a replay of the same events calls pending as of the watermark of the last micro-batch (`as_of`
    in the status): with what the stream has told, they are all outcomes of that replay. A stream that is eager has
    told some of them already. The stream may be running.
    """
    spark = spark or SparkSession.builder.getOrCreate()
    folder, files = checkpoint.rstrip("/"), Files(spark)
    rules = history_of(files, folder, checked_settings(files, checkpoint))
    batch = last_batch(files, folder)
    as_of = None if batch is None else watermark_of(files, folder, batch)
    if batch is None or as_of is None:
        return spark.createDataFrame([], spark_schema(OUTCOMES))
    shards = state(spark, folder, batch).groupBy(SHARD).agg(F.collect_list(F.struct(NUMBER, DATA)).alias(_STATE))
    return shards.mapInArrow(PendingOfShards(rules.shapes, as_of), spark_schema(OUTCOMES))


@dataclass(frozen=True)
class PendingOfShards:
    """On the executors: maps shards, each with its segments, to their pending operations."""

    shapes: list[Shape]
    as_of: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        shapes = {shape.id: shape for shape in self.shapes}
        for batch in batches:
            for saved in batch[_STATE].to_pylist():
                data = {row[NUMBER]: row[DATA] for row in saved}
                for rule, head in heads_of(read_head(data[HEAD])[1]).items():
                    if rule in shapes:  # else it has been removed
                        yield from self._of_rule(shapes[rule], head.segments, data)

    def _of_rule(self, shape: Shape, numbers: Sequence[int], data: dict[int, bytes]) -> Iterator[pa.RecordBatch]:
        segments = [Segment.from_bytes(shape, data[number], number) for number in numbers]
        for rows in Kept(shape, segments).valid_rows():
            yield from pending_of(shape, rows, self.as_of).to_batches()


def pending_of(shape: Shape, kept: pa.RecordBatch, as_of: int) -> pa.Table:
    """The pending operations among what is kept of some keys, as of a time up to which nothing else will come."""
    groups = known_of(shape, kept).known(as_of)
    operations, verdicts = judged(groups, as_of)
    return told(groups, operations, verdicts).filter(pa.array(verdicts.ending == PENDING))
