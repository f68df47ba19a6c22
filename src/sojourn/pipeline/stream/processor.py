"""The shards as Spark runs them: a stateful operator whose keys are shards, with one timer each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql import types as T  # noqa: N812  (as everybody does)
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ...errors import ConfigError
from ..kernel import NEVER
from ..spark.parcels import settle_in
from .decide import NO_WATERMARK
from .pack import ASIDE, EVENTS, LATE, OPENED, OUTCOMES, from_bytes, in_one_piece, to_bytes
from .shape import Shape
from .shard import Cache, Head, advance

HEAD = T.StructType(
    [
        T.StructField("settings", T.StringType()),
        T.StructField("segments", T.ArrayType(T.LongType())),
        T.StructField("pending", T.LongType()),
        T.StructField("wake_at", T.LongType()),
    ]
)
SEGMENT_NUMBER = T.StructType([T.StructField("number", T.LongType())])
SEGMENT = T.StructType([T.StructField("data", T.BinaryType())])
"""As types, not as texts: Python would have to ask the JVM what those mean."""

OUT_SCHEMA = f"{OUTCOMES} binary, {LATE} binary, {ASIDE} binary, {OPENED} bigint"

FIRST_TIMER = 1

_cache = Cache()
"""Spark uses its Python processes again and again: what one has read for a micro-batch serves the next."""


class SparkStore:
    """The state of the shard that Spark is looking at. Each call is a round trip to the JVM, so there are few."""

    def __init__(self, handle: StatefulProcessorHandle, settings: str) -> None:
        self._handle = handle
        self._settings = settings
        self._head = handle.getValueState("head", HEAD)
        self._segments = handle.getMapState("segments", SEGMENT_NUMBER, SEGMENT)
        self.is_awake = False
        """Whether the timer has fired, and is gone."""

    def head(self) -> Head:
        found = self._head.get()
        if found is None:
            return Head()
        settings, segments, pending, wake_at = found
        if settings != self._settings:
            raise ConfigError(
                "the checkpoint was written under another rule, or with other columns, unit, shards, late or eager; "
                "go on with those, or start with a new checkpoint"
            )
        return Head(tuple(segments), pending, wake_at)

    def segment(self, number: int) -> bytes:
        found = self._segments.getValue((number,))
        if found is None:
            raise RuntimeError(f"segment {number} is not in the state")
        return bytes(found[0])

    def save(self, old: Head, new: Head, added: dict[int, bytes]) -> None:
        for number in set(old.segments) - set(new.segments):
            self._segments.removeKey((number,))
        for number, data in added.items():
            self._segments.updateValue((number,), (data,))
        self._head.update((self._settings, list(new.segments), new.pending, new.wake_at))
        self._set_timer(_timer(old), _timer(new))

    def _set_timer(self, old: int, new: int) -> None:
        if new != old:
            if old != NEVER and not self.is_awake:
                self._handle.deleteTimer(old)
            if new != NEVER:
                self._handle.registerTimer(new)


def _timer(head: Head) -> int:
    """When Spark is to wake a shard: its watermark starts at the epoch, and a timer before that never fires."""
    return max(head.wake_at, FIRST_TIMER)


class ShardProcessor(StatefulProcessor):
    """`settings` says what the state was written under; no other may go on with it."""

    def __init__(self, shape: Shape, settings: str) -> None:
        self._shape = shape
        self._settings = settings

    def init(self, handle: StatefulProcessorHandle) -> None:
        settle_in()
        self._store = SparkStore(handle, self._settings)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        fresh = []
        for row in rows:
            if row[ASIDE] is not None:
                yield _row(aside=bytes(row[ASIDE]))
            else:
                fresh.append(from_bytes(bytes(row[EVENTS]), self._shape.fresh))
        if fresh:
            yield from self._advance(fresh, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        self._store.is_awake = True
        yield from self._advance([], timerValues)
        self._store.is_awake = False

    def close(self) -> None:
        pass

    def _advance(self, fresh: list[pa.RecordBatch], timer_values: Any) -> Iterator[Row]:
        watermark = timer_values.getCurrentWatermarkInMs()
        told = advance(self._shape, self._store, _cache, fresh, watermark if watermark > 0 else NO_WATERMARK)
        if told.outcomes.num_rows or told.late.num_rows or told.opened:
            yield _row(
                outcomes=to_bytes(in_one_piece(told.outcomes)) if told.outcomes.num_rows else None,
                late=to_bytes(told.late) if told.late.num_rows else None,
                opened=told.opened,
            )


def _row(
    outcomes: bytes | None = None, late: bytes | None = None, aside: bytes | None = None, opened: int | None = None
) -> Row:
    return Row(**{OUTCOMES: outcomes, LATE: late, ASIDE: aside, OPENED: opened})
