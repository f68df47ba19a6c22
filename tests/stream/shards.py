"""A shard without Spark: its store is a dict, its events come from logs of `Event`, cut and shuffled at will."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from parity.tables import as_outcomes, as_table
from sojourn.pipeline.columns.normal import normal_form
from sojourn.pipeline.columns.numbers import number_type
from sojourn.pipeline.kernel import NEVER
from sojourn.pipeline.plan import Plan
from sojourn.pipeline.stream.checkpoint.pending import pending_of
from sojourn.pipeline.stream.shard.ruleset import Ruleset
from sojourn.pipeline.stream.shard.segment import Kept, Segment
from sojourn.pipeline.stream.shard.shape import HASH, Shape
from sojourn.pipeline.stream.shard.shard import Cache, Head, Heads, ShardResult, advance, numbers_of
from sojourn.rules import Event, Outcome, Rule

NEVER_LATE = 10**9


def shape_of(
    rules: Rule | Sequence[Rule],
    *,
    is_eager: bool = False,
    number: pa.DataType | None = None,
    remember_ms: int | None = None,
) -> Shape:
    plan = Plan.of(rules, "ms")
    return Shape(plan, {name: number_type(number or pa.float64()) for name in plan.numbers}, is_eager, remember_ms)


def poor_hash(key: str) -> int:
    """Different keys often share it."""
    return len(key)


def hashing(hash_of: Callable[[str], int] = poor_hash) -> Any:
    """While it is entered, what is read again has these hashes, as the events had that it was made of."""
    return patch(
        "sojourn.pipeline.stream.shard.stored.hashes",
        lambda keys: np.array([hash_of(key) for key in keys.to_pylist()], np.int64),
    )


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
        self.current: Heads = {}
        self.segments: dict[int, bytes] = {}

    def heads(self) -> Heads:
        return self.current

    @property
    def pending(self) -> int:
        return sum(head.pending for head in self.current.values())

    @property
    def wake_at(self) -> int:
        return min((head.wake_at for head in self.current.values()), default=NEVER)

    def segment(self, number: int) -> bytes:
        return self.segments[number]

    def save(self, old: Heads, new: Heads, added: dict[int, bytes]) -> None:
        assert old == self.current
        self.current = new
        self.segments = {number: data for number, data in (self.segments | added).items() if number in numbers_of(new)}
        assert set(self.segments) == numbers_of(new)

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
        self.rules, self.store, self.cache = Ruleset(shape), DictStore(), Cache()
        self._number = number
        self.told: list[Outcome] = []
        self._random = random

    def step(self, batch: list[Event], watermark: int) -> ShardResult:
        fresh = [as_fresh(self.rules.whole, part, number=self._number) for part in split(batch, self._random)]
        with hashing():
            if self._random.random() < 0.2:
                lost = self.store.copy()
                advance(self.rules, lost, self.cache, fresh, watermark)  # the cache has seen it
            if self._random.random() < 0.2:
                self.cache = Cache()
            told = advance(self.rules, self.store, self.cache, fresh, watermark)
        self.told += as_outcomes(told.outcomes)
        return told

    def pending(self, as_of: int) -> list[Outcome]:
        """What the shard holds."""
        return [
            outcome
            for rule, head in self.store.heads().items()
            for rows in self._kept(self.rules.parts[rule].shape, head).valid_rows()
            for outcome in as_outcomes(pending_of(self.rules.parts[rule].shape, rows, as_of))
        ]

    def kept(self) -> list[pa.RecordBatch]:
        """What is kept of keys, under all rules."""
        heads = self.store.heads().items()
        return [rows for rule, head in heads for rows in self._kept(self.rules.parts[rule].shape, head).valid_rows()]

    def _kept(self, shape: Shape, head: Head) -> Kept:
        with hashing():
            read = [Segment.from_bytes(shape, self.store.segment(number), number) for number in head.segments]
        return Kept(shape, read)


def split(batch: list[Event], random: Random) -> list[list[Event]]:
    cut = random.randint(0, len(batch))
    return random.choice([[batch], [batch[:cut], batch[cut:]], [part for part in [batch] if part]])
