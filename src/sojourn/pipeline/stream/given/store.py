"""Where the two steps keep what they keep: logs of segments, by name, in the state of a shard of Spark's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from ...kernel import NEVER
from ..shard.segment import Kept, Segment
from ..shard.shard import Cache
from ..shard.state import SparkState

_cache = Cache()
"""Spark reuses its Python processes: what one has read for a micro-batch serves the next."""


class Head(NamedTuple):
    """What is known of a log: its segments, the oldest first, and when to look at it again."""

    segments: tuple[int, ...] = ()
    wake_at: int = NEVER


class Logs:
    """The logs of the shard that Spark is looking at: `shapes` are what they hold, by their names."""

    def __init__(self, handle: StatefulProcessorHandle, settings: str, shapes: Mapping[str, Any]) -> None:
        self.state = SparkState(handle, settings)
        self._shapes = shapes
        self._old: dict[str, Head] = {}

    def read(self) -> dict[str, Kept]:
        self._old = {name: Head(tuple(segments), wake_at) for name, (segments, wake_at) in self.state.head().items()}
        return {name: self._kept(name) for name in self._shapes}

    def _kept(self, name: str) -> Kept:
        numbers = self._old.get(name, Head()).segments
        return Kept(self._shapes[name], [self._segment(name, number) for number in numbers])

    def _segment(self, name: str, number: int) -> Segment:
        segment = _cache.get(number)
        if segment is None:
            segment = Segment.from_bytes(self._shapes[name], self.state.segment(number), number)
            _cache.add(segment)
        return segment

    def save(self, logs: Mapping[str, Kept]) -> None:
        new = {name: _head(kept) for name, kept in logs.items()}
        if new == self._old:
            return
        gone = _numbers(self._old) - _numbers(new)
        for number in gone:
            _cache.drop(number)
        for kept in logs.values():
            for segment in kept.segments:
                _cache.add(segment)
        self.state.save(new, gone, {number: data for kept in logs.values() for number, data in kept.added.items()})
        self.state.wake(_wake_at(self._old), _wake_at(new))
        self._old = new


def _head(kept: Kept) -> Head:
    due = kept.next_due
    return Head(tuple(segment.number for segment in kept.segments), NEVER if due == NEVER else due + 1)


def _numbers(heads: Mapping[str, Head]) -> set[int]:
    return {number for head in heads.values() for number in head.segments}


def _wake_at(heads: Mapping[str, Head]) -> int:
    return min((head.wake_at for head in heads.values()), default=NEVER)
