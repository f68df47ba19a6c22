"""A shard: all that is kept of the keys of one hash class, rule by rule, moved on by events and by the watermark."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from ....errors import ConfigError
from ...kernel import NEVER
from ...schema import AT, OUTCOME_TIMES, OUTCOMES, SPARK_TIME
from .decide import decide
from .groups import Keys, different_keys, known_of, together
from .remove import ended_by_removal
from .ruleset import Removed, Ruleset
from .segment import Kept, Segment
from .shape import PENDING, Shape, nothing


class Head(NamedTuple):
    """What a shard knows of a rule: its segments, the oldest first, how many operations are open, and when to wake it:
    once the watermark has reached that time (NEVER if nothing is kept that time could change)."""

    segments: tuple[int, ...] = ()
    pending: int = 0
    wake_at: int = NEVER


Heads = dict[str, Head]
"""By the id of a rule's shape: those of which something is kept."""


def heads_of(saved: Mapping[str, Any]) -> Heads:
    """Heads that were saved as JSON."""
    return {rule: Head(tuple(segments), pending, wake_at) for rule, (segments, pending, wake_at) in saved.items()}


class Store(Protocol):
    """Where a shard's state lies."""

    def heads(self) -> Heads: ...

    def segment(self, number: int) -> bytes: ...

    def save(self, old: Heads, new: Heads, added: dict[int, bytes]) -> None:
        """Replace the heads, keep the segments that they name and forget the others."""


class ShardResult(NamedTuple):
    """What a step of a shard gives: outcomes, and how many events came too late."""

    outcomes: pa.Table
    late: int
    opened: int
    """How many operations were opened."""


class Cache:
    """Segments that have been read, up to a limit in bytes: those used last."""

    def __init__(self, limit: int = 512 * 2**20) -> None:
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
            self._size += segment.nbytes
            while self._size > self._limit:
                _, oldest = self._segments.popitem(last=False)
                self._size -= oldest.nbytes

    def drop(self, number: int) -> None:
        segment = self._segments.pop(number, None)
        self._size -= 0 if segment is None else segment.nbytes


def advance(rules: Ruleset, store: Store, cache: Cache, fresh: Sequence[pa.RecordBatch], watermark: int) -> ShardResult:
    """Take events, and tell what has ended by the watermark, under each of the rules."""
    events = pa.concat_batches(fresh) if fresh else nothing(rules.whole.fresh)
    late = is_late(events, watermark)
    events = events.filter(pc.invert(late))
    old = store.heads()
    steps = [_removed(_known(rules, rule), store, cache, old[rule]) for rule in sorted(old.keys() - rules.parts.keys())]
    heads: Heads = {}
    all_keys = functools.cache(lambda: different_keys(events))
    for rule, part in rules.parts.items():
        own = part.events(events)
        keys = all_keys if own.num_rows == events.num_rows else functools.partial(different_keys, own)
        step = _advanced(part.shape, store, cache, old.get(rule, Head()), own, keys, watermark)
        if step.head != Head():
            heads[rule] = step.head
        steps.append(step)
    _save(store, cache, old, heads, [step.kept for step in steps if step.kept is not None])
    outcomes = [step.outcomes for step in steps if step.outcomes is not None]
    return ShardResult(
        pa.concat_tables(outcomes) if outcomes else _NO_OUTCOMES,
        late.true_count,
        sum(step.opened for step in steps),
    )


_NO_OUTCOMES = pa.schema(
    [field.with_type(SPARK_TIME) if field.name in OUTCOME_TIMES else field for field in OUTCOMES]
).empty_table()


class _Step(NamedTuple):
    """What a step gives under one rule. `kept` is None if nothing has changed."""

    head: Head
    kept: Kept | None = None
    outcomes: pa.Table | None = None
    opened: int = 0


def _advanced(
    shape: Shape,
    store: Store,
    cache: Cache,
    head: Head,
    events: pa.RecordBatch,
    keys_of: Callable[[], Keys],
    watermark: int,
) -> _Step:
    if not events.num_rows and watermark < head.wake_at:
        return _Step(head)
    kept = Kept(shape, [_read(shape, store, cache, number) for number in head.segments])
    keys = keys_of()
    found = kept.find(keys, watermark)
    step = decide(together(shape, found.kept, events, keys, found.place), watermark)
    if step.kept.num_rows:
        kept = kept.replace(found.taken, step.kept)
    change = pc.sum(step.kept[PENDING]).as_py() or 0
    change -= pc.sum(found.kept[PENDING]).as_py() or 0
    due = kept.next_due
    numbers = tuple(segment.number for segment in kept.segments)
    new = Head(numbers, head.pending + change, NEVER if due == NEVER else due + 1)
    return _Step(new, kept, step.outcomes, change + step.outcomes.num_rows)


def _known(rules: Ruleset, rule: str) -> Removed:
    if rule not in rules.gone:
        raise ConfigError(
            "the checkpoint was written under other rules; go on with those, change them with stream.write or "
            "sojourn stream, or start with a new checkpoint"
        )
    return rules.gone[rule]


def _removed(rule: Removed, store: Store, cache: Cache, head: Head) -> _Step:
    """The end of a rule: nothing is kept of it any more."""
    if not rule.is_told:
        return _Step(Head())
    kept = Kept(rule.shape, [_read(rule.shape, store, cache, number) for number in head.segments])
    parts = [ended_by_removal(known_of(rule.shape, rows), rule.at) for rows in kept.valid_rows()]
    return _Step(Head(), outcomes=pa.concat_tables(parts) if parts else None)


def is_late(events: pa.RecordBatch, watermark: int) -> pa.Array:
    return pc.less(events[AT], watermark)


def _read(shape: Shape, store: Store, cache: Cache, number: int) -> Segment:
    segment = cache.get(number)
    if segment is None:
        segment = Segment.from_bytes(shape, store.segment(number), number)
        cache.add(segment)
    return segment


def _save(store: Store, cache: Cache, old: Heads, new: Heads, changed: Sequence[Kept]) -> None:
    if new != old:
        store.save(old, new, {number: data for kept in changed for number, data in kept.added.items()})
        for number in numbers_of(old) - numbers_of(new):
            cache.drop(number)
        for kept in changed:
            for segment in kept.segments:
                cache.add(segment)


def numbers_of(heads: Heads) -> set[int]:
    return {number for head in heads.values() for number in head.segments}
