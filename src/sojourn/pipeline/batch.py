"""The law over Spark DataFrames: `local`, on a cluster.

Events are dealt out by key to shards, in parcels (`parcels`), and the kernel decides shard by shard, on the executors
(`worker`). Events that no rule names are left out before the shuffle. Everything is lazy: functions from DataFrame to
DataFrame that start no job.

A Python worker holds the parcels of a partition, about forty bytes per event, and works on one shard at a time, with
about a hundred bytes per event. If that is too much, raise `spark.sql.shuffle.partitions`: there are at least twice as
many shards. A key with ten million events fits in a gigabyte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)

from ..errors import ConfigError
from ..rules import AsOf, Duration, Rule, checked_as_of
from . import schema as S  # noqa: N812
from .columns.normal import normal_schema, number_types
from .plan import Plan, rules_of
from .results.deadlines import fixed
from .results.what_if import PART, Answer, WhatIf
from .spark.operations import SparkOperations
from .spark.parcels import LATEST, SHARD, UNUSABLE, shards_for_partitions
from .spark.rows import arrow_schema, mapped, parcels, refuse_months
from .spark.schema import SPARK_PARCELS, SPARK_QUARANTINE, decided_schema, spark_schema
from .spark.worker import Decide, DecideOnManyKeys, DecideOnOneKey, Hand, Plain, ReadEvents, Send, SetAside, Work


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
    as_of: AsOf = "log",
) -> DataFrame:
    """The outcome of every operation that a log opens, under each rule: the columns of `schema.OUTCOMES`, lazily.

    `key`, `kind`, `at`, `source` and `value` name the columns of the log. One that is not given has the name in the
    rule's `columns`, or its own.

    With `operations` the events open nothing: each row of that table is an operation, with the columns `operation_id`,
    `opened_at`, `keys` (an array; or `key`), `within`, unless the rule has one, and `rule`, if there are several. The
    events of all its keys count for it.

    `as_of` is where the log ends: "log", at its latest event that can be used, whatever its kind (or at the latest
    opening of `operations`), which the executors find out in passing; or a time, and later events are not looked at; or
    "complete": nothing else will come. What ends later is pending.
    """
    plan = Plan.of(rules, unit, key=key, kind=kind, at=at, source=source, value=value).ending(as_of)
    return outcomes_by_plan(events, plan, operations).select(*S.OUTCOMES.names)


def outcomes_by_plan(
    events: DataFrame, plan: Plan, operations: DataFrame | None = None, seen: Observation | None = None
) -> DataFrame:
    """As `outcomes`, by a plan, with the columns of `schema.DECIDED`.

    `seen` observes in the first job, under UNUSABLE, how many rows of the log are set aside and, under LATEST, how far
    the log goes, if the plan asks for that.
    """
    shuffled, work = decision(events, plan, operations, seen)
    return shuffled.mapInArrow(Plain(work), decided_schema(is_grouped=plan.by is not None))


class Decision(NamedTuple):
    """Parcels, and the work that makes outcomes of them, as `schema.DECIDED`, coded, on the executors."""

    parcels: DataFrame
    work: Work


def decision(
    events: DataFrame, plan: Plan, operations: DataFrame | None = None, seen: Observation | None = None
) -> Decision:
    """What is to be done for `outcomes_by_plan`."""
    opens = operations is None
    _check(events, plan, opens=opens)
    shards = shards_for_partitions(int(events.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1))
    schema = normal_schema(plan, number_types(plan, arrow_schema(events)), opens=opens)
    read = parcels(events, ReadEvents(plan, schema, opens, shards), plan.needed(opens=opens), plan.dictionary_columns)
    if operations is None:
        return Decision(_shuffled_by_shard(_observed(read, seen)), Decide(plan, schema))
    given = SparkOperations(operations, plan)
    at_home = _shuffled_by_shard(given.parcels(shards))
    sent = at_home.mapInArrow(Send(plan, given.has_many_keys, shards), SPARK_PARCELS)
    shuffled = _shuffled_by_shard(_observed(read.union(sent), seen))
    if not given.has_many_keys:
        return Decision(shuffled, DecideOnOneKey(plan, schema))
    handed = shuffled.mapInArrow(Hand(plan, schema, shards), SPARK_PARCELS)
    decide = DecideOnManyKeys(plan, schema, shards)
    return Decision(_shuffled_by_shard(handed.union(at_home)), decide)


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
    return quarantined_by_plan(events, plan, operations)


def quarantined_by_plan(events: DataFrame, plan: Plan, operations: DataFrame | None = None) -> DataFrame:
    """As `quarantined`, by a plan."""
    opens = operations is None
    _check(events, plan, opens=opens)
    schema = normal_schema(plan, number_types(plan, arrow_schema(events)), opens=opens)
    aside = mapped(events, SetAside(plan, schema, opens), SPARK_QUARANTINE)
    return aside if operations is None else aside.unionByName(SparkOperations(operations, plan).quarantined())


def what_if(
    outcomes: DataFrame, withins: Duration | Sequence[Duration], rules: Rule | Sequence[Rule] = (), as_of: AsOf = "log"
) -> DataFrame:
    """How the operations of an outcome table would have ended under other deadlines: `local.what_if`, lazily.

    Unless `as_of` says where the log ended, the outcomes are gone through twice, so have them written or cached.
    """
    counted = WhatIf(fixed(withins), rules_of(rules), checked_as_of(as_of))
    rows = outcomes.select(S.RULE, S.OUTCOME, *S.OUTCOME_TIMES)
    if as_of == "log":
        rows = rows.crossJoin(F.broadcast(_end_of_log(outcomes)))
    parts = rows.mapInArrow(counted, spark_schema(PART))
    return parts.repartition(1).mapInArrow(Answer(counted), spark_schema(S.WHAT_IF))


def _end_of_log(outcomes: DataFrame) -> DataFrame:
    """One row: where the log of a table ended, by its pending operations; null if it has none."""
    seen_until = F.timestamp_millis(F.unix_millis(S.OPENED_AT) + F.col(S.WAITED_MS))
    return outcomes.where(F.col(S.OUTCOME) == S.PENDING).agg(F.max(seen_until).alias(S.AS_OF))


def _check(events: DataFrame, plan: Plan, *, opens: bool) -> None:
    if events.isStreaming:
        raise ConfigError("the events are a stream; sojourn.pipeline.batch is for tables")
    plan.check_columns(events.columns, opens=opens)
    if opens:
        refuse_months(events, plan.withins)


def _observed(parcels: DataFrame, seen: Observation | None) -> DataFrame:
    if seen is None:
        return parcels
    unusable = F.coalesce(F.sum(UNUSABLE), F.lit(0))
    return parcels.observe(seen, unusable.alias(UNUSABLE), F.max(LATEST).alias(LATEST))


def _shuffled_by_shard(parcels: DataFrame) -> DataFrame:
    """All parcels of a shard in one partition."""
    return parcels.repartition(SHARD)
