"""What runs on the executors: keys stay whole, however the batches are cut."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random

import pyarrow as pa
import pytest

from sojourn.pipeline.worker import whole_keys


def cut(keys: list[str], random: Random) -> Iterator[pa.RecordBatch]:
    """Sorted keys, cut into batches at random, some of them empty."""
    table = pa.table({"key": keys, "place": list(range(len(keys)))})
    cuts = sorted([0, len(keys), *random.choices(range(len(keys) + 1), k=random.randrange(8))])
    for start, end in pairwise(cuts):
        yield pa.record_batch(table.slice(start, end - start).to_pydict())


@pytest.mark.parametrize("seed", range(200))
def test_all_rows_of_a_key_come_together_and_no_row_is_lost(seed: int) -> None:
    random = Random(seed)
    keys = sorted(random.choices("abcde", k=random.randrange(40)))
    enough = random.randint(1, 20)
    tables = list(whole_keys(cut(keys, random), enough))
    assert [place for table in tables for place in table["place"].to_pylist()] == list(range(len(keys)))
    seen: set[str] = set()
    for table in tables:
        own = set(table["key"].to_pylist())
        assert not own & seen
        seen |= own
    assert all(table.num_rows >= enough for table in tables[:-1])


def test_rows_wait_for_no_more_than_is_enough() -> None:
    """Memory: whoever asks for the first table has not read all batches."""
    read: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for i in range(100):
            read.append(i)
            yield pa.record_batch({"key": [f"{i:03}"] * 10})

    next(whole_keys(batches(), enough=30))
    assert len(read) == 4


def test_a_key_that_fills_many_batches_comes_in_one_table() -> None:
    batches = [pa.record_batch({"key": ["hot"] * 1000}) for _ in range(50)]
    assert [table.num_rows for table in whole_keys(iter(batches), enough=10)] == [50_000]
