"""An operation ends once; of those who would end it one wins, and knows it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from purgatory.scene import PATIENCE_S, Scene

ENDS: dict[str, Callable[[Scene, Any], Any]] = {
    "signal": lambda scene, operation: scene.complete(operation),
    "force": lambda scene, operation: operation.force_complete(),
    "cancel": lambda scene, operation: operation.cancel(),
    "cancel for key": lambda scene, operation: scene.purgatory.cancel_for_key("k") != [],
    "expire": lambda scene, operation: scene.advance(100) - 100 * (operation.outcome != "expired"),
}
OUTCOMES = {
    "signal": ("completed", ["x complete"]),
    "force": ("completed", ["x complete"]),
    "cancel": ("cancelled", ["x cancellation"]),
    "cancel for key": ("cancelled", ["x cancellation"]),
    "expire": ("expired", ["x complete", "x expiration"]),
}
each_end = pytest.mark.parametrize("end", ENDS)


@each_end
def test_each_end_wins_over_nothing_and_tells_what_belongs_to_it(scene: Scene, end: str) -> None:
    operation = scene.watched("x", "k", "l")
    assert (operation.outcome, operation.is_completed, operation.is_cancelled) == (None, False, False)
    assert ENDS[end](scene, operation) == 1
    scene.check()
    outcome, told = OUTCOMES[end]
    assert (operation.outcome, scene.told) == (outcome, told)
    assert (operation.is_completed, operation.is_cancelled) == (True, outcome == "cancelled")
    assert (scene.counts(), operation.is_pending) == ((0, 0), False)


@each_end
@pytest.mark.parametrize("late", ["signal", "force", "cancel", "cancel for key"])
def test_whoever_comes_late_is_told_so_and_changes_nothing(scene: Scene, end: str, late: str) -> None:
    operation = scene.watched()
    ENDS[end](scene, operation)
    tries = operation.tries
    assert not ENDS[late](scene, operation)
    assert scene.advance(1_000) == 0
    assert (operation.outcome, scene.told, operation.tries) == (*OUTCOMES[end], tries)


@each_end
def test_an_ended_operation_cannot_be_extended(scene: Scene, end: str) -> None:
    operation = scene.watched()
    ENDS[end](scene, operation)
    assert operation.extend(50) is False
    assert scene.timer.size == 0


def test_extending_a_pending_operation_moves_its_deadline(scene: Scene) -> None:
    operation = scene.watched(delay_ms=100)
    scene.advance(60)
    assert operation.extend(100) is True
    scene.check()
    assert operation.deadline_ms == 160
    scene.advance(99)
    assert operation.outcome is None
    scene.advance(1)
    assert (operation.outcome, scene.told) == ("expired", ["x complete", "x expiration"])


def test_a_deadline_may_also_be_moved_forward(scene: Scene) -> None:
    operation = scene.watched(delay_ms=100)
    assert operation.extend(10)
    scene.advance(10)
    assert operation.outcome == "expired"


def test_an_extended_operation_still_completes_by_its_keys(scene: Scene) -> None:
    operation = scene.watched("x", "k", "l")
    assert operation.extend(500)
    assert scene.complete(operation, "l") == 1
    assert (operation.outcome, scene.counts()) == ("completed", (0, 0))


def test_an_operation_that_is_watched_nowhere_can_be_ended_too(scene: Scene) -> None:
    forced, cancelled = scene.operation("f"), scene.operation("c")
    assert (forced.extend(10), cancelled.extend(10)) == (False, False)
    assert (forced.force_complete(), forced.force_complete()) == (True, False)
    assert (cancelled.cancel(), cancelled.force_complete()) == (True, False)
    assert scene.told == ["f complete", "c cancellation"]
    assert scene.purgatory.stats()[2:5] == (0, 0, 0)


def test_an_operation_knows_its_outcome_while_it_is_told(scene: Scene) -> None:
    seen = []

    def look(operation: Any) -> None:
        seen.append(
            (operation.outcome, operation.is_completed, operation.is_pending, scene.counts(), operation.cancel())
        )

    for end in ("signal", "cancel", "expire"):
        operation = scene.watched(end, on_complete=look, on_cancellation=look, on_expiration=look)
        ENDS[end](scene, operation)
    rest = (True, False, (0, 0), False)
    assert seen == [(outcome, *rest) for outcome in ("completed", "cancelled", "expired", "expired")]


def test_expiry_is_told_after_completion_even_if_that_fails(scene: Scene) -> None:
    failure = ValueError("on_complete")
    scene.watched(on_complete=raising(failure))
    scene.advance(100)
    assert scene.told == ["x complete", "x expiration"]
    assert [exception for _, exception in scene.errors] == [failure]


def raising(failure: BaseException) -> Callable[[Any], Any]:
    def act(operation: object) -> None:
        raise failure

    return act


def test_operations_due_together_expire_in_the_order_they_came(scene: Scene) -> None:
    for name in "abc":
        scene.watched(name, name)
    scene.advance(100)
    assert [line for line in scene.told if line.endswith("expiration")] == [f"{name} expiration" for name in "abc"]


def test_a_plain_operation_only_expires_or_is_cancelled(scene: Scene) -> None:
    """The methods that a subclass does not write do nothing."""
    first, second = scene.room.DelayedOperation(10), scene.room.DelayedOperation(10)
    scene.watch(first, "k")
    scene.watch(second, "k")
    assert scene.signal() == 0
    assert second.cancel()
    scene.advance(10)
    assert (first.outcome, second.outcome) == ("expired", "cancelled")


def test_a_subclass_need_not_call_init(scene: Scene) -> None:
    class Bare(scene.room.DelayedOperation):
        def __init__(self, topic: str, *, partition: int) -> None:
            self.name = topic, partition

    operation = Bare("t", partition=1)
    assert (operation.delay_ms, operation.outcome) == (0, None)
    operation.delay_ms = 7
    scene.watch(operation, operation.name)
    scene.advance(7)
    assert operation.outcome == "expired"


def test_an_operation_prints_what_it_is(scene: Scene) -> None:
    operation = scene.watched("x", "k", ("t", 0))
    assert repr(operation) == "<Noted pending delay_ms=100 keys=('k', ('t', 0))>"
    operation.cancel()
    assert repr(operation) == "<Noted cancelled delay_ms=100 keys=('k', ('t', 0))>"


# What a caller may rely on when it has ended an operation


def test_who_ends_an_operation_finds_it_ended_and_gone_when_the_call_returns(scene: Scene) -> None:
    operation = scene.watched("x", "k", "l")
    assert operation.force_complete() is True
    assert (operation.outcome, scene.counts(), scene.timer.size) == ("completed", (0, 0), 0)
    assert scene.told == ["x complete"], "nobody was trying it, so it has been told by now"


@pytest.mark.parametrize(("end", "told"), [("force_complete", "x complete"), ("cancel", "x cancellation")])
def test_an_operation_ended_while_another_thread_tries_it_is_told_by_that_thread_after_its_try(
    scene: Scene, end: str, told: str
) -> None:
    """The caller knows that it won, and that the operation has ended; not that it has been told."""
    seen: list[object] = []

    def end_it(operation: Any) -> None:
        won = getattr(operation, end)()
        seen.append((won, operation.is_completed, scene.counts(), list(scene.told)))

    def try_complete(operation: Any) -> bool:
        if operation.tries == 3:
            other = threading.Thread(target=end_it, args=[operation], daemon=True)
            other.start()
            other.join(PATIENCE_S)
            seen.append(list(scene.told))
        return False

    scene.watched("x", try_complete=try_complete)
    assert scene.signal() == 0, "this call did not complete it"
    assert seen == [(True, True, (0, 0), []), []]
    assert scene.told == [told]
