"""`timer.close`: what was left undone is handed back or run; afterwards the door is shut."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from scene import Scene
from sojourn import ReaperDiedError, TaskState, TimerClosedError
from support import Build

USES: dict[str, Callable[[Any, Any], object]] = {
    "schedule": lambda timer, task: timer.schedule(1, str),
    "add": lambda timer, task: timer.add(task),
    "schedule_at": lambda timer, task: timer.schedule_at(1, str),
    "schedule_many": lambda timer, task: timer.schedule_many([1], str),
    "start": lambda timer, task: timer.start(),
    "advance_clock": lambda timer, task: timer.advance_clock(),
}


def test_close_returns_what_was_left_undone_soonest_first(shaped: Scene) -> None:
    tasks = {delay_ms: shaped.schedule(delay_ms) for delay_ms in (900, 70, 7_000, 1)}
    batch = shaped.schedule_many([800, 70])
    shaped.advance(7)
    tasks[900].cancel()
    assert shaped.timer.close() == [tasks[70], batch[1], batch[0], tasks[7_000]]
    shaped.check()


def test_what_close_returned_is_idle_and_never_runs(scene: Scene) -> None:
    scene.schedule(5)
    [task] = scene.timer.close()
    assert (task.state, task.cancel(), task.extend(5)) == (TaskState.IDLE, False, False)
    assert (scene.clock.advance(100), scene.ran, scene.timer.size) == (0, [], 0)
    assert scene.timer.stats().undone == 1


@pytest.mark.parametrize("how", ["schedule", "schedule_at", "schedule_many"])
def test_what_close_returned_can_be_added_to_another_timer(scene: Scene, how: str) -> None:
    {"schedule": scene.schedule, "schedule_at": scene.schedule_at}.get(how, lambda _: scene.schedule_many([5]))(5)
    [task] = scene.timer.close()
    task.delay_ms = 20
    other = scene.build.SystemTimer("other", clock=scene.clock).start()
    other.add(task)
    scene.clock.advance(20)
    assert [at_ms for _, at_ms in scene.ran] == [20]


def test_close_can_run_what_is_left_instead_soonest_first(shaped: Scene) -> None:
    shaped.schedule(900, "later")
    task = shaped.schedule(70, "soon")
    shaped.schedule_many([800])
    assert shaped.timer.close(run_pending=True) == []
    shaped.check()
    assert shaped.ran == [("soon", 0), (0, 0), ("later", 0)]
    assert (task.state, shaped.timer.stats().expired) == (TaskState.EXPIRED, 3)


def test_a_failure_while_running_what_is_left_is_reported_and_the_rest_runs(scene: Scene) -> None:
    scene.timer.schedule(5, lambda: 1 / 0)
    scene.schedule(6)
    scene.timer.close(run_pending=True)
    assert [type(error) for error in scene.errors] == [ZeroDivisionError]
    assert scene.names == ["task"]


@pytest.mark.parametrize("run_pending", [True, False])
def test_closing_again_goes_on_where_an_exit_interrupted(scene: Scene, run_pending: bool) -> None:
    scene.timer.schedule(5, sys.exit)
    rest = scene.schedule(6, "rest")
    with pytest.raises(SystemExit):
        scene.timer.close(run_pending=True)
    assert scene.timer.close(run_pending=run_pending) == ([] if run_pending else [rest])
    assert scene.names == (["rest"] if run_pending else [])
    assert scene.timer.close() == []


def test_an_error_handler_that_cannot_be_called_is_refused(scene: Scene) -> None:
    with pytest.raises(TypeError, match="on_error=None cannot be called"):
        scene.build.SystemTimer("deaf", on_error=None)


def test_closing_twice_is_closing_once(scene: Scene) -> None:
    scene.schedule(5)
    assert [len(scene.timer.close()), len(scene.timer.close()), len(scene.timer.close(run_pending=True))] == [1, 0, 0]


@pytest.mark.parametrize("use", USES)
def test_using_a_closed_timer_is_a_clear_error(scene: Scene, use: str) -> None:
    task = scene.build.TimerTask(5, scene.note, "task")
    scene.timer.close()
    with pytest.raises(TimerClosedError, match="'scene' is closed"):
        USES[use](scene.timer, task)
    scene.check()
    assert (scene.timer.size, task.state, task.deadline_ms) == (0, TaskState.IDLE, None)


def test_a_closed_timer_can_still_be_inspected(scene: Scene) -> None:
    scene.schedule(5)
    scene.timer.close()
    assert (scene.timer.size, list(scene.timer.pending()), scene.timer.stats().scheduled) == (0, [], 1)


def test_a_timer_says_whether_it_is_open(scene: Scene) -> None:
    scene.schedule(5)
    assert repr(scene.timer) == "<SystemTimer 'scene' open, 1 pending>"
    scene.timer.close()
    assert repr(scene.timer) == "<SystemTimer 'scene' closed, 0 pending>"


def test_a_task_may_close_its_own_timer_and_gets_what_is_left(scene: Scene) -> None:
    neighbour, later = None, scene.schedule(50, "later")
    scene.timer.schedule(5, lambda: scene.note(scene.timer.close()))
    neighbour = scene.schedule(5, "neighbour")
    assert scene.clock.advance(100) == 1
    scene.check()
    assert scene.names == [[neighbour, later]]


def test_a_task_may_close_its_own_timer_and_run_what_is_left(scene: Scene) -> None:
    scene.schedule(50, "later")
    scene.timer.schedule(5, lambda: scene.timer.close(run_pending=True))
    scene.schedule(5, "neighbour")
    assert scene.clock.advance(100) == 1
    scene.check()
    assert scene.ran == [("neighbour", 5), ("later", 5)]


def test_a_task_run_by_close_may_not_schedule_another(scene: Scene) -> None:
    scene.timer.schedule(5, lambda: scene.schedule(5))
    scene.timer.close(run_pending=True)
    assert [type(error) for error in scene.errors] == [TimerClosedError]


class BrokenClock:
    """A clock on which nobody can wait."""

    def now_ns(self) -> int:
        return 0

    wall_ns = now_ns

    def wait(self, alarm: object, ns: int) -> None:
        raise OSError("no such clock")


def test_a_timer_whose_reaper_died_says_so_at_the_next_call_and_still_returns_its_tasks(
    build: Build, caplog: pytest.LogCaptureFixture
) -> None:
    timer = build.SystemTimer("broken", clock=BrokenClock())
    task = timer.schedule(5, str)
    timer.start()._driver.stop()  # waits for the thread's end
    for use in (*USES.values(), lambda timer, task: task.extend(7)):
        with pytest.raises(ReaperDiedError, match="'broken' died of OSError"):
            use(timer, task)
    assert "the driver of <SystemTimer 'broken' dead, 1 pending> died" in caplog.text
    assert (task.state, task.deadline_ms) == (TaskState.PENDING, 5)
    assert timer.close() == [task]
