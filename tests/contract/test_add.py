"""`timer.add`: tasks that say for themselves what to run and when, added again and moved about."""

from __future__ import annotations

from typing import Any

import pytest

from scene import Scene
from sojourn import TaskState
from support import Build


def subclass(build: Build, **members: Any) -> type[Any]:
    return type("Request", (build.TimerTask,), members)


def test_a_subclass_may_hand_its_delay_to_the_parent(scene: Scene) -> None:
    task = subclass(scene.build, run=lambda self: scene.note("run"))(30)
    assert scene.timer.add(task) is task
    scene.advance(30)
    assert scene.ran == [("run", 30)]


def test_a_subclass_may_have_its_delay_as_a_class_attribute(scene: Scene) -> None:
    scene.timer.add(subclass(scene.build, delay_ms=30, run=lambda self: scene.note("run"))())
    scene.advance(30)
    assert scene.ran == [("run", 30)]


def test_a_subclass_may_work_its_delay_out_in_a_property(scene: Scene) -> None:
    delay_ms = property(lambda self: 10 * self.attempt)
    task = subclass(scene.build, attempt=3, delay_ms=delay_ms, run=lambda self: scene.note("run"))()
    scene.timer.add(task)
    scene.advance(30)
    assert scene.ran == [("run", 30)]


def test_a_subclass_may_take_any_arguments_and_skip_the_parents_init(scene: Scene) -> None:
    def init(self: Any, name: str, *, delay_ms: int) -> None:
        self.name, self.delay_ms = name, delay_ms

    task = subclass(scene.build, __init__=init, run=lambda self: scene.note(self.name))("name", delay_ms=30)
    scene.timer.add(task)
    scene.advance(30)
    assert scene.ran == [("name", 30)]


def test_a_task_may_be_made_from_a_callback_and_added_later(scene: Scene) -> None:
    task = scene.build.TimerTask(30, scene.note, "callback")
    assert (task.state, task.deadline_ms) == (TaskState.IDLE, None)
    scene.timer.add(task)
    scene.advance(30)
    assert scene.ran == [("callback", 30)]


def test_the_delay_may_be_changed_before_adding(scene: Scene) -> None:
    task = scene.build.TimerTask(30, scene.note, "callback")
    task.delay_ms = 50
    scene.timer.add(task)
    scene.advance(50)
    assert scene.ran == [("callback", 50)]


def test_adding_a_pending_task_again_moves_it(shaped: Scene) -> None:
    task = shaped.schedule(70)
    shaped.advance(35)
    shaped.timer.add(task)
    shaped.check()
    assert shaped.timer.size == 1
    shaped.advance(1_000)
    assert shaped.ran == [("task", 105)]


def test_adding_to_another_timer_moves_the_task_there(shaped: Scene) -> None:
    other = shaped.build.SystemTimer("other", clock=shaped.clock).start()
    task = shaped.schedule(70)
    other.add(task)
    other._check()
    shaped.check()
    assert (shaped.timer.size, other.size) == (0, 1)
    assert (shaped.timer.stats().cancelled, other.stats().scheduled) == (1, 1)
    shaped.advance(70)
    assert (shaped.ran, other.stats().expired) == ([("task", 70)], 1)
    assert task.state is TaskState.EXPIRED


def test_a_moved_task_is_cancelled_and_extended_in_its_new_timer(scene: Scene) -> None:
    other = scene.build.SystemTimer("other", clock=scene.clock).start()
    extended, cancelled = scene.schedule(10, "extended"), scene.schedule(10, "cancelled")
    other.add(extended)
    other.add(cancelled)
    assert (extended.extend(20), cancelled.cancel()) == (True, True)
    other._check()
    scene.advance(50)
    assert scene.ran == [("extended", 20)]


def test_a_wall_clock_task_that_is_added_again_runs_on_the_monotonic_clock(scene: Scene) -> None:
    task = scene.schedule_at(3_600)
    task.delay_ms = 10
    scene.timer.add(task)
    scene.step_wall(10**9)
    assert scene.ran == []
    scene.advance(10)
    assert scene.ran == [("task", 10)]


def test_a_task_refused_by_a_closed_timer_stays_where_it_was(scene: Scene) -> None:
    other = scene.build.SystemTimer("other", clock=scene.clock).start()
    task = scene.schedule(10)
    scene.advance(4)
    other.close()
    with pytest.raises(RuntimeError, match="'other' is closed"):
        other.add(task)
    assert (task.state, task.deadline_ms, scene.timer.size) == (TaskState.PENDING, 10, 1)
    scene.advance(6)
    assert scene.ran == [("task", 10)]


def test_a_subclass_can_be_added_again_after_it_ran_or_was_cancelled(scene: Scene) -> None:
    task = subclass(scene.build, delay_ms=10, run=lambda self: scene.note("run"))()
    scene.timer.add(task)
    scene.advance(10)
    scene.timer.add(task).cancel()
    scene.timer.add(task)
    scene.advance(10)
    assert scene.ran == [("run", 10), ("run", 20)]


def test_a_task_may_add_itself_again_in_its_own_run(shaped: Scene) -> None:
    def run(self: Any) -> None:
        shaped.note("beat")
        if len(shaped.ran) < 5:
            shaped.timer.add(self)

    shaped.timer.add(subclass(shaped.build, delay_ms=70, run=run)())
    shaped.advance(1_000)
    assert shaped.ran == [("beat", at_ms) for at_ms in (70, 140, 210, 280, 350)]


@pytest.mark.parametrize("how", ["schedule", "schedule_many"])
def test_a_callback_may_add_its_own_task_again(scene: Scene, how: str) -> None:
    def callback() -> None:
        scene.note("beat")
        if len(scene.ran) < 3:
            scene.timer.add(tasks[0])

    tasks = [scene.timer.schedule(10, callback)] if how == "schedule" else scene.timer.schedule_many([10], callback)
    scene.advance(100)
    assert scene.ran == [("beat", 10), ("beat", 20), ("beat", 30)]
