"""Waits can be found: by id, by key, by rule, by deadline; waiting again with an id is the same wait, or is refused."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from hub.scene import Scene
from sojourn import IdTakenError, Rule, all_of, seen, total

REMEMBER_MS = 50


@pytest.fixture
def remembering(make_scene: Any) -> Scene:
    scene: Scene = make_scene(remember=REMEMBER_MS)
    return scene


def test_waiting_twice_with_the_same_id_is_the_same_wait(scene: Scene) -> None:
    wait = scene.wait(id="x")
    assert scene.wait("k", seen("paid"), "100ms", id="x") is wait
    assert scene.wait(["k"], "paid", 100, id="x") is wait
    assert (scene.counts()[0], scene.watched(), wait.deadline) == (1, 1, 100)
    scene.signal("k", "paid")
    assert scene.told == [("x", "completed", 0)] * 3


SAME: dict[str, Any] = {"key": ["k", "l"], "until": "paid", "within": "2 h", "id": "x"}
OTHER = {
    "key": {"key": "k"},
    "order of keys": {"key": ["l", "k"]},
    "until": {"until": "packed"},
    "within": {"within": "1 h"},
    "rule": {"rule": Rule("fines", "fine", "paid", "2 h"), "until": None, "within": None},
}


@pytest.mark.parametrize("options", [{}, {"remember": "1 h"}], ids=["forgetful", "remembering"])
@pytest.mark.parametrize("other", OTHER.values(), ids=OTHER)
def test_another_wait_under_a_taken_id_is_refused(make_scene: Any, options: Any, other: dict[str, Any]) -> None:
    scene = make_scene(**options)
    wait = scene.wait(**SAME)
    with pytest.raises(IdTakenError, match="'x' belongs to another wait: on 'k' and 'l', by rule 'wait', within 2 h"):
        scene.wait(**SAME | other)
    assert scene.wait(**SAME) is wait
    assert (scene.counts()[0], len(scene.hub.list())) == (1, 1)
    scene.signal("k", "paid")
    assert scene.told == [("x", "completed", 0)] * 2, "who was refused is not told"


def test_a_rule_is_the_same_if_it_says_the_same(scene: Scene) -> None:
    fines = Rule("fines", "fine", "paid", "2 h")
    wait = scene.wait(rule=fines, id="x")
    assert scene.wait(rule=Rule("fines", "fine", seen("paid"), "120 min"), id="x") is wait


def test_another_rule_of_the_same_name_is_another_wait(scene: Scene) -> None:
    scene.wait(rule=Rule("fines", "fine", "paid", "2 h"), id="x")
    with pytest.raises(IdTakenError, match="by rule 'fines', within 2 h"):
        scene.wait(rule=Rule("fines", "fine", "paid", "2 h", cancels="appeal"), id="x")


def test_many_waits_with_ids_are_the_same_again_or_refused(scene: Scene) -> None:
    waits = scene.hub.wait_many(["k", "l"], "paid", 100, ids=["x", "y"])
    assert scene.hub.wait_many(["k", "l"], "paid", 100, ids=["x", "y"]) == waits
    with pytest.raises(IdTakenError, match="'x' belongs to another wait"):
        scene.hub.wait_many(["l", "k"], "paid", 100, ids=["x", "y"])
    assert scene.counts()[0] == 2


def test_a_text_is_not_taken_for_the_keys_of_many_waits(scene: Scene) -> None:
    with pytest.raises(ValueError, match=r"keys='abc' is one text; give a list of keys, as in \['abc'\], or call wait"):
        scene.hub.wait_many("abc", "paid", 100)
    assert scene.counts()[0] == 0


def test_without_an_id_every_wait_is_its_own(scene: Scene) -> None:
    waits = [scene.wait() for _ in range(3)]
    assert len({wait.id for wait in waits}) == 3
    assert [scene.hub.get(wait.id) for wait in waits] == waits


@pytest.mark.parametrize("id", ["x", 0, ("x", 1), b"", 2.5, False], ids=repr)
def test_anything_hashable_is_an_id(scene: Scene, id: Any) -> None:
    wait = scene.wait(id=id)
    assert (wait.id, scene.wait(id=id), scene.hub.get(id)) == (id, wait, wait)


def test_an_id_is_free_again_once_its_wait_has_ended(scene: Scene) -> None:
    first = scene.wait(id="x")
    scene.signal("k", "paid")
    second = scene.wait(id="x")
    assert second is not first
    assert (first.done(), second.done(), scene.hub.get("x")) == (True, False, second)


def test_a_callback_may_wait_again_with_the_id_of_the_wait_that_ended(scene: Scene) -> None:
    again: list[Any] = []
    first = scene.wait(id="x", callback=lambda wait: again.append(scene.hub.wait("k", "paid", 100, id="x")))
    scene.signal("k", "paid")
    assert (again[0] is first, again[0].done(), scene.hub.get("x")) == (False, False, again[0])


def test_an_id_that_cannot_be_compared_any_more_keeps_nobody_from_being_told(scene: Scene) -> None:
    class Id:
        is_broken = False

        def __hash__(self) -> int:
            return {}["broken"] if self.is_broken else 7

    wait = scene.wait(id=(id := Id()))
    id.is_broken = True
    assert scene.hub.signal("k", "paid") == 1
    assert (scene.told, scene.errors, len(scene.hub._waits._ids)) == ([(wait.id, "completed", 0)], [], 0)


def test_ids_leave_nothing_behind(make_scene: Any) -> None:
    for scene in (make_scene(), make_scene(remember=REMEMBER_MS)):
        for i in range(200):
            scene.hub.wait(i, "paid", 100, id=i)
            scene.hub.signal(i, "paid")
            scene.clock.advance(1)
        assert len(scene.hub._waits._ids) == (0 if scene.hub._waits._memory is None else REMEMBER_MS + 1)


@pytest.mark.parametrize("end", ["completed", "expired", "cancelled"])
def test_a_hub_that_remembers_knows_an_id_for_a_while_after_the_end(remembering: Scene, end: str) -> None:
    scene = remembering
    wait = scene.wait(id="x", within=9)
    if end == "completed":
        scene.signal("k", "paid")
    elif end == "expired":
        scene.advance(10)
    else:
        scene.hub.cancel("x")
    assert scene.wait(id="x", within=9) is scene.hub.get("x") is wait
    scene.advance(REMEMBER_MS - 1)
    assert scene.wait(id="x", within=9) is wait
    assert scene.told[-1] == ("x", end, wait.at)
    assert scene.hub.explain("x") == wait.explain()
    scene.advance(2)
    again = scene.wait(id="x")
    assert (again is wait, again.done()) == (False, False)


def test_ids_that_have_ended_are_forgotten_in_turn_and_the_pending_ones_are_not(remembering: Scene) -> None:
    scene = remembering
    for i in range(5):
        scene.wait(i, id=i, within=1_000)
    for i in range(4):
        scene.signal(i, "paid")
        scene.advance(20)
    known = [i for i in range(5) if scene.hub.get(i) is not None]
    assert known == [2, 3, 4]


def test_a_new_wait_outlives_the_memory_of_the_old_one_of_its_id(remembering: Scene) -> None:
    scene = remembering
    scene.wait("k", id="x")
    scene.signal("k", "paid")
    scene.advance(REMEMBER_MS + 1)
    second = scene.wait("l", id="x", within=1_000)
    scene.advance(REMEMBER_MS + 1)
    scene.wait("m", id="another")
    scene.signal("m", "paid")
    assert scene.wait("l", id="x", within=1_000) is scene.hub.get("x") is second


def test_getting_what_is_not_there_gives_none(scene: Scene) -> None:
    wait = scene.wait()
    scene.signal("k", "paid")
    assert (scene.hub.get("unknown"), scene.hub.get(wait.id)) == (None, None)
    assert scene.hub.get(wait) is wait
    assert scene.hub.explain("unknown") == "there is no wait 'unknown', or no longer"
    assert (scene.hub.cancel("unknown"), scene.hub.extend("unknown", 5)) == (False, False)


@pytest.fixture
def listed(scene: Scene) -> Scene:
    """Four waits, the soonest last, and one that has ended."""
    fines = Rule("fines", "fine", all_of("paid", "booked"), 30)
    scene.wait("k", within=40, id="a")
    scene.wait(["k", "l"], rule=fines, id="b")
    scene.wait("l", within=20, id="c")
    scene.wait("k", rule=Rule("beats", "start", within=10, keeps_alive="beat"), id="d")
    scene.wait("m", within=5, id="ended")
    scene.signal("m", "paid")
    return scene


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, "dcba"),
        ({"key": "k"}, "dba"),
        ({"key": "l"}, "cb"),
        ({"key": "m"}, ""),
        ({"key": "unknown"}, ""),
        ({"rule": "wait"}, "ca"),
        ({"rule": "fines"}, "b"),
        ({"rule": "unknown"}, ""),
        ({"due_before": 30}, "dc"),
        ({"due_before": 31}, "dcb"),
        ({"key": "k", "rule": "fines", "due_before": 31}, "b"),
        ({"key": "l", "rule": "wait", "due_before": 20}, ""),
    ],
    ids=str,
)
def test_pending_waits_are_listed_the_soonest_first(listed: Scene, asked: dict[str, Any], found: str) -> None:
    assert "".join(wait.id for wait in listed.hub.list(**asked)) == found


def test_extending_moves_a_wait_in_the_list(listed: Scene) -> None:
    listed.hub.extend("d", 35)
    assert "".join(wait.id for wait in listed.hub.list()) == "cbda"


def test_the_name_of_a_waits_rule_is_its_rule(listed: Scene) -> None:
    assert [(wait.id, wait.rule) for wait in listed.hub.list("k")] == [("d", "beats"), ("b", "fines"), ("a", "wait")]


def test_a_pending_wait_explains_what_it_waits_for(scene: Scene) -> None:
    wait = scene.wait(
        until=all_of("paid", seen("ack", 3, "source"), total("sent", at_least=10)), within="1 min", id="x"
    )
    assert scene.hub.explain("x") == "pending, 1 min left: missing paid and 3 of 3 ack and 10 of 10 value in sent"
    scene.advance(500)
    scene.signal("k", "ack", "one")
    scene.signal("k", "paid")
    scene.signal("k", "sent", value=4)
    assert wait.explain() == "pending, 59s500ms left: missing 2 of 3 ack and 6 of 10 value in sent"
    scene.advance(60_000)
    expired = "expired at 1970-01-01 00:01:00 UTC after 1 min: seen paid; seen 1 of 3 acks (one), missing 2; "
    assert wait.explain() == expired + "seen 4 of 10 value in sent, missing 6"


def test_a_wait_for_a_single_signal_explains_itself_too(scene: Scene) -> None:
    wait = scene.wait(within="1 s")
    assert wait.explain() == "pending, 1 s left: missing paid"
    scene.advance(1_001)
    assert wait.explain() == "expired at 1970-01-01 00:00:01 UTC after 1 s: no paid"


def test_a_hub_and_a_wait_show_what_they_are(scene: Scene) -> None:
    wait = scene.wait(["k", "l"])
    assert repr(wait).startswith("<Wait pending ")
    assert "('k', 'l')" in repr(wait)
    assert repr(scene.hub) == "<Hub 'scene' open, 1 pending>"
    scene.hub.close()
    assert repr(scene.hub) == "<Hub 'scene' closed, 0 pending>"


def test_an_id_that_is_forgotten_keeps_nothing_of_its_wait_alive(scene: Scene) -> None:
    """At once, without the garbage collector, which does not look at waits."""

    class Key:
        pass

    key = Key()
    kept = weakref.ref(key)
    scene.hub.wait(key, "paid", 100, id="x")
    scene.hub.signal(key, "paid")
    del key
    assert kept() is None


@pytest.mark.parametrize("options", [{}, {"remember": 60}], ids=["plain", "remembering"])
@pytest.mark.parametrize("is_over", [False, True], ids=["pending", "ended"])
@pytest.mark.parametrize("cancel_pending", [False, True])
def test_a_hub_that_is_closed_is_let_go_of_with_all_that_it_held(
    make_scene: Callable[..., Scene], options: dict[str, int], is_over: bool, cancel_pending: bool
) -> None:
    scene = make_scene(**options)
    scene.hub.wait("k", "paid", 100, id="x")
    scene.hub.wait(["k", "l"], "packed", 100, id="y")
    scene.hub.wait("k", "paid", 100)
    scene.hub.signal("k", "early")
    if is_over:
        scene.hub.signal("k", "paid")
    clock = weakref.ref(scene.clock)
    scene.hub.close(cancel_pending=cancel_pending)
    del scene
    gc.collect()
    assert clock() is None
