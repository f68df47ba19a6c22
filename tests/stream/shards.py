"""A shard without Spark: its store is a dict, its events come from logs of `Event`, cut and shuffled at will."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

import pyarrow as pa

from parity.tables import as_outcomes, as_table
from sojourn.pipeline.columns.normal import normal_form
from sojourn.pipeline.columns.numbers import number_type
from sojourn.pipeline.plan import Plan
from sojourn.pipeline.stream.pending import pending_of
from sojourn.pipeline.stream.segment import Kept, Segment
from sojourn.pipeline.stream.shape import HASH, Shape
from sojourn.pipeline.stream.shard import Cache, Head, ShardResult, advance
from sojourn.rules import Event, Outcome, Rule

NEVER_LATE = 10**9


def shape_of(rule: Rule, *, is_eager: bool = False, number: pa.DataType | None = None) -> Shape:
    plan = Plan.of(rule, "ms")
    return Shape(plan, {name: number_type(number or pa.float64()) for name in plan.numbers}, is_eager)


def poor_hash(key: str) -> int:
    """Different keys often share it."""
    return len(key)


def as_fresh(
    shape: Shape,
    log: Sequence[Event],
    hash_of: Callable[[str], int] = poor_hash,
    number: pa.DataType | None = None,
) -> pa.RecordBatch:
    normal = normal_form(as_table(log, number), shape.plan, shape.normal)
    columns = {HASH: pa.array([hash_of(event.key) for event in log], pa.int64())}
    columns |= dict(zip(normal.events.schema.names, normal.events.columns, strict=True))
    fresh = pa.RecordBatch.from_arrays([columns[name] for name in shape.fresh.names], schema=shape.fresh)
    return fresh.take(pa.array(normal.usable))


class DictStore:
    """A shard's state, all of it bytes and numbers."""

    def __init__(self) -> None:
        self.current = Head()
        self.segments: dict[int, bytes] = {}

    def head(self) -> Head:
        return self.current

    def segment(self, number: int) -> bytes:
        return self.segments[number]

    def save(self, old: Head, new: Head, added: dict[int, bytes]) -> None:
        assert old == self.current
        self.current = new
        self.segments = {number: data for number, data in (self.segments | added).items() if number in new.segments}
        assert set(self.segments) == set(new.segments)

    def copy(self) -> DictStore:
        other = DictStore()
        other.current, other.segments = self.current, dict(self.segments)
        return other


def micro_batches(log: Sequence[Event], late: int, random: Random) -> Iterator[tuple[list[Event], int]]:
    """A log as it may arrive, each event at most so much later than its time, cut anywhere: events, and watermark.

    The watermark of a micro-batch is so much behind the newest event of those before it, as Spark has it.
    """
    arriving = sorted(log, key=lambda event: event.at + random.uniform(0, late))
    watermark = -NEVER_LATE
    while arriving:
        count = random.choice([0, 1, 1, 2, 3, len(arriving) // 2])
        batch, arriving = arriving[:count], arriving[count:]
        yield batch, watermark
        watermark = max([watermark, *(event.at - late for event in batch)])
    yield [], watermark
    yield [], NEVER_LATE
    yield [], NEVER_LATE


class Run:
    """A shard that forgets its cache and fails and repeats steps now and then, and what it has told."""

    def __init__(self, shape: Shape, random: Random, number: pa.DataType | None = None) -> None:
        self.shape, self.store, self.cache = shape, DictStore(), Cache()
        self._number = number
        self.told: list[Outcome] = []
        self._random = random

    def step(self, batch: list[Event], watermark: int) -> ShardResult:
        fresh = [as_fresh(self.shape, part, number=self._number) for part in split(batch, self._random)]
        if self._random.random() < 0.2:
            advance(self.shape, self.store.copy(), self.cache, fresh, watermark)  # it is lost; the cache has seen it
        if self._random.random() < 0.2:
            self.cache = Cache()
        told = advance(self.shape, self.store, self.cache, fresh, watermark)
        self.told += as_outcomes(told.outcomes)
        return told

    def pending(self, as_of: int) -> list[Outcome]:
        """What the shard holds."""
        head = self.store.head()
        segments = [Segment.from_bytes(self.shape, self.store.segment(number), number) for number in head.segments]
        kept = Kept(self.shape, segments).valid_rows()
        return [outcome for rows in kept for outcome in as_outcomes(pending_of(self.shape, rows, as_of))]


def split(batch: list[Event], random: Random) -> list[list[Event]]:
    cut = random.randint(0, len(batch))
    return random.choice([[batch], [batch[:cut], batch[cut:]], [part for part in [batch] if part]])
