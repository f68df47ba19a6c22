"""A log replayed on Spark: counted where the rows are, in as few passes as it takes."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from . import batch, spark_source
from . import schema as S  # noqa: N812  (as F for Spark's functions)
from .deadlines import Deadline
from .replay import Job
from .spark_groups import with_groups
from .tally import Tallies, merged, tally

ROWS_AT_ONCE = 500_000
"""How many rows are counted at once: few enough for memory, enough for NumPy."""


class SparkReplay:
    """A job on Spark. Nothing runs until something is asked for; what was written is not computed again."""

    engine = "spark"

    def __init__(self, job: Job, spark: SparkSession) -> None:
        self._job = job
        self._spark = spark
        self._events, unreadable = spark_source.read(spark, job.source)
        job.check(self._events.columns)
        self._operations = None if job.operations is None else spark_source.read(spark, job.operations).events
        given: dict[str, Any] = {"unit": job.unit, "operations": self._operations, **job.named()}
        self._outcomes = batch.outcomes(self._events, job.rules, **given)
        self._quarantine = batch.quarantined(self._events, job.rules, **given)
        if unreadable is not None:
            self._quarantine = self._quarantine.unionByName(unreadable)

    @cached_property
    def outcomes(self) -> pa.Table:
        return self._outcomes.toArrow()

    @cached_property
    def tallies(self) -> Tallies:
        rows = self._grouped().mapInArrow(_counting(self._job.what_if), "tally binary").collect()
        return merged(pickle.loads(row.tally) for row in rows)

    @cached_property
    def quarantined(self) -> Counter[str]:
        return Counter({row[S.REASON]: row["count"] for row in self._quarantine.groupBy(S.REASON).count().collect()})

    def kinds(self) -> Counter[str]:
        kind = self._job.plan().columns[S.KIND]
        rows = self._events.groupBy(self._events[f"`{kind}`"].cast("string").alias(S.KIND)).count().collect()
        return Counter({row[S.KIND]: row["count"] for row in rows if row[S.KIND] is not None})

    def write(self, outcomes: str, quarantine: str) -> None:
        self._outcomes = self._written(self._outcomes, outcomes)
        self._quarantine = self._written(self._quarantine, quarantine)

    def _written(self, rows: DataFrame, folder: str) -> DataFrame:
        """What was written, as it is read back."""
        rows.write.mode("overwrite").parquet(folder)
        return self._spark.read.schema(rows.schema).parquet(folder)

    def _grouped(self) -> DataFrame:
        if self._job.by is None:
            return self._outcomes
        return with_groups(self._outcomes, self._job.by, self._job.plan(), self._events, self._operations)


def _counting(what_if: Sequence[Deadline]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = merged(tally(table, what_if) for table in _tables(batches))
        yield pa.record_batch({"tally": pa.array([pickle.dumps(found)], pa.binary())})

    return count


def _tables(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches, put together to tables worth counting."""
    waiting: list[pa.RecordBatch] = []
    for one in batches:
        waiting.append(one)
        if sum(part.num_rows for part in waiting) >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)
