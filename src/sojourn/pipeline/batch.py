"""The law over Spark DataFrames: `local`, on a cluster.

Events are partitioned by key, and Arrow batches of them go to the kernel, on the executors (`worker`). What no rule
names is left behind before the shuffle. Everything is lazy: functions from DataFrame to DataFrame, that start no job.

A Python worker holds a partition: some hundred bytes an event. That is little, as a rule; should it not be, raise
`spark.sql.shuffle.partitions`, or set `spark.sojourn.sort=spark`: then Spark sorts the partitions, on disk if need be,
and a worker holds no more than the events of one key. A key with ten million events fits in a gigabyte.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)

from ..errors import ConfigError
from ..rules import Duration, Rule, duration_ms, duration_text
from . import schema as S  # noqa: N812
from .plan import Plan
from .reasons import row_checks, rule_checks
from .spark_log import SparkLog, first_reason, row_as_json
from .spark_operations import SparkOperations
from .spark_schema import SPARK_OUTCOMES
from .worker import Decide, deadline_column, number_column

SORT = "spark.sojourn.sort"
"""A setting of the session: "worker", the default, or "spark"."""


def outcomes(
    events: DataFrame,
    rules: Rule | Sequence[Rule],
    *,
    key: str | None = None,
    kind: str | None = None,
    at: str | None = None,
    source: str | None = None,
    value: str | None = None,
    unit: S.Unit = "auto",
    operations: DataFrame | None = None,
) -> DataFrame:
    """The outcome of every operation that a log opens, under each rule: the columns of `schema.OUTCOMES`, lazily.

    The columns of the log are named by `key`, `kind`, `at`, `source` and `value`; one that is not given is what the
    rule's `columns` say, or else the very word.

    With `operations` the events open nothing: each row of that table is an operation, with the columns `operation_id`,
    `opened_at`, `keys` (an array; or `key`), `within`, unless the rule has one, and `rule`, if there are several. The
    events of all its keys count for it.
    """
    plan = Plan.of(rules, unit, key=key, kind=kind, at=at, source=source, value=value)
    rows = _readable(events, plan, opens=operations is None)
    if operations is not None:
        rows = SparkOperations(operations, plan).beside(rows)
    in_spark = events.sparkSession.conf.get(SORT, "worker") == "spark"
    parts = rows.repartition(S.KEY)
    sorted_parts = parts.sortWithinPartitions(S.KEY, S.AT) if in_spark else parts
    return sorted_parts.mapInArrow(Decide(plan, operations is not None, in_spark), SPARK_OUTCOMES)


def quarantined(
    events: DataFrame,
    rules: Rule | Sequence[Rule],
    *,
    key: str | None = None,
    kind: str | None = None,
    at: str | None = None,
    source: str | None = None,
    value: str | None = None,
    unit: S.Unit = "auto",
    operations: DataFrame | None = None,
) -> DataFrame:
    """The rows that `outcomes` sets aside, each with its reason: the columns of `schema.QUARANTINE`, lazily."""
    plan = Plan.of(rules, unit, key=key, kind=kind, at=at, source=source, value=value)
    opens = operations is None
    log = _log(events, plan, opens=opens)
    for_all = first_reason(row_checks(log))
    for_each = [(rule.name, first_reason(rule_checks(rule, log, opens=opens))) for rule in plan.rules]
    found = F.array(*(F.struct(F.lit(name).alias(S.RULE), reason.alias(S.REASON)) for name, reason in for_each))
    nobody = F.array(F.struct(F.lit(None).cast("string").alias(S.RULE), for_all.alias(S.REASON)))
    why = F.when(for_all.isNotNull(), nobody).otherwise(F.filter(found, lambda entry: entry[S.REASON].isNotNull()))
    aside = events.select(row_as_json().alias(S.ROW), F.inline(why)).select(S.RULE, S.REASON, S.ROW)
    return aside if operations is None else aside.unionByName(SparkOperations(operations, plan).quarantined())


def what_if(outcomes: DataFrame, withins: Sequence[Duration]) -> DataFrame:
    """How the operations of an outcome table would have ended within each of these instead, as `schema.WHAT_IF`.

    As `local.what_if`: one pass over the table, whatever the number of deadlines.
    """
    counts = F.array(*(F.struct(*_counts(duration_ms(within))) for within in withins))
    return outcomes.groupBy(S.RULE).agg(counts.alias("counts")).select(S.RULE, F.inline("counts"))


def _counts(within_ms: int) -> list[Column]:
    waited = F.unix_millis(S.MET_AT) - F.unix_millis(S.OPENED_AT)
    is_cancelled = F.col(S.OUTCOME) == S.CANCELLED
    cancelled = is_cancelled & (F.col(S.WAITED_MS) <= within_ms)
    completed = ~is_cancelled & F.coalesce(waited <= within_ms, F.lit(False))
    expired = ~(cancelled | completed)
    counted = {
        S.OPENED: F.lit(True),
        S.COMPLETED: completed,
        S.EXPIRED: expired,
        S.CANCELLED: cancelled,
        S.MET_LATE: expired & waited.isNotNull(),
        S.NEVER_MET: expired & waited.isNull(),
    }
    named = [F.lit(duration_text(within_ms)).alias(S.WITHIN), F.lit(within_ms).cast("long").alias(S.WITHIN_MS)]
    return named + [F.count_if(flag).alias(name) for name, flag in counted.items()]


def _log(events: DataFrame, plan: Plan, *, opens: bool) -> SparkLog:
    if events.isStreaming:
        raise ConfigError("the events are a stream; sojourn.pipeline.batch is for tables")
    plan.check_columns(events.columns, opens=opens)
    return SparkLog(events, plan)


def _readable(events: DataFrame, plan: Plan, *, opens: bool) -> DataFrame:
    """The rows that a rule may use, as `worker` wants them."""
    log = _log(events, plan, opens=opens)
    is_usable = ~_any([flag for flag, _ in row_checks(log)])
    columns = [log.key.alias(S.KEY), log.kind_code.alias(S.KIND), log.at.alias(S.AT)]
    if log.source is not None:
        columns.append(log.source.alias(S.SOURCE))
    columns += [log.number(name).alias(number_column(i)) for i, name in enumerate(plan.numbers)]
    columns += [log.deadline(within).alias(deadline_column(i)) for i, within in enumerate(plan.withins) if opens]
    return events.where(is_usable & log.kind.isin(*plan.kinds)).select(*columns)


def _any(flags: Sequence[Column]) -> Column:
    found = flags[0]
    for flag in flags[1:]:
        found = found | flag
    return found
