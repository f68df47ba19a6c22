"""An hour of event time at a steady rate: what is kept, and the log that it is kept in, stay as they are."""

from __future__ import annotations

import tracemalloc
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from sojourn.pipeline.stream.ruleset import Ruleset
from sojourn.pipeline.stream.shape import Shape
from sojourn.pipeline.stream.shard import Cache, advance
from sojourn.rules import Rule, all_of, seen, total
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
