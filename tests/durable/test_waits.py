"""Waits that were read from the log are made when somebody looks at them, as they would have been at once."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import sojourn as sj
from sojourn import Rule
from sojourn.durable.index.index import Index
from sojourn.durable.index.rows import row_in, wait_row
from sojourn.durable.log import records as r
from sojourn.durable.log.files import DiskFiles
from sojourn.durable.recovery.recovery import recover
from sojourn.durable.state.due import Due
from sojourn.durable.state.state import State

KEYS = ["a", ["b", "c"], "a", "d"]
IDS = [None, "second", "third", None]
PAYLOADS = [None, {"n": 2}, None, [4]]


@pytest.fixture
def state() -> State:
    state = State()
    state.apply(r.RULE, [1, 1, Rule("wait", "wait", "paid", 0).to_toml(), False])
    state.apply(r.WAIT, [1, 1, 1, 50, KEYS, IDS, list(PAYLOADS)])
    state.check()
    return state


def test_what_nobody_has_asked_for_is_not_made(state: State) -> None:
    assert (state.pending, len(state.waits), state.waits.made()) == (4, 4, {})
    assert state.find("#4") is state.waits[4]
    assert list(state.waits.made()) == [4]
    state.check()


def test_each_is_found_by_its_key_its_id_and_its_number_and_is_one_object(state: State) -> None:
    first, third = state.watching("a")
    assert (first.seq, third.seq, third.id) == (1, 3, "third")
    assert state.of_id("third") is third is state.get(3)
    (second,) = state.watching("c")
    assert second is state.of_id("second") is state.get(2)
    assert (second.keys, second.payload, second.given_id) == (("b", "c"), {"n": 2}, "second")
    state.check()


def test_one_that_nobody_has_looked_at_is_found_by_its_id(state: State) -> None:
    assert (wait := state.of_id("second")) is not None
    assert (wait.seq, list(state.waits.made())) == (2, [2])
    assert state.of_id("fourth") is None


def test_a_payload_is_kept_once(state: State) -> None:
    opened = state.waits.stored(4)
    assert (wait := state.get(4)) is not None
    assert (wait.payload, opened.payloads) == ([4], [None, {"n": 2}, None, None])
    state.check()


def test_its_row_is_the_same_made_or_not(state: State) -> None:
    before = [row_in(state.waits, seq) for seq in state.waits]
    assert r.json_text(before) == r.json_text([wait_row(wait) for wait in state.waits.values()])
    assert len(state.waits.made()) == 4


def test_a_signal_makes_and_ends_those_that_it_reaches_and_no_others(state: State) -> None:
    assert state.apply(r.SIGNAL, [2, "paid", ["c", "a"], None, None, None, None]) == 3
    assert [wait.seq for wait in state.fresh] == [2, 1, 3]
    assert (state.pending, state.waits.made()) == (1, {})
    state.check()


def test_an_id_is_known_after_the_end_of_a_wait_that_was_read(state: State) -> None:
    state.apply(r.SIGNAL, [2, "paid", ["a"], None, None, None, None])
    assert (wait := state.of_id("third")) is not None
    assert (wait._ending, wait.payload) == ("completed", None)
    state.check()


def test_only_those_that_match_are_made_to_be_cancelled(state: State) -> None:
    assert [wait.seq for wait in state.matching("wait", "b")] == [2]
    assert list(state.waits.made()) == [2]
    assert state.apply(r.CANCEL_WHERE, [2, None, "a"]) == 2
    state.check()


def test_they_expire_in_the_order_of_opening(state: State) -> None:
    assert [wait.seq for wait in state.expire(52, 3)] == [1, 2, 3]
    assert [wait.seq for wait in state.expire(52, 3)] == [4]


def test_a_signal_that_is_said_twice_in_one_call_ends_a_wait_once(state: State) -> None:
    assert state.apply(r.SIGNAL, [2, "paid", ["d", "d"], None, None, None, None]) == 1
    state.check()


def test_the_first_of_a_crowd_are_found_again_and_again() -> None:
    due = Due()
    due.add_all(5, list(range(1, 1_001)))
    found: list[int] = []
    while due.first() is not None:
        found += (some := due.at(5, 7))
        for seq in some:
            due.remove(5, seq)
    assert found == list(range(1, 1_001))


def test_who_comes_back_to_a_crowd_has_its_old_place() -> None:
    due = Due()
    due.add_all(5, [1, 2, 3, 4])
    assert due.at(5, 2) == [1, 2]
    due.remove(5, 1)
    assert due.at(5, 2) == [2, 3]
    due.add(5, 1)
    assert due.at(5, 2) == [1, 2]


def test_a_crowd_at_the_instant_of_an_earlier_one_is_another() -> None:
    due = Due()
    due.add_all(5, [2, 3])
    assert due.at(5, 1) == [2]
    for seq in (2, 3):
        due.remove(5, seq)
    due.add(5, 3)
    due.add(5, 1)
    assert due.at(5, 1) == [1]


def test_a_start_brings_the_index_forward_only_when_memory_is_full(tmp_path: Path) -> None:
    with sj.Hub("full", data=tmp_path, segment_bytes=2**30) as hub:
        for batch in range(50):
            hub.wait_many([f"k-{batch}-{i}" for i in range(20)], "paid", "1 h")
    files = DiskFiles(tmp_path)
    with closing(Index("")) as index:
        roomy = recover(files, index=index, most=1_000).state
        assert (roomy.pending, len(roomy.waits), index.mark, roomy.waits.made()) == (1_000, 1_000, None, {})
    with closing(Index("")) as index:
        tight = recover(files, index=index, most=100).state
        assert (tight.pending, index.mark is not None, len(tight.waits) < 300) == (1_000, True, True)
        assert tight.get(500) is not None
        tight.check()
