"""Streaming DataFrames in, streaming DataFrames out. No job is started here."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)
from pyspark.sql.pandas.types import from_arrow_schema

from ...errors import ConfigError
from ...rules import Duration, Rule, duration_ms, duration_text
from .. import schema as S  # noqa: N812
from ..columns.normal import number_types
from ..plan import Plan
from ..spark.rows import arrow_schema, mapped, refuse_months
from .checkpoint.settings import GIVEN, Settings, fingerprint, settings_of
from .given.frame import answers as answers_of_given
from .given.frame import refuse_for_given
from .shard.pack import ASIDE, COUNTS, EVENTS, IN_SCHEMA, NEWEST, OUTCOMES, SHARD, Pack, Unpack
from .shard.processor import OUT_SCHEMA, ShardProcessor
from .shard.shape import Shape

METRICS = "sojourn"
"""The name of the counts in a query's progress: opened, completed, expired, cancelled, late and quarantined."""


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
    late: Duration = "1 hour",
    shards: int = 16,
    eager: bool = False,
    heartbeat: bool = False,
    remember: Duration | None = None,
    operations: DataFrame | None = None,
) -> DataFrame:
    """The outcome of every operation that a stream opens, under each of the rules, lazily.

    The columns are those of `schema.OUTCOMES`, and `aside`, which is null for outcomes. Rows that are late or cannot be
    used have nothing but `aside.reason` and `aside.row`.

    `key` to `unit` are as in `batch.outcomes`. `late` is how far an event may be behind the newest one. Keys are spread
    over `shards`. With `eager`, completions and cancellations are told at once, not only when they are certain. With
    `heartbeat`, the clock moves the watermark when no events come. `remember` is how long what has ended is
    remembered: that a key had its operation under `per = "first"`, and the levels that were reached; for ever if it is
    not given.

    With `operations`, another stream, the events open nothing: each of its rows is an operation, with the columns that
    `batch.outcomes` has for them. Both streams have a watermark, of which the earlier one counts.
    """
    plan = Plan.of(rules, unit, key=key, kind=kind, at=at, source=source, value=value)
    _check(events, plan, shards, opens=operations is None)
    if operations is not None:
        refuse_for_given(eager=eager, remember=remember)
        return _of_given(events, operations, plan, late, shards, heartbeat=heartbeat)
    log = arrow_schema(events)
    shape = Shape(plan, number_types(plan, log), eager, None if remember is None else duration_ms(remember))
    late_ms = duration_ms(late)
    settings = settings_of(shape, late_ms, shards)
    payloads = _payloads(events, Pack(shape, log, shards), late_ms, heartbeat=heartbeat)
    processor = ShardProcessor(shape, fingerprint(settings), log, f"more than {duration_text(late_ms)} late")
    answers = payloads.groupBy(SHARD).transformWithState(processor, OUT_SCHEMA, "append", "EventTime")
    return _shown(answers, settings)


def _of_given(
    events: DataFrame, operations: DataFrame, plan: Plan, late: Duration, shards: int, *, heartbeat: bool
) -> DataFrame:
    """The outcomes of operations from a stream of their own."""
    late_ms = duration_ms(late)
    shape = Shape(plan, number_types(plan, arrow_schema(events)))
    settings = {**settings_of(shape, late_ms, shards), "operations": GIVEN}
    ticks = _ticks(events.sparkSession) if heartbeat else None
    return _shown(answers_of_given(events, operations, plan, late_ms, shards, settings, ticks), settings)


def decided(outcomes: DataFrame) -> DataFrame:
    """Of what `outcomes` gives, the outcomes alone."""
    return outcomes.where(F.col(ASIDE).isNull()).drop(ASIDE)


def set_aside(outcomes: DataFrame) -> DataFrame:
    """Of what `outcomes` gives, the rows that were set aside: they are late, or cannot be used."""
    return outcomes.where(F.col(ASIDE).isNotNull()).select(f"{ASIDE}.*")


def _check(events: DataFrame, plan: Plan, shards: int, *, opens: bool) -> None:
    if not events.isStreaming:
        raise ConfigError("the events are a table, not a stream; sojourn.pipeline.batch is for tables")
    if not isinstance(shards, int) or isinstance(shards, bool) or not 1 <= shards < 2**31:
        raise ConfigError(f"shards={shards!r} must be a whole number of at least 1")
    plan.check_columns(events.columns, opens=opens)
    if opens:
        refuse_months(events, plan.withins)


def _payloads(events: DataFrame, pack: Pack, late_ms: int, *, heartbeat: bool) -> DataFrame:
    """The events, packed. A payload that holds nothing but a time still moves the watermark.

    So the filter must come after the watermark. Spark would move it before, if it did not look at the time.

    An event may be late by `late_ms`, so that all earlier instants are over: the watermark is the last one of them, up
    to which the events are known.
    """
    pack.payloads(pack.log.empty_table())  # what cannot be read is refused here, not by the tasks
    payloads = mapped(events, pack, from_arrow_schema(IN_SCHEMA))
    if heartbeat:
        payloads = payloads.unionByName(_ticks(events.sparkSession), allowMissingColumns=True)
    timeless = F.col(ASIDE).isNotNull() | F.col(EVENTS).isNull() & F.col(SHARD).isNotNull()
    holds_something = F.when(F.col(NEWEST).isNull(), timeless).otherwise(F.col(SHARD).isNotNull())
    return payloads.withWatermark(NEWEST, f"{late_ms + 1} milliseconds").where(holds_something).drop(NEWEST)


def _ticks(spark: SparkSession) -> DataFrame:
    """One row per second that carries nothing but the time of day."""
    clock = spark.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
    return clock.select(F.col("timestamp").alias(NEWEST))


def _shown(answers: DataFrame, settings: Settings) -> DataFrame:
    """Outcomes, with rows that were set aside in the column `aside`, and counts in the query's progress."""
    counts = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in COUNTS]
    payloads, unpack = answers.observe(METRICS, *counts).select(OUTCOMES, ASIDE), Unpack()
    rows = payloads.mapInArrow(unpack, from_arrow_schema(unpack.schema))
    aside = F.when(F.col(S.REASON).isNotNull(), F.struct(S.REASON, S.ROW))
    return rows.select(*S.OUTCOMES.names, aside.alias(ASIDE, metadata={METRICS: settings}))
