"""To which group each operation of an outcome table belongs: `results.groups`, on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)

from .. import schema as S  # noqa: N812
from ..plan import Plan, check_columns
from ..results.groups import OPENED_MS, OPENINGS, openings_by
from ..results.tally import GROUP
from .parcels import Batches, gathered
from .rows import mapped, quoted
from .schema import spark_schema


def with_groups(
    outcomes: DataFrame, by: str, plan: Plan, events: DataFrame, operations: DataFrame | None = None
) -> DataFrame:
    """The outcomes with a column GROUP."""
    if operations is not None:
        check_columns({by: "--by"}, operations.columns, "the table of operations")
        named = operations.select(F.col(S.OPERATION_ID).cast("string").alias(S.OPERATION_ID), _group(by))
        return _joined(outcomes, named, [S.OPERATION_ID])
    timed = outcomes.withColumn(OPENED_MS, F.unix_millis(S.OPENED_AT))
    return _joined(timed, _openings(by, plan, events), [S.RULE, S.KEY, OPENED_MS])


def _openings(by: str, plan: Plan, events: DataFrame) -> DataFrame:
    """Rule, key, time and group of each event that opens."""
    needed = [*plan.needed(), by]
    return mapped(events, Openings(by, plan), spark_schema(OPENINGS), needed)


@dataclass(frozen=True)
class Openings:
    """Maps events to those that open."""

    by: str
    plan: Plan

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for table in gathered(batches):
            yield from openings_by(self.by, self.plan, table).to_batches()


def _group(by: str) -> Column:
    return F.col(quoted(by)).cast("string").alias(GROUP)


def _joined(outcomes: DataFrame, groups: DataFrame, on: list[str]) -> DataFrame:
    first = groups.groupBy(*on).agg(F.min(GROUP).alias(GROUP))
    return outcomes.join(first, on, "left")
