"""A shard: all that is kept of the keys of one hash class, moved on by events and by the watermark."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from ..kernel import NEVER
from ..schema import AT
from .decide import decide
from .groups import different_keys, together
from .segment import Kept, Segment
from .shape import PENDING, Shape, nothing


class Head(NamedTuple):
    """What a shard knows of itself: its segments, the oldest first, how many operations are open, and when to wake it:
    once the watermark has reached that time (NEVER if nothing is kept that time could change)."""

    segments: tuple[int, ...] = ()
    pending: int = 0
    wake_at: int = NEVER


class Store(Protocol):
    """Where a shard's state lies."""

    def head(self) -> Head: ...

    def segment(self, number: int) -> bytes: ...

    def save(self, old: Head, new: Head, added: dict[int, bytes]) -> None:
        """Replace the head, keep the segments that it names and forget the others."""


class ShardResult(NamedTuple):
    """What a step of a shard gives: outcomes, and how many events came too late."""

    outcomes: pa.Table
    late: int
    opened: int
    """How many operations were opened."""


class Cache:
    """Segments that have been read, up to a limit in bytes: those used last."""

    def __init__(self, limit: int = 256 * 2**20) -> None:
        self._limit = limit
        self._segments: OrderedDict[int, Segment] = OrderedDict()
        self._size = 0

    def get(self, number: int) -> Segment | None:
        if number in self._segments:
            self._segments.move_to_end(number)
        return self._segments.get(number)

    def add(self, segment: Segment) -> None:
        if segment.number not in self._segments:
            self._segments[segment.number] = segment
            self._size += segment.kept.nbytes
            while self._size > self._limit:
                _, oldest = self._segments.popitem(last=False)
                self._size -= oldest.kept.nbytes

    def drop(self, number: int) -> None:
        segment = self._segments.pop(number, None)
        self._size -= 0 if segment is None else segment.kept.nbytes


def advance(shape: Shape, store: Store, cache: Cache, fresh: Sequence[pa.RecordBatch], watermark: int) -> ShardResult:
    """Take events, and tell what has ended by the watermark."""
    events = pa.concat_batches(fresh) if fresh else nothing(shape.fresh)
    late = is_late(events, watermark)
    events = events.filter(pc.invert(late))
    head = store.head()
    kept = Kept(shape, [_read(shape, store, cache, number) for number in head.segments])
    keys = different_keys(events)
    found = kept.find(keys, watermark)
    step = decide(together(shape, found.kept, events, keys, found.place), watermark)
    if step.kept.num_rows:
        kept = kept.replace(found.taken, step.kept)
    change = pc.sum(step.kept[PENDING]).as_py() or 0
    change -= pc.sum(found.kept[PENDING]).as_py() or 0
    _save(store, cache, head, kept, head.pending + change)
    return ShardResult(step.outcomes, late.true_count, change + step.outcomes.num_rows)


def is_late(events: pa.RecordBatch, watermark: int) -> pa.Array:
    return pc.less(events[AT], watermark)


def _read(shape: Shape, store: Store, cache: Cache, number: int) -> Segment:
    segment = cache.get(number)
    if segment is None:
        segment = Segment.from_bytes(shape, store.segment(number), number)
        cache.add(segment)
    return segment


def _save(store: Store, cache: Cache, old: Head, kept: Kept, pending: int) -> None:
    numbers = tuple(segment.number for segment in kept.segments)
    due = kept.next_due
    new = Head(numbers, pending, NEVER if due == NEVER else due + 1)
    if new != old:
        store.save(old, new, {number: data.to_pybytes() for number, data in kept.added.items()})
        for number in set(old.segments) - set(numbers):
            cache.drop(number)
        for segment in kept.segments:
            cache.add(segment)
