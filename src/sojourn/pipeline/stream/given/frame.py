"""Two streaming DataFrames in, events and operations, and one out: as `stream.frame`, which calls this."""

from __future__ import annotations

import json
from hashlib import sha256

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from ....errors import ConfigError
from ....rules import duration_text
from ... import schema as S  # noqa: N812
from ...columns.normal import number_types
from ...plan import Plan
from ...spark.rows import arrow_schema, mapped
from ..checkpoint.settings import Settings
from ..shard.pack import ASIDE, NEWEST, SHARD
from ..shard.processor import OUT_SCHEMA
from .pack import IN_SCHEMA, PackEvents, PackOperations
from .processor import MET_SCHEMA, HomeProcessor, MeetProcessor
from .terms import Terms, check_rule


def answers(
    events: DataFrame,
    operations: DataFrame,
    plan: Plan,
    late_ms: int,
    shards: int,
    settings: Settings,
    ticks: DataFrame | None,
) -> DataFrame:
    """What the second step answers, as payloads: operations are decided by the events of all their keys.

    Each of the two streams has a watermark of its own, and the earlier one counts: Spark's policy, if it is not told
    otherwise. So neither can make the other late. `ticks` move both.
    """
    _check(operations, plan)
    log = arrow_schema(events)
    terms = Terms(plan, number_types(plan, log))
    pack_events = PackEvents(terms, log, shards)
    pack_operations = PackOperations(plan, arrow_schema(operations), shards)
    for pack in (pack_events, pack_operations):
        pack.payloads(pack.log.empty_table())  # what cannot be read is refused here, not by the tasks
    both = [
        _timed(mapped(rows, pack, from_arrow_schema(IN_SCHEMA)), late_ms, ticks)
        for rows, pack in ((events, pack_events), (operations, pack_operations))
    ]
    written_under = sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
    meet = MeetProcessor(terms, written_under, log, f"more than {duration_text(late_ms)} late")
    met = both[0].unionByName(both[1]).groupBy(SHARD).transformWithState(meet, MET_SCHEMA, "append", "EventTime")
    home = HomeProcessor(terms, written_under)
    return met.groupBy(SHARD).transformWithState(home, OUT_SCHEMA, "append", "EventTime")


def refuse_for_given(*, eager: bool, remember: object) -> None:
    """`ConfigError` for options that are for operations that events open."""
    if eager:
        raise ConfigError("eager is for operations that events open; those of a stream are told when they are certain")
    if remember is not None:
        raise ConfigError("remember is for operations that events open; the ids of those of a stream are kept for ever")


def _check(operations: DataFrame, plan: Plan) -> None:
    if not operations.isStreaming:
        raise ConfigError(
            "the operations are a table, and the events a stream; read the operations as a stream too, or replay both"
        )
    if len(plan.rules) > 1:
        raise ConfigError(
            f"operations from a stream are under one rule; {len(plan.rules)} are given: start a query for each"
        )
    check_rule(plan.rules[0])
    plan.check_operations(operations.columns)
    if S.WITHIN in operations.columns and isinstance(operations.schema[S.WITHIN].dataType, T.YearMonthIntervalType):
        raise ConfigError("within is an interval of months, which are not equally long; give days")


def _timed(payloads: DataFrame, late_ms: int, ticks: DataFrame | None) -> DataFrame:
    """The payloads, with the watermark of their stream. One that holds nothing but a time still moves it.

    So the filter must come after the watermark. Spark would move it before, if it did not look at the time.
    """
    if ticks is not None:
        payloads = payloads.unionByName(ticks, allowMissingColumns=True)
    holds_something = F.when(F.col(NEWEST).isNull(), F.col(ASIDE).isNotNull()).otherwise(F.col(SHARD).isNotNull())
    return payloads.withWatermark(NEWEST, f"{late_ms + 1} milliseconds").where(holds_something).drop(NEWEST)
