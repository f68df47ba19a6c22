"""Who wins at the same instant, by hand; `test_law.py` has all the rest."""

from __future__ import annotations

from typing import Any

import pytest

from hub.scene import Scene
from sojourn import Rule, all_of, any_of
from support import Build

UNTILS = {"one signal": "paid", "several": all_of("paid", any_of("paid", "never"))}
CANCELLABLE = Rule("r", "open", all_of("a", "b"), 10, cancels="stop")


@pytest.fixture(params=UNTILS.values(), ids=UNTILS)
def until(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_a_signal_stamped_like_the_deadline_counts_and_one_a_millisecond_later_does_not(
    scene: Scene, until: Any
) -> None:
    in_time, late = scene.wait("k", until, 10, id="in time"), scene.wait("l", until, 10, id="late")
    scene.advance(10)
    assert scene.signal("k", "paid") == 1
    scene.advance(1)
    assert scene.signal("l", "paid") == 0
    assert (in_time.outcome, in_time.at) == ("completed", 10)
    assert (late.outcome, late.at) == ("expired", 10)


def test_the_deadlines_millisecond_counts_to_its_end(scene: Scene, until: Any) -> None:
    wait = scene.wait("k", until, 10)
    scene.advance(10.999)
    assert scene.signal("k", "paid") == 1
    assert wait.at == 10


def test_a_timer_that_is_late_lets_no_late_signal_count(build: Build, until: Any) -> None:
    """Nobody drives this timer: the wait has not been told that its deadline has passed."""
    scene = Scene(build)
    timer = build.SystemTimer("late", clock=scene.clock)
    hub = scene.room.Hub(timer=timer)
    late, in_time = hub.wait("k", until, 10), hub.wait("l", until, 10)
    scene.clock.advance(10)
    assert hub.signal("l", "paid") == 1
    scene.clock.advance(1)
    assert hub.signal("k", "paid") == 0
    assert not late.done()
    scene.clock.advance(500)
    assert timer.advance_clock() == 1
    assert (late.outcome, late.at, late.result(0).waited_ms) == ("expired", 10, 10)
    assert in_time.outcome == "completed"


def test_nobody_is_told_of_an_expiry_before_the_instant_is_over(scene: Scene, until: Any) -> None:
    scene.advance(0.5)
    scene.wait("k", until, 10, id="x")
    scene.advance(10.499)
    assert scene.told == []
    scene.advance(1.001)
    assert scene.told == [("x", "expired", 10)]


@pytest.mark.parametrize(
    "kinds", [["a", "b", "stop"], ["a", "stop", "b"], ["stop", "a", "b"], ["stop", "b", "stop", "a"]], ids=" ".join
)
def test_completed_wins_over_cancelled_at_the_same_instant(scene: Scene, kinds: list[str]) -> None:
    wait = scene.wait(rule=CANCELLABLE, id="x")
    scene.advance(4)
    for kind in kinds:
        scene.signal("k", kind)
    assert scene.told == [("x", "completed", 4)]
    assert wait.result(0).decided_by in ("a", "b")


def test_cancelled_wins_over_what_completes_a_millisecond_later(scene: Scene) -> None:
    wait = scene.wait(rule=CANCELLABLE, id="x")
    scene.advance(4)
    assert scene.signal("k", "a") == scene.signal("k", "stop") == 0
    scene.advance(1)
    assert scene.told == [("x", "cancelled", 4)]
    assert scene.signal("k", "b") == 0
    outcome = wait.result(0)
    assert (outcome.outcome, outcome.at, outcome.decided_by, outcome.missing) == ("cancelled", 4, "stop", "b")


def test_cancelled_wins_over_expired_at_the_same_instant(scene: Scene) -> None:
    scene.wait(rule=CANCELLABLE, id="x")
    scene.advance(10)
    scene.signal("k", "stop")
    scene.advance(10)
    assert scene.told == [("x", "cancelled", 10)]


def test_a_cancellation_after_the_deadline_comes_too_late(scene: Scene) -> None:
    scene.wait(rule=CANCELLABLE, id="x")
    scene.advance(11)
    scene.signal("k", "stop")
    assert scene.told == [("x", "expired", 10)]


def test_a_kind_that_both_completes_and_cancels_completes_if_it_can(scene: Scene) -> None:
    rule = Rule("r", "open", all_of("a", "b"), 10, cancels="b")
    scene.wait("k", rule=rule, id="x")
    scene.wait("l", rule=rule, id="y")
    scene.signal("k", "a")
    scene.signal("k", "b")
    scene.signal("l", "b")
    scene.advance(1)
    assert scene.told == [("x", "completed", 0), ("y", "cancelled", 0)]


ALIVE = Rule("r", "open", within=10, keeps_alive="beat", cancels="stop")


def test_each_beat_moves_the_deadline_and_a_beat_at_the_deadline_is_in_time(scene: Scene) -> None:
    wait = scene.wait(rule=ALIVE, id="x")
    for at in (10, 20, 25):
        scene.advance(at - scene.clock.now_ms)
        assert scene.signal("k", "beat") == 0
        assert wait.deadline == at + 10
    scene.advance(10)
    assert scene.told == []
    scene.advance(1)
    assert scene.told == [("x", "expired", 35)]
    assert scene.signal("k", "beat") == 0
    outcome = wait.result(0)
    assert (outcome.waited_ms, outcome.missing, outcome.deadline) == (35, "beat", 35)
    assert outcome.explain().endswith("no beat for 10 ms")


def test_a_beat_does_not_shorten_what_was_extended_by_hand(scene: Scene) -> None:
    wait = scene.wait(rule=ALIVE)
    scene.hub.extend(wait, 50)
    scene.signal("k", "beat")
    assert wait.deadline == 50
    scene.advance(45)
    scene.signal("k", "beat")
    assert wait.deadline == 55


def test_nothing_is_kept_of_a_beat(scene: Scene) -> None:
    wait = scene.wait(rule=ALIVE)
    for _ in range(100):
        scene.advance(10)
        scene.signal("k", "beat")
    assert (wait._progress, wait.deadline) == (None, 1_010)


@pytest.mark.parametrize("kinds", [["stop", "beat"], ["beat", "stop"], ["stop", "beat", "stop"]], ids=" ".join)
def test_a_beat_does_not_undo_a_cancellation_of_the_same_instant(scene: Scene, kinds: list[str]) -> None:
    wait = scene.wait(rule=ALIVE, id="x")
    scene.advance(4)
    for kind in kinds:
        scene.signal("k", kind)
    scene.advance(1)
    assert scene.told == [("x", "cancelled", 4)]
    scene.signal("k", "stop")
    outcome = wait.result(0)
    assert (outcome.at, outcome.decided_by, outcome.deadline) == (4, "stop", 14)


@pytest.fixture
def overdue(build: Build) -> tuple[Any, Any]:
    """A hub, and a wait of it whose deadline has passed, though nobody drives the timer."""
    scene = Scene(build)
    hub = scene.room.Hub(timer=build.SystemTimer("late", clock=scene.clock))
    wait = hub.wait("k", "paid", 10, id="x")
    scene.clock.advance(11)
    return hub, wait


def test_what_is_overdue_is_not_cancelled_any_more(overdue: tuple[Any, Any]) -> None:
    hub, wait = overdue
    assert not hub.cancel(wait)
    hub.timer.advance_clock()
    assert (wait.outcome, wait.at) == ("expired", 10)


def test_what_is_overdue_is_not_extended_any_more(overdue: tuple[Any, Any]) -> None:
    hub, wait = overdue
    assert not hub.extend(wait, 50)
    hub.timer.advance_clock()
    assert (wait.outcome, wait.at, wait.deadline) == ("expired", 10, 10)


def test_what_is_overdue_when_the_hub_is_closed_has_expired(overdue: tuple[Any, Any]) -> None:
    hub, wait = overdue
    hub.close()
    assert (wait.outcome, wait.at, hub.stats()[:4]) == ("expired", 10, (0, 0, 1, 0))
