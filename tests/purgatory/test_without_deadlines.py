"""A purgatory whose operations have no deadlines: Kafka's `timerEnabled = false`."""

from __future__ import annotations

import pytest

from purgatory.scene import ROOMS, Scene
from support import Build


@pytest.fixture
def untimed(build: Build) -> Scene:
    scene = Scene(build, timer_enabled=False)
    scene.check = scene.purgatory._check_all  # type: ignore[method-assign]  # nothing is in the timer
    return scene


@pytest.mark.parametrize("delay_ms", [0, 1, 10**9])
def test_operations_never_expire_whatever_their_delay(untimed: Scene, delay_ms: int) -> None:
    operation = untimed.watched(delay_ms=delay_ms)
    untimed.advance(10**10)
    assert (operation.outcome, untimed.counts(), untimed.timer.size) == (None, (1, 1), 0)


def test_operations_complete_as_anywhere(untimed: Scene) -> None:
    operation = untimed.watched("x", "k", "other")
    assert untimed.complete(operation) == 1
    assert (operation.outcome, untimed.counts(), untimed.told) == ("completed", (0, 0), ["x complete"])


def test_operations_are_cancelled_as_anywhere(untimed: Scene) -> None:
    one, two, three = (untimed.watched(name) for name in "xyz")
    assert one.cancel()
    assert untimed.purgatory.cancel_for_key("k") == [two, three]
    assert (untimed.counts(), untimed.purgatory.stats().cancelled) == ((0, 0), 3)


def test_an_operation_that_has_no_deadline_cannot_be_extended(untimed: Scene) -> None:
    assert not untimed.watched().extend(100)


def test_closing_hands_back_what_is_pending(untimed: Scene) -> None:
    operation = untimed.watched()
    assert untimed.purgatory.close() == [operation]
    assert (operation.outcome, untimed.counts()) == (None, (0, 0))


def test_a_timer_that_is_shared_serves_others_as_before(untimed: Scene) -> None:
    untimed.watched("x", delay_ms=5)
    timed = ROOMS[untimed.build].Purgatory("timed", timer=untimed.timer)
    operation = untimed.operation("y", 5)
    timed.try_complete_else_watch(operation, ["k"])
    untimed.advance(6)
    assert untimed.told == ["y complete", "y expiration"]


def test_a_purgatory_has_deadlines_unless_told_otherwise(scene: Scene) -> None:
    scene.watched(delay_ms=5)
    scene.advance(6)
    assert scene.told == ["x complete", "x expiration"]
