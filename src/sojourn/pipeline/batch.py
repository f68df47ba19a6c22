"""The law over Spark DataFrames: `local`, on a cluster.

Events are dealt out by key to shards, in parcels (`parcels`), and the kernel decides shard by shard, on the executors
(`worker`). What no rule names is left behind before the shuffle. Everything is lazy: functions from DataFrame to
DataFrame, that start no job.

A Python worker holds the parcels of a partition, some forty bytes an event, and works on one shard at a time, with some
hundred bytes an event. That is little, as a rule; should it not be, raise `spark.sql.shuffle.partitions`: there are at
least twice as many shards. A key with ten million events fits in a gigabyte.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)

from ..errors import ConfigError
from ..rules import Duration, Rule, duration_ms
from . import schema as S  # noqa: N812
from .columns.reasons import row_checks, rule_checks
from .plan import Plan
from .results.deadlines import Deadline
from .results.what_if import HAS_CANCELLED, MAY_CANCEL, PART, WhatIf
from .spark.files import parquet_files, shared_out
from .spark.log import SparkLog, first_reason, quoted, row_as_json
from .spark.operations import SparkOperations
from .spark.parcels import ODD, SHARD, shards_for
from .spark.schema import SPARK_DECIDED, SPARK_PARCELS, spark_schema
from .spark.worker import (
    Deal,
    Decide,
    DecideGiven,
    DecideHanded,
    Hand,
    ReadEvents,
    Send,
    deadline_column,
    event_schema,
    number_column,
)


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
    return decided(events, plan, operations).select(*S.OUTCOMES.names)


def decided(
    events: DataFrame, plan: Plan, operations: DataFrame | None = None, odd: Observation | None = None
) -> DataFrame:
    """The same, by a plan, as `schema.DECIDED`.

    The first job that runs tells `odd`, under ODD, whether rows of the log were set aside.
    """
    opens = operations is None
    log = _log(events, plan, opens=opens)
    shards = shards_for(int(events.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1))
    schema = event_schema(plan, {name: log.number_type(name) for name in plan.numbers}, opens=opens)
    dealt = _dealt(events, log, Deal(schema, S.KEY, shards), opens=opens, odd=odd)
    if operations is None:
        return _together(dealt).mapInArrow(Decide(plan, schema), SPARK_DECIDED)
    given = SparkOperations(operations, plan)
    at_home = _together(given.dealt(shards))
    sent = at_home.mapInArrow(Send(given.has_many_keys, shards), SPARK_PARCELS)
    met = _together(dealt.union(sent))
    if not given.has_many_keys:
        return met.mapInArrow(DecideGiven(plan, schema), SPARK_DECIDED)
    hand = Hand(plan, schema)
    handed = met.mapInArrow(hand, SPARK_PARCELS)
    return _together(handed.union(at_home)).mapInArrow(DecideHanded(plan, hand.handed, shards), SPARK_DECIDED)


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


def what_if(outcomes: DataFrame, withins: Sequence[Duration], rules: Rule | Sequence[Rule] = ()) -> DataFrame:
    """How the operations of an outcome table would have ended within each of these instead: `local.what_if`, lazily."""
    asked = tuple(Deadline(duration_ms(within)) for within in withins)
    counted = WhatIf(asked, (rules,) if isinstance(rules, Rule) else tuple(rules))
    parts = outcomes.select(S.RULE, S.OUTCOME, *S.OUTCOME_TIMES).mapInArrow(counted, spark_schema(PART))
    sums = [F.sum(name).alias(name) for name in (*S.COUNTS, HAS_CANCELLED)]
    rows = parts.groupBy(S.RULE, S.WITHIN, S.WITHIN_MS, MAY_CANCEL).agg(*sums)
    is_meant = F.col(MAY_CANCEL).isNull() | (F.col(MAY_CANCEL) == (F.col(HAS_CANCELLED) > 0))
    place = F.array_position(F.array(*(F.lit(deadline.ms).cast("long") for deadline in asked)), F.col(S.WITHIN_MS))
    return rows.where(is_meant).orderBy(S.RULE, place).select(*S.WHAT_IF.names)


def _log(events: DataFrame, plan: Plan, *, opens: bool) -> SparkLog:
    if events.isStreaming:
        raise ConfigError("the events are a stream; sojourn.pipeline.batch is for tables")
    plan.check_columns(events.columns, opens=opens)
    return SparkLog(events, plan)


def _dealt(events: DataFrame, log: SparkLog, deal: Deal, *, opens: bool, odd: Observation | None) -> DataFrame:
    """The events that a rule may use, as parcels."""
    plan = log.plan
    needed = [*plan.columns.values(), *map(plan.column_of, plan.numbers), *(w.name for w in plan.withins if opens)]
    words = {plan.columns[name] for name in (S.KIND, S.SOURCE) if name in plan.columns} - {plan.columns[S.KEY]}
    files = parquet_files(events, needed, words)
    if files is not None:
        parcels = shared_out(events.sparkSession, ReadEvents(files, plan, deal.schema, opens, deal.shards))
        return parcels if odd is None else parcels.observe(odd, F.coalesce(F.sum(ODD), F.lit(0)).alias(ODD))
    if odd is not None:
        rows = events.select(*map(quoted, sorted(set(needed))))
        events = rows.observe(odd, F.count_if(_is_odd(log, opens=opens)).alias(ODD))
    return _readable(events, log, deal.schema, opens=opens).mapInArrow(deal, SPARK_PARCELS)


def _together(parcels: DataFrame) -> DataFrame:
    """All parcels of a shard in one place."""
    return parcels.repartition(SHARD)


def _readable(events: DataFrame, log: SparkLog, schema: pa.Schema, *, opens: bool) -> DataFrame:
    """The events that a rule may use, with these columns."""
    plan = log.plan
    columns = {S.KEY: log.key, S.KIND: log.kind_code, S.AT: log.at}
    if log.source is not None:
        columns[S.SOURCE] = log.source
    columns |= {number_column(i): log.number(name) for i, name in enumerate(plan.numbers)}
    columns |= {deadline_column(i): log.deadline(within) for i, within in enumerate(plan.withins) if opens}
    is_usable = ~_any([flag for flag, _ in row_checks(log)])
    usable = events.where(is_usable & log.kind.isin(*plan.kinds))
    return usable.select(*(columns[name].alias(name) for name in schema.names))


def _is_odd(log: SparkLog, *, opens: bool) -> Column:
    checks = row_checks(log) + [check for rule in log.plan.rules for check in rule_checks(rule, log, opens=opens)]
    return _any([F.coalesce(flag, F.lit(False)) for flag, _ in checks])


def _any(flags: Sequence[Column]) -> Column:
    found = flags[0]
    for flag in flags[1:]:
        found = found | flag
    return found
