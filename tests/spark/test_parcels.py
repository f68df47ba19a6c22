"""Parcels: rows go to the shards of their texts, and come out as they went in."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sojourn.pipeline.columns.texts import hashes
from sojourn.pipeline.deal import shards_of
from sojourn.pipeline.spark import parcels
from sojourn.pipeline.spark.parcels import (
    EVENTS,
    OPERATIONS,
    UNUSABLE,
    Arrived,
    gathered,
    packed,
    shards_for_partitions,
)

ROWS = pa.schema([("key", pa.string()), ("place", pa.int64())])


def rows(keys: list[str]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(keys, pa.string()), pa.array(range(len(keys)), pa.int64())], schema=ROWS)


def test_equal_texts_have_equal_hashes_whatever_is_around_them() -> None:
    texts = ["", "a", "ab", "abcdefgh", "abcdefghi", "é" * 9, "x" * 512, "x" * 513, "x" * 5_000, "", "a"]
    found = hashes(pa.array(texts)).tolist()
    for i, text in enumerate(texts):
        assert hashes(pa.array([text])).tolist() == [found[i]]
        assert hashes(pa.array(["before", text, "after"], pa.large_string())).tolist()[1] == found[i]
    assert hashes(pa.array(texts).slice(3, 4)).tolist() == found[3:7]
    assert len(set(found)) == len(set(texts))
    assert hashes(pa.array([], pa.string())).tolist() == []


@pytest.mark.parametrize("pattern", ["{}", "{:012}", "case-{}", "{}-EU", "{0}" * 20, "p" * 60 + "{}" + "s" * 60])
def test_texts_that_differ_little_are_spread_evenly(pattern: str) -> None:
    texts = [pattern.format(i) for i in range(20_000)]
    assert len(set(hashes(pa.array(texts)).tolist())) == len(texts)
    counts = [shards_of(pa.array(texts), 64).tolist().count(shard) for shard in range(64)]
    assert sum(counts) == len(texts)
    assert min(counts) > 200
    assert max(counts) < 440


def test_all_rows_of_a_shard_come_out_together_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parcels, "ENOUGH_ROWS", 30)
    monkeypatch.setattr(parcels, "_SENT_AT_ONCE", 2_000)
    keys = [f"k{i % 37}" for i in range(400)]
    first, second = rows(keys[:250]), rows(keys[250:])
    sent = [
        *packed(first, shards_of(first["key"], 16), EVENTS),
        *packed(second, shards_of(second["key"], 16), OPERATIONS),
    ]
    assert len(sent) > 2
    found = list(Arrived(sent, ROWS, ROWS).parcels())
    assert len(found) > 1
    assert sorted(key for part in found for key in part.events["key"].to_pylist()) == sorted(keys[:250])
    assert sorted(key for part in found for key in part.operations["key"].to_pylist()) == sorted(keys[250:])
    seen: set[str] = set()
    for part in found:
        own = {*part.events["key"].to_pylist(), *part.operations["key"].to_pylist()}
        assert not own & seen
        seen |= own
    assert len({shard for part in found for shard in part.shards}) == sum(len(part.shards) for part in found)


def test_a_shard_with_many_rows_gets_them_in_several_parcels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parcels, "_PARCEL_BYTES", 1_000)
    hot = rows(["hot"] * 500)
    sent = list(packed(hot, shards_of(hot["key"], 16), EVENTS))
    sizes = [len(row[EVENTS]) for batch in sent for row in batch.to_pylist()]
    assert len(sizes) == 8
    assert max(sizes) < 2_000
    assert [part.events["place"].to_pylist() for part in Arrived(sent, ROWS).parcels()] == [list(range(500))]


def test_rows_that_were_set_aside_are_counted_even_if_no_row_is_left() -> None:
    nothing = rows([])
    sent = list(packed(nothing, shards_of(nothing["key"], 16), EVENTS, unusable=3))
    assert [row[UNUSABLE] for batch in sent for row in batch.to_pylist()] == [3]
    assert list(Arrived(sent, ROWS).parcels()) == []


def test_batches_are_gathered_until_there_is_enough_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parcels, "ROWS_AT_ONCE", 25)
    assert [batch.num_rows for batch in gathered(rows(["k"] * 10) for _ in range(7))] == [30, 30, 10]
    monkeypatch.setattr(parcels, "BYTES_AT_ONCE", 1_000)
    assert [batch.num_rows for batch in gathered(rows(["k" * 600]) for _ in range(3))] == [2, 1]
    assert list(gathered([])) == []


@pytest.mark.parametrize("partitions", [1, 2, 100, 200, 1_000, 20_000, 1_000_000])
def test_there_are_more_shards_than_partitions_up_to_a_limit(partitions: int) -> None:
    shards = shards_for_partitions(partitions)
    assert shards >= min(2 * partitions, 65_536)
    assert shards <= 65_536
    assert shards & (shards - 1) == 0
    assert set(shards_of(pa.array(map(str, range(50_000))), shards).tolist()) <= set(range(shards))
