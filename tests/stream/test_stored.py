"""What is kept of keys, as bytes: what is not written comes back, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sojourn.pipeline.columns.texts import hashes
from sojourn.pipeline.kernel import NEVER
from sojourn.pipeline.stream.shard.shape import DUE, EVENTS, HASH, IS_DONE, KEY, OPERATIONS, PENDING
from sojourn.pipeline.stream.shard.stored import from_bytes, to_bytes
from sojourn.rules import Rule
from stream.shards import shape_of

KEPT = shape_of(Rule("r", "open", "paid", "1 h")).kept


def rows(*kept: dict[str, Any]) -> pa.RecordBatch:
    keys = pa.array([row[KEY] for row in kept], pa.string())
    hashed = hashes(keys).view(np.int64).tolist()
    filled = [{HASH: h, PENDING: 0, IS_DONE: False, OPERATIONS: []} | row for h, row in zip(hashed, kept, strict=True)]
    return pa.RecordBatch.from_pylist(filled, KEPT)


def seen(*times: int) -> list[dict[str, Any]]:
    return [{"kind": 0, "at": at, "is_spent": False} for at in times]


def test_hashes_and_times_come_back_wherever_rows_are_seen_and_due() -> None:
    kept = rows(
        {KEY: "early", DUE: 5, EVENTS: seen(7, 9)},
        {KEY: "never", DUE: NEVER, EVENTS: seen(-3)},
        {KEY: "nothing seen", DUE: 11, EVENTS: []},
        {KEY: "neither", DUE: NEVER, EVENTS: []},
        {KEY: "x" * 700, DUE: -NEVER, EVENTS: seen(NEVER)},
    )
    for part in (kept, kept.slice(1, 3), kept.slice(2, 0)):
        back, replaced = from_bytes(to_bytes(part, {}), KEPT)
        assert back.to_pylist() == part.to_pylist()
        assert not replaced


def test_what_was_replaced_comes_back() -> None:
    gone = {7: np.array([3, 1]), 9: np.array([0])}
    _, replaced = from_bytes(to_bytes(rows({KEY: "a", DUE: 1, EVENTS: []}), gone), KEPT)
    assert {number: places.tolist() for number, places in replaced.items()} == {7: [3, 1], 9: [0]}


def test_neither_hashes_nor_even_distances_take_room() -> None:
    """Two halves of a time would take eight bytes, a hash eight more."""
    count = 10_000
    times = [1_700_000_000_000 + n * 7919 % 10**9 for n in range(count)]
    kept = rows(*({KEY: f"{n:05}", DUE: at + 3_600_000, EVENTS: seen(at)} for n, at in enumerate(times)))
    assert len(to_bytes(kept, {})) < count * (5 + 4) * 1.1
