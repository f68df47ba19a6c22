"""Streaming DataFrames in, streaming DataFrames out. No job is started here."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from ...errors import ConfigError
from ...rules import Duration, Rule, duration_ms, duration_text
from .. import schema as S  # noqa: N812
from ..columns.reasons import row_checks, rule_checks
from ..plan import Plan
from ..spark.log import SparkLog, first_reason, row_as_json
from .pack import ASIDE, IN_SCHEMA, LATE, OPENED, SHARD, Pack, Unpack
from .processor import OUT_SCHEMA, ShardProcessor
from .settings import Settings, fingerprint, settings_of
from .shape import HASH, Shape

METRICS = "sojourn"
"""The name of the counts in a query's progress: opened, completed, expired, cancelled, late and quarantined."""

_TIME = "time"


def outcomes(
    events: DataFrame,
    rule: Rule,
    *,
    key: str | None = None,
    kind: str | None = None,
    at: str | None = None,
    source: str | None = None,
    value: str | None = None,
    unit: S.Unit = "auto",
    late: Duration = "1 hour",
    shards: int = 64,
    eager: bool = False,
    heartbeat: bool = False,
) -> DataFrame:
    """The outcome of every operation that a stream opens: the columns of `schema.OUTCOMES`, and `aside`."""
    plan = Plan.of(rule, unit, key=key, kind=kind, at=at, source=source, value=value)
    _check(events, plan, shards)
    log = SparkLog(events, plan)
    shape = Shape(plan, {number: _number_type(events, plan, number) for number in plan.numbers}, eager)
    late_ms = duration_ms(late)
    settings = settings_of(shape, late_ms, shards)
    rows = _with_heartbeat(_read(events, log, shape)) if heartbeat else _read(events, log, shape)
    packed = _of_use(rows, late_ms, shards).mapInArrow(Pack(shape), from_arrow_schema(IN_SCHEMA))
    told = packed.groupBy(SHARD).transformWithState(
        ShardProcessor(shape, fingerprint(settings)), OUT_SCHEMA, "append", "EventTime"
    )
    unpack = Unpack(shape)
    unpacked = told.mapInArrow(unpack, from_arrow_schema(unpack.schema))
    return _shown(unpacked, shape, late_ms, settings)


def decided(outcomes: DataFrame) -> DataFrame:
    """The outcomes alone, of what `outcomes` gives."""
    return outcomes.where(F.col(ASIDE).isNull()).drop(ASIDE)


def set_aside(outcomes: DataFrame) -> DataFrame:
    """What was set aside, of what `outcomes` gives: rows that are late, or cannot be used."""
    return outcomes.where(F.col(ASIDE).isNotNull()).select(f"{ASIDE}.*")


def _check(events: DataFrame, plan: Plan, shards: int) -> None:
    if not events.isStreaming:
        raise ConfigError("the events are a table, not a stream; sojourn.pipeline.batch is for tables")
    if not isinstance(shards, int) or isinstance(shards, bool) or not 1 <= shards < 2**31:
        raise ConfigError(f"shards={shards!r} must be a whole number of at least 1")
    plan.check_columns(events.columns)


def _number_type(events: DataFrame, plan: Plan, number: str) -> pa.DataType:
    is_whole = isinstance(events.schema[plan.column_of(number)].dataType, T.IntegralType)
    return pa.int64() if is_whole else pa.float64()


def _read(events: DataFrame, log: SparkLog, shape: Shape) -> DataFrame:
    """The events as columns of `Shape.fresh`, with their time, and with a reason where they cannot be used."""
    reason = first_reason(row_checks(log) + rule_checks(shape.rule, log))
    columns = {
        _TIME: F.timestamp_millis(log.at),
        S.REASON: reason,
        S.ROW: F.when(reason.isNotNull(), row_as_json()),
        S.KEY: log.key,
        S.KIND: log.kind_code,
        S.AT: log.at,
        S.SOURCE: log.source,
        **{name: log.number(number) for number, name in shape.number_names.items()},
    }
    for within in shape.plan.withins:
        columns[S.DEADLINE] = log.deadline(within)
    return events.select(*(column.alias(name) for name, column in columns.items() if column is not None))


def _with_heartbeat(rows: DataFrame) -> DataFrame:
    """The same, and a row a second that carries nothing but the time of day."""
    clock = rows.sparkSession.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
    columns = [
        (F.col("timestamp") if field.name == _TIME else F.lit(None).cast(field.dataType)).alias(field.name)
        for field in rows.schema
    ]
    return rows.unionByName(clock.select(*columns))


def _of_use(rows: DataFrame, late_ms: int, shards: int) -> DataFrame:
    """The rows to pack. Those that no rule names still move the watermark.

    So the filter must stay above it: Spark moves one that does not look at the time below.
    """
    is_aside, is_named = F.col(S.REASON).isNotNull(), F.col(S.KIND).isNotNull()
    hashed = F.xxhash64(S.KEY)
    return (
        rows.withWatermark(_TIME, f"{late_ms} milliseconds")
        .where(F.when(F.col(_TIME).isNotNull(), is_aside | is_named).otherwise(is_aside))
        .drop(_TIME)
        .select(F.pmod(hashed, F.lit(shards)).cast("int").alias(SHARD), hashed.alias(HASH), "*")
    )


def _shown(rows: DataFrame, shape: Shape, late_ms: int, settings: Settings) -> DataFrame:
    """Outcomes, with what is none in the column `aside`, and counts in the query's progress."""
    reason = F.when(F.col(LATE).isNotNull(), f"more than {duration_text(late_ms)} late").otherwise(F.col(S.REASON))
    row = F.when(F.col(LATE).isNotNull(), F.to_json(_late_event(shape), {"ignoreNullFields": "false"})).otherwise(
        F.col(S.ROW)
    )
    aside = F.when(reason.isNotNull(), F.struct(reason.alias(S.REASON), row.alias(S.ROW)))
    endings = [F.count_if(F.col(S.OUTCOME) == ending).alias(ending) for ending in S.ENDINGS]
    return (
        rows.observe(
            METRICS,
            F.coalesce(F.sum(OPENED), F.lit(0)).alias(OPENED),
            *endings,
            F.count(LATE).alias(LATE),
            F.count(S.REASON).alias("quarantined"),
        )
        .where(F.col(OPENED).isNull())
        .select(*S.OUTCOMES.names, aside.alias(ASIDE, metadata={METRICS: settings}))
    )


def _late_event(shape: Shape) -> Column:
    """An event that came too late, under the names of the log."""
    plan, of = shape.plan, {ours: F.col(f"{LATE}.{ours}") for ours in shape.plan.columns if ours != S.VALUE}
    of[S.KIND] = F.element_at(F.array(*map(F.lit, plan.kinds)), of[S.KIND] + 1)
    of[S.AT] = F.timestamp_millis(of[S.AT])
    named = [column.alias(plan.columns[ours]) for ours, column in of.items()]
    numbers = [F.col(f"{LATE}.{name}").alias(plan.column_of(number)) for number, name in shape.number_names.items()]
    return F.struct(*named, *numbers)
