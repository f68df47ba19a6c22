"""What Spark keeps of a shard: bytes by number, and one timer.

Segments are kept under their numbers, and the head, which says what they are, under a number that no segment has: Java
sets up each variable of the state anew in every task, which takes milliseconds. Each call is a round trip to Java, so
there are few.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import types as T  # noqa: N812  (as everybody does)
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from ....errors import ConfigError
from ...kernel import NEVER
from .nearby import nearby

STATE = "segments"
"""The name of the variable."""

HEAD = -1
"""The number of the head."""

NUMBER, DATA = "number", "data"
_KEY = T.StructType([T.StructField(NUMBER, T.LongType())])
_VALUE = T.StructType([T.StructField(DATA, T.BinaryType())])
"""Types, not texts, as Python would have to ask Java what a text means."""

FIRST_TIMER = 1
"""Spark's watermark starts at the epoch, and a timer before that never fires."""


class SparkState:
    """That of the shard that Spark is looking at, written under `settings`; those of another stream are refused."""

    def __init__(self, handle: StatefulProcessorHandle, settings: str) -> None:
        self._handle = handle
        self._settings = settings
        self._map = handle.getMapState(STATE, _KEY, _VALUE)
        self._nearby = nearby()
        self.is_awake = False
        """Whether the timer has fired, and is gone."""

    def head(self) -> dict[str, Any]:
        """By name, as it was saved, with lists for tuples."""
        saved = self._map.getValue((HEAD,))
        if saved is None:
            return {}
        settings, head = read_head(bytes(saved[0]))
        if settings != self._settings:
            raise ConfigError(
                "the checkpoint was written with another unit, other shards, late, eager or remember, under other "
                "rules for operations from a stream, or by another version; go on with those, or start with a new "
                "checkpoint"
            )
        return head

    def segment(self, number: int) -> bytes:
        return self._nearby.or_saved(number, self._map)

    def save(self, head: Mapping[str, Any], gone: Iterable[int], added: Mapping[int, bytes]) -> None:
        for number in gone:
            self._map.removeKey((number,))
            self._nearby.drop(number)
        for number, data in added.items():
            self._map.updateValue((number,), (data,))
            self._nearby.put(number, data)
        self._map.updateValue((HEAD,), (json.dumps([self._settings, head]).encode(),))

    def wake(self, old: int, new: int) -> None:
        """Move the timer, so that the shard is woken once that time is over; NEVER if it need not be."""
        old, new = (NEVER if at == NEVER else max(at - 1, FIRST_TIMER) for at in (old, new))
        if new != old or self.is_awake:
            if old != NEVER and not self.is_awake:
                self._handle.deleteTimer(old)
            if new != NEVER:
                self._handle.registerTimer(new)


def read_head(data: bytes) -> tuple[str, dict[str, Any]]:
    """The settings under which a head was saved, and what it says."""
    settings, head = json.loads(data)
    return settings, head
