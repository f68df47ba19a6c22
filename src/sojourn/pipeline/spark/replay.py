"""A log replayed on Spark: counted where the rows are, in as few passes as it takes."""

from __future__ import annotations

import os
from collections import Counter
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)

from ...rules import AsOf
from .. import batch
from .. import schema as S  # noqa: N812
from ..outlet import QuarantineOutlet
from ..phases import Phases
from ..replay import Job
from ..results.tally import Tallies, for_all
from . import source as spark_source
from .deliver import Count, Deliver, delivered, tallied
from .groups import with_groups
from .parcels import LATEST, UNUSABLE
from .parquet import writing
from .rows import quoted


class SparkReplay:
    """A job on Spark. Nothing runs until something is asked for: then all is decided, written and counted in one go."""

    engine = "spark"

    def __init__(self, job: Job, spark: SparkSession) -> None:
        self._job = job
        self._spark = spark
        self._events, unreadable = spark_source.read(spark, job.source)
        job.check(self._events.columns)
        self._operations = None if job.operations is None else spark_source.read(spark, job.operations).events
        self._quarantine = batch.quarantined_by_plan(self._events, job.plan, self._operations)
        if unreadable is not None:
            self._quarantine = self._quarantine.unionByName(unreadable)
        self._passed = Passed(may_be_clean=unreadable is None and self._operations is None)
        self._tallies: Tallies | None = None
        self.phases = Phases()

    @cached_property
    def outcomes(self) -> pa.Table:
        decided = batch.outcomes_by_plan(self._events, self._job.plan, self._operations)
        return decided.select(*S.OUTCOMES.names).toArrow()

    @property
    def tallies(self) -> Tallies:
        if self._tallies is None:
            self._run(None)
        assert self._tallies is not None
        return self._tallies

    @property
    def as_of(self) -> int | None:
        ends = [tally.as_of for tally in self.tallies.values() if tally.counts.opened]
        return ends[0] if ends else self._job.plan.end_of_log(self._passed.latest)

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
            self._run(outcomes, only_ended=only_ended)
        if quarantine is not None:
            with self.phases("write"):
                self._set_aside(quarantine)

    def _run(self, folder: str | None, *, only_ended: bool = False) -> None:
        """The executors write by themselves where they can: to plain files."""
        job, plan = self._job, self._job.plan
        is_grouped_by_table = job.by is not None and self._operations is not None
        if is_grouped_by_table or (folder is not None and not spark_source.is_here(self._spark, folder)):
            counts = self._written_by_spark(folder, only_ended=only_ended)
        else:
            shuffled, work = batch.decision(self._events, plan, self._operations, self._passed.observing())
            deliver = Deliver(work, job.rules, job.what_if, folder and os.path.abspath(folder), only_ended)
            counts = delivered(shuffled, deliver, self.phases)
        self._passed.is_over = True
        self._tallies = for_all(job.rules, counts, job.what_if)

    def _written_by_spark(self, folder: str | None, *, only_ended: bool) -> Tallies:
        """Elsewhere Spark writes; what it has written is counted, if that tells enough."""
        decided = batch.outcomes_by_plan(self._events, self._job.plan, self._operations, self._passed.observing())
        counted = decided
        as_of: AsOf = "log"
        if folder is not None:
            outcomes = decided.select(*S.OUTCOMES.names)
            with self.phases("write"):
                written = self._written(
                    outcomes.where(F.col(S.OUTCOME) != S.PENDING) if only_ended else outcomes, folder
                )
            self._passed.is_over = True
            if self._is_told_by_outcomes() and not only_ended:
                counted, as_of = written, self._end()
        if self._job.by is not None and self._operations is not None:
            counted = with_groups(counted, self._job.by, self._operations)
        with self.phases("count"):
            return tallied(counted, Count(self._job.rules, self._job.what_if, as_of))

    def _is_told_by_outcomes(self) -> bool:
        """Whether written outcomes are enough to count: no cancellations for a what-if, no groups, no given ends."""
        needs_cancellations = bool(self._job.what_if) and any(rule.cancels is not None for rule in self._job.rules)
        return not needs_cancellations and self._operations is None and self._job.by is None

    def _end(self) -> AsOf:
        """Where the log ends, once it has been read."""
        end = self._job.plan.end_of_log(self._passed.latest)
        return "complete" if end is None else end

    def _set_aside(self, folder: str) -> None:
        """Write the rows that are set aside. If there are known to be none, the log is not read again to find that out;
        and if the empty table is written here, Spark has no job at all."""
        is_clean = self._passed.is_clean()
        if is_clean and spark_source.is_here(self._spark, folder):
            QuarantineOutlet(folder).close()
            return
        none = self._spark.createDataFrame([], self._quarantine.schema) if is_clean else None
        self._quarantine = self._written(self._quarantine if none is None else none, folder)

    def _written(self, rows: DataFrame, folder: str) -> DataFrame:
        """What was written, as it is read back."""
        path = spark_source.located(self._spark, folder)
        with writing(self._spark):
            rows.write.mode("overwrite").parquet(path)
        return self._spark.read.schema(rows.schema).parquet(path)


class Passed:
    """What the first job that goes through a log sees in passing: rows that cannot be used, and how far the log goes.

    `may_be_clean` says whether there is nothing else that could be set aside.
    """

    def __init__(self, may_be_clean: bool) -> None:
        self.seen = Observation()
        self.is_over = False
        self._may_be_clean = may_be_clean

    def observing(self) -> Observation:
        """For another job: an observation serves one."""
        self.seen, self.is_over = Observation(), False
        return self.seen

    def is_clean(self) -> bool:
        """Whether nothing is set aside, for certain."""
        return self._may_be_clean and self.is_over and self.seen.get[UNUSABLE] == 0

    @property
    def latest(self) -> int | None:
        return self.seen.get[LATEST] if self.is_over else None
