"""To which group each operation of an outcome table belongs: `groups`, on Spark."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)

from .. import schema as S  # noqa: N812
from ..files.source import check_columns
from ..plan import Plan
from ..results.tally import GROUP
from .log import SparkLog, quoted

_OPENED_MS = "opened_ms"


def with_groups(
    outcomes: DataFrame, by: str, plan: Plan, events: DataFrame, operations: DataFrame | None = None
) -> DataFrame:
    """The outcomes with a column GROUP."""
    if operations is not None:
        check_columns({by: "--by"}, operations.columns, "the table of operations")
        named = operations.select(F.col(S.OPERATION_ID).cast("string").alias(S.OPERATION_ID), _group(by))
        return _joined(outcomes, named, [S.OPERATION_ID])
    timed = outcomes.withColumn(_OPENED_MS, F.unix_millis(S.OPENED_AT))
    return _joined(timed, _openings(by, plan, events), [S.RULE, S.KEY, _OPENED_MS])


def _openings(by: str, plan: Plan, events: DataFrame) -> DataFrame:
    """Rule, key, time and group of each event that opens."""
    log = SparkLog(events, plan)
    of_rules = [
        events.where(log.is_kind(rule.opens)).select(
            F.lit(rule.name).alias(S.RULE), log.key.alias(S.KEY), log.at.alias(_OPENED_MS), _group(by)
        )
        for rule in plan.rules
    ]
    return reduce(DataFrame.unionByName, of_rules)


def _group(by: str) -> Column:
    return F.col(quoted(by)).cast("string").alias(GROUP)


def _joined(outcomes: DataFrame, groups: DataFrame, on: list[str]) -> DataFrame:
    first = groups.groupBy(*on).agg(F.min(GROUP).alias(GROUP))
    return outcomes.join(first, on, "left")
