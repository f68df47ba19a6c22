"""What a task raises reaches a handler with the task, and never stops the timer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from scene import Scene
from sojourn import TaskState
from sojourn.testing import ManualClock
from support import Build

HOW: dict[str, Callable[[Scene, Callable[[], object]], Any]] = {
    "schedule": lambda scene, callback: scene.timer.schedule(5, callback),
    "schedule_at": lambda scene, callback: scene.timer.schedule_at(0.005, callback),
    "schedule_many": lambda scene, callback: scene.timer.schedule_many([5], callback)[0],
    "schedule_many, unseen": lambda scene, callback: scene.timer.schedule_many([5], callback) and None,
    "add": lambda scene, callback: scene.timer.add(subclass(scene.build, callback)(5)),
}


def subclass(build: Build, callback: Callable[[], object]) -> type[Any]:
    return type("Request", (build.TimerTask,), {"run": lambda self: callback()})


class PlannedError(Exception):
    pass


def fail() -> None:
    raise PlannedError("on purpose")


@pytest.fixture
def failures() -> list[tuple[Any, BaseException]]:
    return []


@pytest.fixture
def failing(build: Build, failures: list[tuple[Any, BaseException]]) -> Scene:
    """A scene whose `on_error` writes down what it is told."""
    return Scene(build, on_error=lambda *failure: failures.append(failure))


@pytest.mark.parametrize("how", HOW)
def test_on_error_gets_the_task_and_what_it_raised(failing: Scene, failures: list[Any], how: str) -> None:
    expected = HOW[how](failing, fail)
    failing.schedule(5, "next")
    assert failing.advance(10) == 2
    [(task, exception)] = failures
    assert isinstance(exception, PlannedError)
    assert task.state is TaskState.EXPIRED
    assert expected in (None, task)
    assert failing.ran == [("next", 5)]


@pytest.mark.parametrize("how", HOW)
def test_on_error_may_add_the_task_again(build: Build, how: str) -> None:
    def retry(task: Any, exception: BaseException) -> None:
        task.delay_ms = 10
        scene.timer.add(task)

    def fail_twice() -> None:
        scene.note("try")
        if len(scene.ran) < 3:
            fail()

    scene = Scene(build, on_error=retry)
    HOW[how](scene, fail_twice)
    scene.advance(1_000)
    assert scene.ran == [("try", 5), ("try", 15), ("try", 25)]


def test_without_a_handler_the_failure_goes_to_the_log(build: Build, caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    build.SystemTimer("logged", clock=clock).start().schedule(5, fail)
    clock.advance(5)
    [record] = caplog.records
    assert (record.name, record.levelno) == ("sojourn.timer", logging.ERROR)
    assert record.__dict__["task"].deadline_ms == 5
    assert "<TimerTask fail expired delay_ms=5 deadline_ms=5> failed" in caplog.text
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], PlannedError)


def test_a_handler_that_fails_itself_hides_neither_failure(build: Build, caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(build, on_error=lambda task, exception: 1 / 0)
    scene.timer.schedule(5, fail)
    scene.schedule(5, "next")
    scene.advance(5)
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [
        PlannedError,
        ZeroDivisionError,
    ]
    assert scene.names == ["next"]


@pytest.mark.parametrize("how", HOW)
def test_ctrl_c_in_a_task_reaches_whoever_moves_the_timer_and_the_rest_runs_next_time(
    failing: Scene, failures: list[Any], how: str
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    HOW[how](failing, interrupt)
    HOW[how](failing, lambda: failing.note("next"))
    with pytest.raises(KeyboardInterrupt):
        failing.advance(5)
    failing.check()
    assert [type(exception) for _, exception in failures] == [KeyboardInterrupt]
    assert failing.ran == []
    failing.advance(0)
    assert failing.ran == [("next", 5)]


def test_a_task_with_nothing_to_run_fails_with_a_way_out(failing: Scene, failures: list[Any]) -> None:
    failing.timer.add(type("Empty", (failing.build.TimerTask,), {})(5))
    failing.advance(5)
    [(_, exception)] = failures
    assert isinstance(exception, TypeError)
    assert "give it a callback, or a run() of its own" in str(exception)
