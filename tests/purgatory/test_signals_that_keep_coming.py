"""Signals that keep coming: two tries, the deadline armed, one try for the word that was left, and the call returns.

A signal that comes while an operation is being tried leaves word. Here one comes during every single try, from another
thread, so that whoever tries again as long as there is word would never come to an end.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from purgatory.scene import PATIENCE_S, Scene, owed_tries


def signalled_during_every_try(scene: Scene, ready_at: int = 10**9) -> Any:
    """An operation whose condition holds from so many tries on."""

    def try_complete(operation: Any) -> bool:
        assert operation.tries < 1_000, "a caller is held"
        other = threading.Thread(target=scene.purgatory.check_and_complete, args=["k"], daemon=True)
        other.start()
        other.join(PATIENCE_S)
        assert not other.is_alive(), "whoever brings a signal waits for nobody"
        return bool(operation.tries >= ready_at)

    return scene.operation("x", 100, try_complete=try_complete)


def test_a_watch_returns_and_the_deadline_is_armed(scene: Scene) -> None:
    operation = signalled_during_every_try(scene)
    assert scene.watch(operation, "k") is False
    assert (operation.tries, operation.is_pending, operation.deadline_ms) == (3, True, 100)
    assert len(owed_tries(scene.timer)) == 1, "what came during the last try is left to the timer"


def test_the_deadline_is_armed_before_word_that_was_left_is_seen_to(scene: Scene) -> None:
    armed = []
    operation = signalled_during_every_try(scene)
    tried = operation.says["try_complete"]
    operation.says["try_complete"] = lambda operation: armed.append(operation.is_pending) or tried(operation)
    scene.watch(operation, "k")
    assert armed == [False, False, True]


def test_a_signal_returns_after_two_tries(scene: Scene) -> None:
    operation = signalled_during_every_try(scene)
    scene.watch(operation, "k")
    assert [scene.signal(), operation.tries] == [0, 5]
    assert [scene.signal(), operation.tries] == [0, 7]
    assert len(owed_tries(scene.timer)) == 1, "a try that is owed is owed once"


def test_the_operation_expires_at_its_deadline_though_signals_keep_coming(scene: Scene) -> None:
    operation = signalled_during_every_try(scene)
    scene.watch(operation, "k")
    scene.timer.pending()
    while scene.clock.now_ms < 100:
        scene.clock._pass(1_000_000)
        scene.timer._run_due()
        assert operation.outcome == ("expired" if scene.clock.now_ms >= 100 else None)
    assert scene.told == ["x complete", "x expiration"]
    scene.advance(1)
    assert (scene.counts(), scene.timer.size) == ((0, 0), 0)


@pytest.mark.parametrize("ready_at", range(1, 12))
def test_the_last_signal_counts_whichever_try_it_came_in(scene: Scene, ready_at: int) -> None:
    """Nobody signals any more once the condition holds: the timer makes the tries that are owed."""
    operation = signalled_during_every_try(scene, ready_at)
    completed = scene.watch(operation, "k")
    assert completed == (ready_at <= 3)
    scene.advance(0)
    assert (operation.outcome, operation.tries, scene.told) == ("completed", ready_at, ["x complete"])
    assert (scene.counts(), scene.timer.size) == ((0, 0), 0)


def test_a_signal_that_comes_before_the_timer_makes_the_try_that_is_owed(scene: Scene) -> None:
    operation = signalled_during_every_try(scene)
    scene.watch(operation, "k")
    operation.says["try_complete"] = lambda operation: False
    assert (scene.signal(), operation.tries) == (0, 4)
    scene.advance(0)
    assert (operation.tries, scene.timer.size) == (4, 1), "there was nothing left to do"


def test_what_an_owed_try_raises_reaches_the_purgatory_and_not_the_timer(scene: Scene) -> None:
    operation = signalled_during_every_try(scene)
    scene.watch(operation, "k")
    operation.says["try_complete"] = lambda operation: 1 / 0
    scene.advance(0)
    assert [type(error) for _, error in scene.errors] == [ZeroDivisionError]
    assert (operation.outcome, scene.timer_errors) == (None, [])


def test_an_owed_try_of_an_operation_that_was_handed_back_is_not_made(scene: Scene) -> None:
    operation = signalled_during_every_try(scene)
    scene.watch(operation, "k")
    assert scene.purgatory.close() == [operation]
    scene.clock.advance(0)
    assert (operation.tries, operation.outcome, scene.timer.size) == (3, None, 0)


def test_without_a_timer_to_leave_it_to_whoever_signals_tries_until_there_is_no_word(scene: Scene) -> None:
    """A closed timer would never come, and a lost signal would be worse than a caller that is held."""
    operation = signalled_during_every_try(scene, ready_at=9)
    scene.watch(operation, "k")
    scene.timer.close()
    assert scene.purgatory.check_and_complete("k") == 1
    assert (operation.outcome, operation.tries) == ("completed", 9)
