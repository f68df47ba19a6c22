"""Event time at a steady rate, an hour or a month: what is kept, and the log that it is kept in, stay as they are."""

from __future__ import annotations

import tracemalloc
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from sojourn.pipeline.stream.shard.ruleset import Ruleset
from sojourn.pipeline.stream.shard.shape import Shape
from sojourn.pipeline.stream.shard.shard import Cache, advance
from sojourn.rules import Rule, all_of, reached, seen, total
from stream.shards import DictStore, shape_of

SECOND_MS = 1_000
RULES = [
    Rule("r", "open", all_of("paid", total("part", at_least=10)), within="1 min", per="each", cancels="stop"),
    Rule("r", "open", seen("paid", times=3, distinct="source"), within="1 min", per="each"),
    Rule("r", "open", within="1 min", per="each", keeps_alive="beat"),
]


def a_second(shape: Shape, second: int, rows: int, random: np.random.Generator) -> pa.RecordBatch:
    """Events of keys that come and go: of one opened now, and of some opened within the last minute."""
    place = random.integers(0, len(shape.plan.kinds), rows)
    age = np.where(place == 0, 0, random.integers(0, 60, rows))
    key = (second - age) * rows + random.integers(0, rows, rows)
    columns = {
        "hash": pa.array(key % 1009),
        "key": pa.array(key.astype(str)),
        "kind": pa.array(place.astype(np.int16)),
        "at": pa.array(1_000_000 * SECOND_MS + second * SECOND_MS + random.integers(0, SECOND_MS, rows)),
        "source": pa.array(random.integers(0, 5, rows).astype(str)),
        "number_0": pa.array(random.integers(0, 5, rows).astype(float)),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in shape.fresh.names], schema=shape.fresh)


Sizes = NDArray[np.int64]


def soak(rule: Rule, seconds: int, rows: int) -> tuple[Sizes, Sizes]:
    """Bytes of state and of Python's memory, second by second."""
    shape, store, cache = shape_of(rule), DictStore(), Cache(limit=2**20)
    rules = Ruleset(shape)
    random = np.random.default_rng(Random(3).randrange(2**32))
    state, memory = np.zeros((2, seconds), np.int64)  # made beforehand: notes that grow would count as memory
    tracemalloc.start()
    for second in range(seconds):
        watermark = 1_000_000 * SECOND_MS + (second - 2) * SECOND_MS
        advance(rules, store, cache, [a_second(shape, second, rows, random)], watermark)
        state[second] = sum(map(len, store.segments.values()))
        memory[second] = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return state, memory


def is_flat(sizes: Sizes) -> bool:
    """The peak of the last third is hardly above that of the one before it."""
    third = len(sizes) // 3
    return bool(sizes[-third:].max() <= 1.1 * sizes[third : 2 * third].max())


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_five_minutes_leave_no_more_behind_than_three(rule: Rule) -> None:
    state, _ = soak(rule, 300, 30)
    assert is_flat(state)


@pytest.mark.stress
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_an_hour_leaves_no_more_behind_than_half_of_it(rule: Rule) -> None:
    state, memory = soak(rule, 3_600, 200)
    assert is_flat(state)
    assert is_flat(memory)


HOUR_MS = 3_600 * SECOND_MS
FORGETFUL = [
    Rule("r", "open", "paid", within="6 hours"),
    Rule("r", "open", reached("paid", at_least=3), within="6 hours", per="each"),
    Rule("r", "open", all_of("paid", reached("part", at_least=3, by=2)), within="6 hours", cancels="stop"),
]


def an_hour(shape: Shape, hour: int, rows: int, random: np.random.Generator) -> pa.RecordBatch:
    """Events of keys that were never seen before, and of some that were, within the last four hours."""
    key = (hour - random.integers(0, 4, rows)) * rows + random.integers(0, rows, rows)
    columns = {
        "hash": pa.array(key * 2654435761 % 2**61),
        "key": pa.array(key.astype(str)),
        "kind": pa.array(random.integers(0, len(shape.plan.kinds), rows).astype(np.int16)),
        "at": pa.array(hour * HOUR_MS + random.integers(0, HOUR_MS, rows)),
        "source": pa.array(random.integers(0, 5, rows).astype(str)),
        "number_0": pa.array(random.integers(0, 5, rows).astype(float)),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in shape.fresh.names], schema=shape.fresh)


def state_by_hour(rule: Rule, days: int, rows: int, remember_days: int | None) -> Sizes:
    remember_ms = None if remember_days is None else remember_days * 24 * HOUR_MS
    rules, store, cache = Ruleset(shape_of(rule, remember_ms=remember_ms)), DictStore(), Cache()
    random = np.random.default_rng(5)
    state = np.zeros(days * 24, np.int64)
    for hour in range(days * 24):
        advance(rules, store, cache, [an_hour(rules.whole, hour, rows, random)], (hour - 1) * HOUR_MS)
        state[hour] = sum(map(len, store.segments.values()))
    return state


@pytest.mark.parametrize("rule", FORGETFUL, ids=str)
def test_six_days_of_new_keys_leave_no_more_behind_than_four_if_one_day_is_remembered(rule: Rule) -> None:
    assert is_flat(state_by_hour(rule, 6, 100, remember_days=1))
    assert not is_flat(state_by_hour(rule, 6, 100, remember_days=None))


@pytest.mark.soak
@pytest.mark.parametrize("rule", FORGETFUL, ids=str)
def test_thirty_days_of_new_keys_leave_no_more_behind_than_twenty_if_three_days_are_remembered(rule: Rule) -> None:
    state = state_by_hour(rule, 30, 2_000, remember_days=3)
    assert is_flat(state)
    assert state[-24:].max() <= 1.1 * state[5 * 24 : 10 * 24].max()
