"""With an executor the timer only hands tasks over; who runs them, and when, is the caller's choice."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import pytest

from scene import Scene
from sojourn import TaskState
from support import Build


class Later(Executor):
    """Runs what it was given when told to."""

    def __init__(self) -> None:
        self.calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls.append((fn, args))
        return Future()

    def run(self) -> None:
        while self.calls:
            fn, args = self.calls.pop(0)
            fn(*args)


class Refusing(Executor):
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        raise RuntimeError("cannot schedule new futures after shutdown")


@pytest.fixture
def later() -> Later:
    return Later()


@pytest.fixture
def handed_over(build: Build, later: Later) -> Scene:
    return Scene(build, executor=later)


def test_due_tasks_go_to_the_executor_in_order(handed_over: Scene, later: Later) -> None:
    handed_over.schedule(10, "second")
    handed_over.schedule_many([5, 20, 15])
    assert handed_over.advance(20) == 4
    assert handed_over.ran == []
    later.run()
    assert handed_over.names == [0, "second", 2, 1]


def test_a_task_handed_over_is_expired_and_can_no_longer_be_cancelled(handed_over: Scene, later: Later) -> None:
    task = handed_over.schedule(10)
    handed_over.advance(10)
    assert (task.state, task.cancel(), task.extend(5), handed_over.timer.size) == (TaskState.EXPIRED, False, False, 0)
    later.run()
    assert handed_over.names == ["task"]


def test_a_failure_in_the_executor_reaches_on_error(handed_over: Scene, later: Later) -> None:
    handed_over.timer.schedule(10, lambda: 1 / 0)
    handed_over.timer.schedule_many([10], lambda: 1 / 0)
    handed_over.advance(10)
    later.run()
    assert [type(error) for error in handed_over.errors] == [ZeroDivisionError] * 2


def test_an_executor_that_refuses_is_reported_task_by_task(build: Build) -> None:
    told: list[Any] = []
    scene = Scene(build, executor=Refusing(), on_error=lambda *failure: told.append(failure))
    tasks = [scene.schedule(5), scene.schedule(6)]
    assert scene.advance(10) == 2
    assert [task for task, _ in told] == tasks
    assert {str(exception) for _, exception in told} == {"cannot schedule new futures after shutdown"}


def test_a_task_in_the_executor_may_add_itself_again(handed_over: Scene, later: Later) -> None:
    task = handed_over.schedule(10)
    handed_over.advance(10)
    handed_over.timer.add(task)
    later.run()
    handed_over.advance(10)
    later.run()
    assert handed_over.ran == [("task", 10), ("task", 20)]
