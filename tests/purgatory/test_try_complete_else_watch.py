"""Try; if that does not do it watch all keys, try again, and only then start the timer."""

from __future__ import annotations

import pytest

from purgatory.scene import Scene
from sojourn import DelayError, TimerClosedError


def test_an_operation_whose_condition_holds_completes_at_once_and_is_never_watched(scene: Scene) -> None:
    operation = scene.operation()
    operation.ready = True
    assert scene.watch(operation, "k") is True
    assert (operation.tries, operation.outcome, scene.told) == (1, "completed", ["x complete"])
    assert (scene.counts(), operation.deadline_ms) == ((0, 0), None)


def test_an_operation_whose_condition_does_not_hold_is_tried_twice_and_waits(scene: Scene) -> None:
    operation = scene.operation()
    assert scene.watch(operation, "k") is False
    assert (operation.tries, operation.outcome, scene.told) == (2, None, [])
    assert (scene.counts(), operation.is_pending, operation.deadline_ms) == ((1, 1), True, 100)


def test_a_condition_met_between_the_two_tries_completes_it_without_a_timer(scene: Scene) -> None:
    operation = scene.operation(try_complete=lambda operation: operation.tries == 2)
    assert scene.watch(operation, "k") is True
    assert (operation.outcome, operation.deadline_ms, scene.told) == ("completed", None, ["x complete"])


def test_keys_are_watched_before_the_second_try_and_the_timer_runs_only_after_it(scene: Scene) -> None:
    seen = []

    def look(operation: object) -> bool:
        seen.append((scene.purgatory.watched, scene.timer.size))
        return False

    scene.watched("x", "k", "l", try_complete=look)
    assert seen == [(0, 0), (2, 0)]
    assert (scene.purgatory.watched, scene.timer.size) == (2, 1)


def test_a_watched_operation_completes_when_it_is_signalled_and_its_condition_holds(scene: Scene) -> None:
    operation = scene.watched()
    assert scene.signal() == 0
    assert scene.complete(operation) == 1
    assert (operation.outcome, scene.told, scene.counts()) == ("completed", ["x complete"], (0, 0))
    assert scene.advance(1_000) == 0


def test_a_watched_operation_expires_at_its_deadline_and_not_before(scene: Scene) -> None:
    operation = scene.watched(delay_ms=100)
    scene.advance(99)
    assert operation.outcome is None
    scene.advance(1)
    assert (operation.outcome, scene.counts()) == ("expired", (0, 0))
    assert scene.told == ["x complete", "x expiration"]


def test_an_operation_without_patience_expires_when_time_is_next_looked_at(scene: Scene) -> None:
    operation = scene.watched(delay_ms=0)
    assert operation.outcome is None
    scene.advance(0)
    assert operation.outcome == "expired"


def test_an_operation_that_cancels_itself_while_it_is_tried_is_not_watched(scene: Scene) -> None:
    for nth in (1, 2):
        operation = scene.operation(
            try_complete=lambda operation, nth=nth: operation.tries == nth and operation.cancel()
        )
        assert scene.watch(operation, "k") is False
        assert (operation.outcome, scene.counts()) == ("cancelled", (0, 0))
    assert scene.told == ["x cancellation"] * 2


def test_try_complete_may_return_what_force_complete_returned(scene: Scene) -> None:
    operation = scene.operation(try_complete=lambda operation: operation.tries > 2 and operation.force_complete())
    assert scene.watch(operation, "k") is False
    assert scene.signal() == 1
    assert (operation.outcome, scene.told) == ("completed", ["x complete"])


def test_try_complete_may_force_and_return_nothing(scene: Scene) -> None:
    """What counts is the outcome, not the answer."""
    first = scene.operation(try_complete=lambda operation: operation.force_complete() and None)
    assert scene.watch(first, "k") is True
    scene.watched("y", try_complete=lambda operation: operation.tries > 2 and operation.force_complete() and None)
    assert scene.signal() == 1
    assert scene.told == ["x complete", "y complete"]


def test_any_true_answer_will_do(scene: Scene) -> None:
    assert scene.watch(scene.operation(try_complete=lambda operation: [0]), "k") is True
    assert scene.watch(scene.operation(try_complete=lambda operation: []), "k") is False


def test_an_operation_waits_once(scene: Scene) -> None:
    operation = scene.watched()
    with pytest.raises(ValueError, match="has been watched before; an operation waits once"):
        scene.watch(operation, "l")
    assert scene.counts() == (1, 1)
    scene.complete(operation)
    with pytest.raises(ValueError, match="has been watched before"):
        scene.watch(operation, "k")
    assert (operation.tries, scene.counts()) == (3, (0, 0))


@pytest.mark.parametrize("end", ["cancel", "force_complete", "run"])
def test_an_operation_that_ended_before_it_was_watched_is_not_watched(scene: Scene, end: str) -> None:
    """Who cancels a request may come before whoever has it watched: an ordinary race, and no error."""
    operation = scene.operation()
    getattr(operation, end)()
    told = list(scene.told)
    assert [scene.watch(operation, "k"), scene.watch(operation, "k")] == [False, False]
    assert (operation.tries, scene.counts(), scene.timer.size, scene.told) == (0, (0, 0), 0, told)
    assert scene.purgatory.stats()[2:] == (0, 0, 0)


def test_an_operation_that_was_handed_back_and_ended_is_not_watched_elsewhere(scene: Scene) -> None:
    operation = scene.watched()
    scene.purgatory.close()
    operation.cancel()
    other = scene.room.Purgatory("other", timer=scene.timer)
    assert other.try_complete_else_watch(operation, ["k"]) is False
    assert (other.delayed, operation.tries) == (0, 2)


def test_an_operation_cannot_be_watched_from_inside_its_own_try(scene: Scene) -> None:
    def again(operation: object) -> bool:
        with pytest.raises(ValueError, match="has been watched before"):
            scene.purgatory.try_complete_else_watch(operation, ["k"])
        return False

    assert scene.watched(try_complete=again).tries == 2


def test_a_timer_that_refuses_leaves_nothing_watched(scene: Scene) -> None:
    operation = scene.operation()
    scene.timer.close()
    with pytest.raises(TimerClosedError):
        scene.watch(operation, "k", "l")
    scene.check()
    assert (operation.outcome, scene.counts(), scene.signal()) == (None, (0, 0), 0)


def test_a_delay_beyond_the_end_of_time_is_refused_and_leaves_nothing_watched(scene: Scene) -> None:
    scene.advance(10)
    with pytest.raises(DelayError):
        scene.watch(scene.operation(delay_ms=2**63 - 1), "k")
    scene.check()
    assert scene.counts() == (0, 0)


def test_what_is_not_an_operation_is_refused(scene: Scene) -> None:
    for stranger in (None, object(), scene.timer.schedule(10**6, str)):
        with pytest.raises((TypeError, AttributeError)):
            scene.purgatory.try_complete_else_watch(stranger, ["k"])
    assert scene.counts() == (0, 0)
