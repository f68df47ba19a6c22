"""Where the two steps keep what they keep: logs of segments, by name, in the state of a shard of Spark's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pyspark.sql import types as T  # noqa: N812  (as everybody does)
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from ....errors import ConfigError
from ...kernel import NEVER
from ..shard.nearby import nearby
from ..shard.segment import Kept, Segment
from ..shard.shard import Cache

LOG = T.StructType(
    [
        T.StructField("name", T.StringType()),
        T.StructField("segments", T.ArrayType(T.LongType())),
        T.StructField("wake_at", T.LongType()),
    ]
)
HEAD = T.StructType([T.StructField("settings", T.StringType()), T.StructField("logs", T.ArrayType(LOG))])
NUMBER = T.StructType([T.StructField("number", T.LongType())])
DATA = T.StructType([T.StructField("data", T.BinaryType())])

FIRST_TIMER = 1
"""Spark's watermark starts at the epoch, and a timer before that never fires."""

_cache = Cache()
"""Spark reuses its Python processes: what one has read for a micro-batch serves the next."""


class Head(NamedTuple):
    """What is known of a log: its segments, the oldest first, and when to look at it again."""

    segments: tuple[int, ...] = ()
    wake_at: int = NEVER


class Logs:
    """The logs of the shard that Spark is looking at: `shapes` are what they hold, by their names."""

    def __init__(self, handle: StatefulProcessorHandle, settings: str, shapes: Mapping[str, Any]) -> None:
        self._handle = handle
        self._settings = settings
        self._shapes = shapes
        self._head = handle.getValueState("given_head", HEAD)
        self._segments = handle.getMapState("given_segments", NUMBER, DATA)
        self._old: dict[str, Head] = {}
        self.is_awake = False
        """Whether the timer has fired, and is gone."""

    def read(self) -> dict[str, Kept]:
        saved = self._head.get()
        self._old = {}
        if saved is not None:
            settings, logs = saved
            if settings != self._settings:
                raise ConfigError(
                    "the checkpoint was written under another rule, or with other columns, unit, shards or late; "
                    "go on with those, or start with a new checkpoint"
                )
            self._old = {name: Head(tuple(segments), wake_at) for name, segments, wake_at in logs}
        return {name: self._kept(name) for name in self._shapes}

    def _kept(self, name: str) -> Kept:
        numbers = self._old.get(name, Head()).segments
        return Kept(self._shapes[name], [self._segment(name, number) for number in numbers])

    def _segment(self, name: str, number: int) -> Segment:
        segment = _cache.get(number)
        if segment is None:
            segment = Segment.from_bytes(self._shapes[name], nearby().or_saved(number, self._segments), number)
            _cache.add(segment)
        return segment

    def save(self, logs: Mapping[str, Kept]) -> None:
        new = {name: _head(kept) for name, kept in logs.items()}
        if new == self._old:
            return
        for number in _numbers(self._old) - _numbers(new):
            self._segments.removeKey((number,))
            _cache.drop(number)
            nearby().drop(number)
        for kept in logs.values():
            for number, data in kept.added.items():
                self._segments.updateValue((number,), (data,))
                nearby().put(number, data)
            for segment in kept.segments:
                _cache.add(segment)
        self._head.update((self._settings, [(name, list(head.segments), head.wake_at) for name, head in new.items()]))
        self._set_timer(_timer(self._old), _timer(new))
        self._old = new

    def _set_timer(self, old: int, new: int) -> None:
        if new != old or self.is_awake:
            if old != NEVER and not self.is_awake:
                self._handle.deleteTimer(old)
            if new != NEVER:
                self._handle.registerTimer(new)


def _head(kept: Kept) -> Head:
    due = kept.next_due
    return Head(tuple(segment.number for segment in kept.segments), NEVER if due == NEVER else due + 1)


def _numbers(heads: Mapping[str, Head]) -> set[int]:
    return {number for head in heads.values() for number in head.segments}


def _timer(heads: Mapping[str, Head]) -> int:
    """Once the watermark has passed what is due: Spark's watermark is the last instant that is over."""
    wake_at = min((head.wake_at for head in heads.values()), default=NEVER)
    return NEVER if wake_at == NEVER else max(wake_at - 1, FIRST_TIMER)
