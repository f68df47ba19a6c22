"""`extend` moves a deadline, either way; `cancel` ends a wait, and says who did."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from hub.scene import Scene
from sojourn import DelayError, Rule, RuleError, all_of, seen
from sojourn.rules import Waiting

UNTILS = {"one signal": "paid", "several": all_of("paid", seen("paid", 1))}


@pytest.fixture(params=UNTILS.values(), ids=UNTILS)
def until(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_extending_moves_the_deadline_to_so_long_from_now(scene: Scene, until: Any) -> None:
    wait = scene.wait(until=until, within=10, id="x")
    scene.advance(10)
    assert scene.hub.extend(wait, "20 ms")
    assert wait.deadline == 30
    scene.advance(20)
    assert not wait.done()
    scene.advance(1)
    assert (scene.told, wait.result(0).waited_ms, wait.result(0).deadline) == ([("x", "expired", 30)], 30, 30)


def test_a_signal_up_to_the_new_deadline_counts(scene: Scene, until: Any) -> None:
    wait = scene.wait(until=until, within=10)
    scene.advance(5)
    scene.hub.extend(wait, 20)
    scene.advance(20)
    assert scene.signal("k", "paid") == 1
    assert (wait.outcome, wait.at, wait.deadline) == ("completed", 25, 25)


def test_extending_to_less_makes_it_sooner(scene: Scene, until: Any) -> None:
    wait = scene.wait(until=until, within=100)
    scene.advance(10)
    assert scene.hub.extend(wait, 5)
    scene.advance(5)
    assert not wait.done()
    scene.advance(1)
    assert (wait.outcome, wait.at) == ("expired", 15)


def test_extending_to_nothing_leaves_this_very_instant(scene: Scene, until: Any) -> None:
    wait, other = scene.wait(until=until), scene.wait("l", until)
    scene.advance(7)
    assert scene.hub.extend(wait, 0)
    assert scene.hub.extend(other, 0)
    assert scene.signal("k", "paid") == 1
    scene.advance(1)
    assert (wait.outcome, wait.at, other.outcome, other.at) == ("completed", 7, "expired", 7)


def test_a_wait_is_extended_by_its_id_again_and_again(scene: Scene, until: Any) -> None:
    wait = scene.wait(until=until, within=10, id="x")
    for _ in range(10):
        scene.advance(9)
        assert scene.hub.extend("x", 10)
    scene.advance(10)
    assert not wait.done()
    scene.advance(1)
    assert wait.at == 100


@pytest.mark.parametrize("end", ["completed", "expired", "cancelled"])
def test_what_has_ended_is_not_extended(scene: Scene, until: Any, end: str) -> None:
    wait = scene.wait(until=until, within=10)
    if end == "cancelled":
        scene.hub.cancel(wait)
    elif end == "completed":
        scene.signal("k", "paid")
    else:
        scene.advance(11)
    outcome = wait.result(0)
    assert not scene.hub.extend(wait, 1_000)
    assert wait.result(0) == outcome
    assert (wait.outcome, wait.deadline) == (end, 10)
    assert scene.advance(2_000) == 0


@pytest.mark.parametrize("within", [-1, "soon", 1.5, None], ids=repr)
def test_extending_by_what_is_no_duration_is_an_error_and_changes_nothing(scene: Scene, within: Any) -> None:
    wait = scene.wait(within=10)
    with pytest.raises(RuleError):
        scene.hub.extend(wait, within)
    scene.advance(11)
    assert wait.at == 10


def test_extending_beyond_the_clock_is_an_error_and_changes_nothing(scene: Scene, until: Any) -> None:
    wait = scene.wait(until=until, within=10)
    with pytest.raises(DelayError):
        scene.hub.extend(wait, 2**62 - 1)
    assert wait.deadline == 10
    scene.advance(11)
    assert (wait.outcome, wait.at) == ("expired", 10)


def test_cancelling_ends_a_wait_at_once_and_says_who_did(scene: Scene, until: Any) -> None:
    wait = scene.wait(["k", "l"], until, id="x")
    scene.advance(3)
    assert scene.hub.cancel("x")
    assert (wait.outcome, wait.at, scene.told) == ("cancelled", 3, [("x", "cancelled", 3)])
    assert (scene.hub.cancel(wait), wait.cancel(), scene.signal("k", "paid")) == (False, False, 0)
    outcome = wait.result(0)
    assert (outcome.at, outcome.waited_ms, outcome.met_at, outcome.decided_by) == (3, 3, None, "cancel")
    assert (outcome.missing, outcome.deadline) == ("paid" if until == "paid" else "paid and paid", 100)
    assert scene.advance(1_000) == 0
    assert scene.counts() == (0, 0, 0, 1)


def test_a_wait_can_cancel_itself(scene: Scene) -> None:
    wait = scene.wait()
    assert wait.cancel()
    scene.check()
    assert scene.counts() == (0, 0, 0, 1)


@pytest.mark.parametrize("end", ["signal", "deadline"])
def test_what_has_ended_is_not_cancelled(scene: Scene, until: Any, end: str) -> None:
    wait = scene.wait(until=until)
    if end == "signal":
        scene.signal("k", "paid")
    else:
        scene.advance(101)
    before = wait.result(0)
    assert not scene.hub.cancel(wait)
    assert wait.result(0) == before


def test_extending_does_not_undo_a_cancellation_of_the_same_instant(scene: Scene) -> None:
    """Until the instant is over the wait may still complete, but no longer."""
    wait = scene.wait(rule=Rule("r", "open", "paid", 10, cancels="stop"), id="x")
    scene.signal("k", "stop")
    assert not scene.hub.extend(wait, 50)
    scene.advance(1)
    assert scene.told == [("x", "cancelled", 0)]
    assert scene.signal("k", "paid") == 0
    assert (wait.result(0).at, wait.result(0).deadline) == (0, 10)


@pytest.mark.parametrize("ms", [5, 50], ids=["sooner", "later"])
def test_a_wait_extended_as_a_timer_task_expires_after_its_deadline_and_not_before(scene: Scene, ms: int) -> None:
    wait = scene.wait(within=20)
    assert wait.extend(ms)
    scene.advance(5)
    while not wait.done():
        scene.advance(1)
    assert wait.at == wait.deadline == scene.clock.now_ms - 1


def test_a_wait_that_is_forced_completes_now(scene: Scene) -> None:
    wait = scene.wait()
    scene.advance(3)
    assert wait.force_complete()
    assert (wait.outcome, wait.at, wait.result(0).waited_ms) == ("completed", 3, 3)
    assert (wait.result(0).decided_by, wait.result(0).seen) == ("force_complete", "no paid")


def test_a_wait_that_is_cancelled_while_it_reads_a_signal_stays_cancelled(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a finaliser, say, that a garbage collection runs just then."""
    add = Waiting.add
    monkeypatch.setattr(Waiting, "add", lambda waiting, event: (add(waiting, event), wait.cancel()))
    wait = scene.wait("k", all_of("a"), id="x")
    assert scene.signal("k", "a") == 0
    assert (scene.told, scene.counts()) == ([("x", "cancelled", 0)], (0, 0, 0, 1))


def test_a_wait_is_not_made_by_hand(scene: Scene) -> None:
    with pytest.raises(TypeError, match=r"use hub\.wait"):
        scene.room.Wait(5)
    with pytest.raises((TypeError, AttributeError)):
        scene.room.Wait.__new__(scene.room.Wait).cancel()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda copied: copied.__name__)
@pytest.mark.parametrize("end", [None, "paid"], ids=["pending", "ended"])
def test_a_wait_cannot_be_copied_or_pickled_but_its_outcome_can(scene: Scene, copied: Any, end: str | None) -> None:
    wait = scene.wait()
    if end is not None:
        scene.signal("k", end)
        assert copied(wait.result(0))
    with pytest.raises(TypeError, match=r"cannot be copied or pickled: .* its result\(\) can be"):
        copied(wait)
    scene.check()
