"""Rows as bytes: what comes back is what was written, with nulls, from the midst of a table, and from none."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from sojourn.pipeline.stream.shard.compact import from_bytes, to_bytes

ROW = pa.struct([("kind", pa.int16()), ("at", pa.int64()), ("source", pa.string()), ("amount", pa.decimal128(20, 2))])
SCHEMA = pa.schema(
    [
        ("hash", pa.int64()),
        ("key", pa.string()),
        ("pending", pa.int32()),
        ("is_done", pa.bool_()),
        ("share", pa.float64()),
        ("events", pa.list_(ROW)),
        ("marks", pa.list_(pa.int64())),
    ]
)
TEXTS = ["", "a", "ä", "zwölf", "x" * 300]
NUMBERS = [0, 1, -1, 2**31, -(2**31), 2**32, 2**63 - 1, -(2**63), 1_700_000_000_000]


def random_rows(random: Random, count: int) -> pa.RecordBatch:
    def some(choice: Callable[[], Any]) -> Any:
        return choice() if random.random() < 0.8 else None

    def event() -> dict[str, Any]:
        return {
            "kind": some(lambda: random.randrange(-5, 5)),
            "at": some(lambda: random.choice(NUMBERS)),
            "source": some(lambda: random.choice(TEXTS)),
            "amount": some(lambda: random.randrange(-99, 99)),
        }

    def row() -> dict[str, Any]:
        return {
            "hash": random.choice(NUMBERS),
            "key": some(lambda: random.choice(TEXTS)),
            "pending": some(lambda: random.randrange(9)),
            "is_done": some(lambda: random.random() < 0.5),
            "share": some(random.random),
            "events": [event() for _ in range(random.randrange(4))],
            "marks": [some(lambda: random.choice(NUMBERS)) for _ in range(random.randrange(4))],
        }

    return pa.RecordBatch.from_pylist([row() for _ in range(count)], SCHEMA)


@pytest.mark.parametrize("seed", range(100))
def test_what_comes_back_is_what_was_written(seed: int) -> None:
    random = Random(seed)
    written = []
    for _ in range(2):
        rows = random_rows(random, random.choice([0, 1, 2, 20]))
        start = random.randrange(rows.num_rows + 1)
        written.append(rows.slice(start, random.randrange(rows.num_rows - start + 1)))
    back = from_bytes(to_bytes(*written), SCHEMA, SCHEMA)
    for rows in back:
        rows.validate(full=True)
    assert [rows.to_pylist() for rows in back] == [rows.to_pylist() for rows in written]
    assert [rows.schema for rows in back] == [SCHEMA, SCHEMA]


def test_equal_rows_give_equal_bytes_wherever_they_lie() -> None:
    """A segment is named by its bytes: a step that is repeated must give the same."""
    rows = random_rows(Random(7), 40)
    alone = rows.slice(10, 20).take(pa.array(range(20)))
    assert to_bytes(rows.slice(10, 20)) == to_bytes(alone)


def test_times_and_texts_of_one_length_take_little_more_than_what_differs() -> None:
    count = 10_000
    rows = pa.record_batch(
        {
            "at": pa.array([1_700_000_000_000 + n * 7919 % 10**9 for n in range(count)]),
            "key": pa.array([f"{n * 48271 % 2**31:010}" for n in range(count)]),
        }
    )
    assert len(to_bytes(rows)) < count * (4 + 10) * 1.02
