"""The log of segments against a dict."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pyarrow as pa
import pytest

from sojourn.pipeline.kernel import NEVER
from sojourn.pipeline.stream.shard.groups import Keys
from sojourn.pipeline.stream.shard.segment import Kept, Segment
from sojourn.pipeline.stream.shard.shape import DUE, EVENTS, HASH, IS_DONE, KEY, OPERATIONS, PENDING, nothing
from sojourn.rules import Rule
from stream.shards import hashing, shape_of

SHAPE = shape_of(Rule("r", "open", "paid", "1 h"))


def hash_of(key: str) -> int:
    """Every third key shares one."""
    return int(key) % 67 - 30


def rows(dues: dict[str, int | None]) -> pa.RecordBatch:
    """A row for each key, in the order of their hash; None says that nothing is kept."""
    ordered = sorted(dues, key=hash_of)
    return pa.RecordBatch.from_pylist(
        [
            {
                HASH: hash_of(key),
                KEY: key,
                DUE: NEVER if dues[key] is None else dues[key],
                PENDING: int(dues[key] is not None),
                IS_DONE: False,
                EVENTS: [],
                OPERATIONS: [],
            }
            for key in ordered
        ],
        SHAPE.kept,
    )


def asked(keys: list[str]) -> Keys:
    hashes = pa.array([hash_of(key) for key in keys], pa.int64()).to_numpy()
    return Keys(hashes, pa.array(keys, pa.string()), hashes[:0])


def dues_of(kept: pa.RecordBatch) -> dict[str, int]:
    """Without keys of which nothing is kept: whether that is said, or not, is all the same."""
    found = zip(kept[KEY].to_pylist(), kept[DUE].to_pylist(), strict=True)
    return {key: due for key, due in found if due != NEVER}


@pytest.mark.parametrize("seed", range(30))
def test_the_newest_word_on_a_key_counts_however_segments_were_merged(seed: int) -> None:
    random = Random(seed)
    model: dict[str, int | None] = {}
    kept, saved = Kept(SHAPE, []), {}
    for _ in range(40):
        keys = [str(key) for key in random.sample(range(200), random.choice([1, 2, 5, 30, 120]))]
        watermark = random.choice([0, 0, 3])
        found = kept.find(asked(keys), watermark)
        there = {key: due for key in keys if (due := model.get(key)) is not None}
        assert dues_of(found.kept) == there | {
            k: due for k, due in model.items() if due is not None and due < watermark
        }
        assert [dues_of(found.kept.slice(place, 1)) if place >= 0 else {} for place in found.place.tolist()] == [
            {key: model[key]} if key in there else {} for key in keys
        ]
        touched = {key: random.choice([None, *range(10)]) for key in {*keys, *dues_of(found.kept)}}
        model |= touched
        kept = kept.replace(found.taken, rows(touched))
        saved |= kept.added
        if random.random() < 0.3:  # read again by someone who has seen none of it
            numbers = [segment.number for segment in kept.segments]
            with hashing(hash_of):
                kept = Kept(SHAPE, [Segment.from_bytes(SHAPE, saved[number], number) for number in numbers])
        assert kept.next_due == min((due for due in model.values() if due is not None), default=NEVER)
        sizes = [segment.size for segment in kept.segments]
        assert all(older >= 2 * newer for older, newer in pairwise(sizes))
        assert set(kept.added) <= {segment.number for segment in kept.segments}


def test_when_nothing_is_kept_there_is_no_segment() -> None:
    kept = Kept(SHAPE, []).replace([], rows({"1": 5}))
    assert len(kept.segments) == 1
    found = kept.find(asked(["1"]), 0)
    assert not kept.replace(found.taken, rows({"1": None})).segments


def test_what_goes_key_by_key_leaves_few_segments_which_make_room() -> None:
    there: dict[str, int | None] = {str(key): 7 for key in range(100)}
    kept = Kept(SHAPE, []).replace([], rows(there))
    for key in list(there):
        del there[key]
        kept = kept.replace(kept.find(asked([key]), 0).taken, rows({key: None}))
        assert len(kept.segments) <= 8
        found = [dues_of(part) for part in kept.valid_rows()]
        assert {key: due for part in found for key, due in part.items()} == there
    assert sum(map(len, kept.segments)) < 10


def test_a_step_that_is_repeated_gives_the_same_number_and_other_steps_give_others() -> None:
    def numbers(*words: dict[str, int | None]) -> list[int]:
        kept = Kept(SHAPE, [])
        for word in words:
            kept = kept.replace(kept.find(asked(list(word)), 0).taken, rows(word))
        return [segment.number for segment in kept.segments]

    many: dict[str, int | None] = {str(key): 7 for key in range(100)}
    assert numbers(many, {"1": 2}) == numbers(many, {"1": 2})
    assert numbers(many, {"1": 2})[1] != numbers(many, {"1": 3})[1]
    assert numbers(many, {"1": 2})[1] != numbers(many | {"7": 0}, {"1": 2})[1]


def test_no_rows_at_all_are_found_in_no_segments() -> None:
    found = Kept(SHAPE, []).find(asked(["1"]), 5)
    assert found.kept == nothing(SHAPE.kept)
    assert found.place.tolist() == [-1]
