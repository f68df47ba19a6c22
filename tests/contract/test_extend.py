"""`task.extend`: re-armed in place until it has run or been cancelled."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from scene import Scene
from sojourn import TaskState


@pytest.mark.parametrize("delay_ms", [0, 3, 20, 70, 5_000])
def test_an_extended_task_runs_once_that_long_after_the_extension(shaped: Scene, delay_ms: int) -> None:
    task = shaped.schedule(70)
    shaped.advance(40)
    assert task.extend(delay_ms)
    shaped.check()
    shaped.advance(10_000)
    assert shaped.ran == [("task", shaped.tick_after(40 + delay_ms))]


def test_an_extended_task_shows_its_new_deadline_and_keeps_its_own_delay(scene: Scene) -> None:
    task = scene.schedule(70)
    scene.advance(40)
    task.extend(100)
    assert (task.delay_ms, task.deadline_ms, task.state) == (70, 140, TaskState.PENDING)


def test_a_task_can_be_extended_again_and_again(shaped: Scene) -> None:
    task = shaped.schedule(70)
    for _ in range(20):
        shaped.advance(69)
        assert task.extend(70)
        shaped.check()
    assert shaped.ran == []
    shaped.advance(77)
    assert shaped.ran == [("task", shaped.tick_after(20 * 69 + 70))]


def test_extending_counts_as_extended_and_not_as_scheduled(scene: Scene) -> None:
    scene.schedule(5).extend(10)
    stats = scene.timer.stats()
    assert (stats.scheduled, stats.extended, stats.pending) == (1, 1, 1)


def test_an_extended_task_goes_to_the_end_of_the_line_of_its_new_deadline(shaped: Scene) -> None:
    first = shaped.schedule(70, "first")
    shaped.schedule(70, "second")
    first.extend(70)
    shaped.advance(70)
    assert shaped.names == ["second", "first"]


def test_a_task_that_has_run_cannot_be_extended(scene: Scene) -> None:
    task = scene.schedule(5)
    scene.advance(5)
    assert not task.extend(5)
    assert (scene.advance(100), task.deadline_ms) == (0, 5)


def test_a_cancelled_task_cannot_be_extended(scene: Scene) -> None:
    task = scene.schedule(5)
    task.cancel()
    assert not task.extend(5)
    assert scene.advance(100) == 0


def test_a_running_task_cannot_extend_itself(scene: Scene) -> None:
    task = scene.timer.schedule(5, lambda: scene.note(task.extend(5)))
    assert scene.advance(100) == 1
    assert scene.names == [False]


def test_a_wall_clock_task_is_extended_on_the_wall_clock(scene: Scene) -> None:
    task = scene.schedule_at(datetime(1970, 1, 1, 0, 1, tzinfo=UTC))
    scene.advance(10_000)
    assert task.extend(60_000)
    assert task.deadline_ms == 70_000
    scene.step_wall(59_999)
    assert scene.ran == []
    assert scene.step_wall(1) == 1
