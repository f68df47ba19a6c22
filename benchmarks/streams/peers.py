"""The peers, each a function from events to outcomes: one operation a key, from `open` until `paid`.

What is written by hand is what one writes first, and what the guides show: a group a key, a state and a timer an
operation. A completion is told when the payment comes, an expiration when the timer fires.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from sojourn.pipeline import stream
from sojourn.rules import Rule

from .events import LATE_MS, RULE, WITHIN_MS

OUT = "key string, opened_at bigint, outcome string"
SHARDS = 8
"""Four for each core: more of them only mean more calls, and larger ones take the JVM longer to find room for."""

TEN = 10


def sojourn(events: DataFrame) -> DataFrame:
    return stream.outcomes(events, RULE, late=LATE_MS, shards=SHARDS)


def ten_rules(events: DataFrame) -> DataFrame:
    """Ten rules in one query, each of which names every event: ten outcomes for each operation."""
    rules = [Rule(f"paid-{n}", RULE.opens, RULE.until, WITHIN_MS + n, "each") for n in range(TEN)]
    return stream.outcomes(events, rules, late=LATE_MS, shards=SHARDS)


def ten_kinds(events: DataFrame) -> DataFrame:
    """Ten rules in one query that share the events out: each has kinds of its own."""
    kind = F.concat("kind", F.lit("-"), F.pmod(F.hash("key"), F.lit(TEN)))
    rules = [Rule(f"paid-{n}", f"open-{n}", f"paid-{n}", WITHIN_MS, "each") for n in range(TEN)]
    return stream.outcomes(events.withColumn("kind", kind), rules, late=LATE_MS, shards=SHARDS)


def rows(events: DataFrame) -> DataFrame:
    """`transformWithState`, on Rows."""
    return _late(events).groupBy("key").transformWithState(RowProcessor(), OUT, "append", "EventTime")


def frames(events: DataFrame) -> DataFrame:
    """`transformWithStateInPandas`."""
    return _late(events).groupBy("key").transformWithStateInPandas(FrameProcessor(), OUT, "append", "EventTime")


def apply_in_pandas(events: DataFrame) -> DataFrame:
    """`applyInPandasWithState`."""
    grouped = _late(events).groupBy("key")
    return grouped.applyInPandasWithState(_apply, OUT, "opened_at bigint", "append", GroupStateTimeout.EventTimeTimeout)


def join(events: DataFrame) -> DataFrame:
    """A stream-stream left outer join. It gives a row for every payment of a key, not for the first alone."""
    opened = _late(events.where("kind = 'open'")).select("key", F.col("at").alias("opened_at"))
    paid = _late(events.where("kind = 'paid'")).select(F.col("key").alias("paid_key"), F.col("at").alias("paid_at"))
    within = F.expr(f"INTERVAL {WITHIN_MS // 1000} SECONDS")
    is_pair = (F.col("key") == F.col("paid_key")) & F.col("paid_at").between(
        F.col("opened_at"), F.col("opened_at") + within
    )
    return opened.join(paid, is_pair, "left_outer")


def _late(events: DataFrame) -> DataFrame:
    return events.withWatermark("at", f"{LATE_MS} milliseconds")


def _ms(at: Any) -> int:
    return int(at.timestamp() * 1000)


class RowProcessor(StatefulProcessor):
    """A value state and a timer for each operation."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._opened = handle.getValueState("opened", "opened_at bigint")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        state = self._opened.get()
        opened_at = None if state is None else state[0]
        for row in sorted(rows, key=lambda row: (row.at, row.kind)):
            at = _ms(row.at)
            if row.kind == "open" and opened_at is None:
                opened_at = at
                self._opened.update((at,))
                self._handle.registerTimer(at + WITHIN_MS)
            elif row.kind == "paid" and opened_at is not None and at <= opened_at + WITHIN_MS:
                self._handle.deleteTimer(opened_at + WITHIN_MS)
                self._opened.clear()
                yield Row(key=key[0], opened_at=opened_at, outcome="completed")
                opened_at = None

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        state = self._opened.get()
        if state is not None:
            self._opened.clear()
            yield Row(key=key[0], opened_at=state[0], outcome="expired")

    def close(self) -> None:
        pass


class FrameProcessor(RowProcessor):
    """The same, with a pandas DataFrame for each key."""

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        given = (Row(kind=kind, at=at) for frame in rows for kind, at in zip(frame["kind"], frame["at"], strict=True))
        yield from map(_frame, super().handleInputRows(key, given, timerValues))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
        yield from map(_frame, super().handleExpiredTimer(key, timerValues, expiredTimerInfo))


def _frame(row: Row) -> pd.DataFrame:
    return pd.DataFrame([row.asDict()])


def _apply(key: Any, frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    if state.hasTimedOut:
        (opened_at,) = state.get
        state.remove()
        yield pd.DataFrame({"key": [key[0]], "opened_at": [opened_at], "outcome": ["expired"]})
        return
    opened_at = state.get[0] if state.exists else None
    events = pd.concat(list(frames)).sort_values(["at", "kind"])
    for kind, at in zip(events["kind"], events["at"], strict=True):
        if kind == "open" and opened_at is None:
            opened_at = _ms(at)
        elif kind == "paid" and opened_at is not None and _ms(at) <= opened_at + WITHIN_MS:
            yield pd.DataFrame({"key": [key[0]], "opened_at": [opened_at], "outcome": ["completed"]})
            opened_at = None
    if opened_at is None:
        if state.exists:
            state.remove()
    else:
        state.update((opened_at,))
        state.setTimeoutTimestamp(opened_at + WITHIN_MS)
