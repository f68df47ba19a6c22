"""What a purgatory counts is exact, at every moment."""

from __future__ import annotations

import pytest

from purgatory.scene import Scene
from sojourn.purgatory import PurgatoryStats


def test_a_new_purgatory_has_counted_nothing(scene: Scene) -> None:
    assert scene.purgatory.stats() == PurgatoryStats(0, 0, 0, 0, 0)


def test_watched_counts_keys_and_delayed_counts_operations(scene: Scene) -> None:
    operations = [scene.watched(str(size), *range(size)) for size in range(1, 11)]
    assert scene.counts() == (55, 10)
    for operation in operations[::2]:
        operation.cancel()
        scene.check()
    assert scene.counts() == (2 + 4 + 6 + 8 + 10, 5)


def test_every_end_is_counted_once_under_its_name(scene: Scene) -> None:
    for i in range(1, 4):
        scene.complete(scene.watched("completed", i, "k"), i)
    scene.watched("forced").force_complete()
    for _ in range(2):
        scene.watched("cancelled", "c", "d")
        scene.purgatory.cancel_for_key("d")
    scene.watched("by hand").cancel()
    scene.watched("expired", delay_ms=5)
    scene.watched("pending", "k", "l", delay_ms=500)
    scene.advance(5)
    assert scene.purgatory.stats() == PurgatoryStats(watched=2, delayed=1, completed=4, expired=1, cancelled=3)


def test_an_operation_that_completes_at_once_is_counted_too(scene: Scene) -> None:
    for nth in (1, 2):
        scene.watch(scene.operation(try_complete=lambda operation, nth=nth: operation.tries == nth), "k")
    assert scene.purgatory.stats() == PurgatoryStats(0, 0, completed=2, expired=0, cancelled=0)


def test_an_operation_that_was_refused_is_not_counted(scene: Scene) -> None:
    with pytest.raises(ZeroDivisionError):
        scene.watch(scene.operation(try_complete=lambda operation: 1 / 0), "k")
    with pytest.raises(ValueError, match="keys is empty"):
        scene.watch(scene.operation())
    assert scene.purgatory.stats() == PurgatoryStats(0, 0, 0, 0, 0)


def test_counts_are_right_inside_a_try_and_inside_callbacks(scene: Scene) -> None:
    seen: list[tuple[int, int]] = []
    operation = scene.operation(try_complete=lambda operation: seen.append(scene.counts()))
    operation.says["on_expiration"] = operation.says["on_complete"] = operation.says["try_complete"]
    scene.watch(operation, "k", "l")
    scene.signal()
    scene.advance(100)
    assert seen == [(0, 1), (2, 1), (2, 1), (0, 0), (0, 0)]


def test_stats_are_a_snapshot(scene: Scene) -> None:
    before = scene.purgatory.stats()
    scene.watched()
    assert before == PurgatoryStats(0, 0, 0, 0, 0)
    assert scene.purgatory.stats().delayed == 1


def test_two_purgatories_on_one_timer_count_for_themselves(scene: Scene) -> None:
    other = scene.room.Purgatory("other", timer=scene.timer)
    scene.watched("here")
    operation = scene.operation("there")
    other.try_complete_else_watch(operation, ["k", "l"])
    operation.ready = True
    assert (scene.purgatory.check_and_complete("k"), other.check_and_complete("k")) == (0, 1)
    assert scene.purgatory.stats()[:3] == (1, 1, 0)
    assert other.stats()[:3] == (0, 0, 1)
