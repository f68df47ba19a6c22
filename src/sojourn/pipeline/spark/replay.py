"""A log replayed on Spark: counted where the rows are, in as few passes as it takes."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)

from .. import batch
from .. import schema as S  # noqa: N812
from ..replay import Job
from ..results.tally import Tallies, for_all, merged, tally
from . import source as spark_source
from .groups import with_groups
from .parcels import LATEST, UNUSABLE
from .parquet import writing
from .rows import quoted

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
        self._quarantine = batch.quarantined(self._events, job.rules, **given)
        if unreadable is not None:
            self._quarantine = self._quarantine.unionByName(unreadable)
        may_be_clean = unreadable is None and self._operations is None
        self._passed = Passed(may_be_clean)
        self._decided = batch.outcomes_by_plan(self._events, job.plan, self._operations, self._passed.seen)
        self._outcomes = self._decided.select(*S.OUTCOMES.names)
        self._is_written = False

    @cached_property
    def outcomes(self) -> pa.Table:
        with self._counting():
            return self._outcomes.toArrow()

    @cached_property
    def tallies(self) -> Tallies:
        with self._counting():
            rows = self._grouped().mapInArrow(_tallying(self._job), "tally binary").collect()
        counts = merged(pickle.loads(row.tally) for row in rows)
        return for_all(self._job.rules, counts, self._job.what_if)

    @property
    def as_of(self) -> int | None:
        self.tallies  # noqa: B018  (so that the log has been read)
        return self._job.plan.end_of_log(self._passed.latest)

    @cached_property
    def quarantined(self) -> Counter[str]:
        if self._passed.is_clean():
            return Counter()
        return Counter({row[S.REASON]: row["count"] for row in self._quarantine.groupBy(S.REASON).count().collect()})

    def kinds(self) -> Counter[str]:
        kind = F.col(quoted(self._job.plan.columns[S.KIND])).cast("string").alias(S.KIND)
        rows = self._events.groupBy(kind).count().collect()
        return Counter({row[S.KIND]: row["count"] for row in rows if row[S.KIND] is not None})

    def write(self, outcomes: str | None, quarantine: str | None, *, only_ended: bool = False) -> None:
        if outcomes is not None:
            ended = self._outcomes.where(F.col(S.OUTCOME) != S.PENDING)
            with self._counting():
                written = self._written(ended if only_ended else self._outcomes, outcomes)
            if not only_ended:
                self._outcomes, self._is_written = written, True
        if quarantine is not None:
            self._quarantine = self._written(self._rows_set_aside(), quarantine)

    def _rows_set_aside(self) -> DataFrame:
        """Where it is known that there are none, an empty table: the log is not read again to find none."""
        is_clean = self._passed.is_clean()
        return self._spark.createDataFrame([], self._quarantine.schema) if is_clean else self._quarantine

    def _written(self, rows: DataFrame, folder: str) -> DataFrame:
        """What was written, as it is read back."""
        path = spark_source.located(self._spark, folder)
        with writing(self._spark):
            rows.write.mode("overwrite").parquet(path)
        return self._spark.read.schema(rows.schema).parquet(path)

    def _grouped(self) -> DataFrame:
        if self._job.by is None:
            return self._counted()
        return with_groups(self._counted(), self._job.by, self._job.plan, self._events, self._operations)

    def _counted(self) -> DataFrame:
        """What is counted: what was written, unless a what-if needs cancellations, which are not written."""
        needs_cancellations = bool(self._job.what_if) and any(rule.cancels is not None for rule in self._job.rules)
        return self._outcomes if self._is_written and not needs_cancellations else self._decided

    @contextmanager
    def _counting(self) -> Iterator[None]:
        """Whatever runs inside reads the whole log."""
        yield
        self._passed.is_over = True


class Passed:
    """What the first job that goes through a log sees in passing: rows that cannot be used, and how far the log goes.

    `may_be_clean` says whether there is nothing else that could be set aside.
    """

    def __init__(self, may_be_clean: bool) -> None:
        self.seen = Observation()
        self.is_over = False
        self._may_be_clean = may_be_clean

    def is_clean(self) -> bool:
        """Whether nothing is set aside, for certain."""
        return self._may_be_clean and self.is_over and self.seen.get[UNUSABLE] == 0

    @property
    def latest(self) -> int | None:
        return self.seen.get[LATEST] if self.is_over else None


def _tallying(job: Job) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    what_if, rules = job.what_if, job.rules

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tallies = merged(tally(table, what_if, rules) for table in _tables(batches))
        yield pa.record_batch({"tally": pa.array([pickle.dumps(tallies)], pa.binary())})

    return count


def _tables(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches, put together into tables worth counting."""
    waiting: list[pa.RecordBatch] = []
    for one in batches:
        waiting.append(one)
        if sum(part.num_rows for part in waiting) >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)
