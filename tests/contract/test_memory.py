"""A task that is done lets go of its callback, and a timer of its tasks."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from scene import Scene
from sojourn.testing import ManualClock
from support import Build


class Owner:
    """What a callback usually belongs to, and what must not be kept alive by a timer."""

    def on_timeout(self, *args: object) -> None:
        pass


HOW: dict[str, Callable[[Any, Owner], Any]] = {
    "schedule": lambda timer, owner: timer.schedule(5, owner.on_timeout),
    "as an argument": lambda timer, owner: timer.schedule(5, str, owner),
    "schedule_at": lambda timer, owner: timer.schedule_at(0.005, owner.on_timeout),
    "schedule_many": lambda timer, owner: timer.schedule_many([5, 5], owner.on_timeout),
    "each": lambda timer, owner: timer.schedule_many([5, 5], str, each=[owner, owner]),
    "schedule_many, looked at": lambda timer, owner: list(timer.schedule_many([5, 5], owner.on_timeout)),
    "schedule_many, one looked at": lambda timer, owner: and_one_of_it(timer.schedule_many([5, 5], owner.on_timeout)),
}


def and_one_of_it(batch: Any) -> Any:
    return batch, batch[-1]


def watched_owner(timer: Any, how: str) -> tuple[weakref.ref[Owner], Any]:
    """Arm a callback of an owner whom nobody else keeps; the tasks are kept."""
    owner = Owner()
    tasks = HOW[how](timer, owner)
    return weakref.ref(owner), tasks


@pytest.mark.parametrize("how", HOW)
def test_a_pending_task_holds_its_callback_and_one_that_ran_lets_go(scene: Scene, how: str) -> None:
    owner, tasks = watched_owner(scene.timer, how)
    assert owner() is not None
    scene.clock.advance(5)
    assert owner() is None
    assert tasks is not None


@pytest.mark.parametrize("how", HOW)
def test_a_cancelled_task_lets_go_of_its_callback(scene: Scene, how: str) -> None:
    owner, tasks = watched_owner(scene.timer, how)
    for task in list(scene.timer.pending()):
        assert task.cancel()
    del task
    assert owner() is None
    assert tasks is not None


def test_a_cancelled_task_of_a_subclass_is_let_go_of_while_others_wait(scene: Scene) -> None:
    class Watched(scene.build.TimerTask):
        pass

    scene.schedule(50)
    task = Watched(5)
    scene.timer.add(task)
    assert task.cancel()
    held = weakref.ref(task)
    del task
    assert held() is None


def test_a_batch_cancelled_in_bulk_lets_go_of_its_callback(scene: Scene) -> None:
    owner, batch = watched_owner(scene.timer, "each")
    assert batch.cancel() == 2
    assert owner() is None


@pytest.mark.parametrize("how", HOW)
def test_a_failed_task_lets_go_of_its_callback(build: Build, how: str) -> None:
    scene = Scene(build, on_error=lambda task, exception: None)
    owner, tasks = watched_owner(scene.timer, how)
    Owner.on_timeout, original = fail, Owner.on_timeout
    try:
        scene.clock.advance(5)
    finally:
        Owner.on_timeout = original
    assert owner() is None
    assert tasks is not None


def fail(*args: object) -> None:
    raise ValueError


@pytest.mark.parametrize("how", HOW)
def test_a_task_handed_back_by_close_keeps_its_callback_as_long_as_it_lives(scene: Scene, how: str) -> None:
    owner, tasks = watched_owner(scene.timer, how)
    left = scene.timer.close()
    assert (len(left) > 0, owner() is not None) == (True, True)
    del left, tasks
    assert owner() is None


@pytest.mark.parametrize("how", HOW)
def test_a_dropped_timer_drops_its_tasks_and_they_are_idle(build: Build, how: str) -> None:
    timer = build.SystemTimer("dropped", clock=ManualClock())
    owner, tasks = watched_owner(timer, how)
    del timer, tasks
    gc.collect()
    assert owner() is None


def test_tasks_of_a_dropped_timer_can_neither_be_cancelled_nor_extended(wheel_build: Build) -> None:
    timer = wheel_build.SystemTimer("dropped", clock=ManualClock())
    batch = timer.schedule_many([5, 6], str)
    tasks = [timer.schedule(5, str), timer.schedule_at(5, str), batch[0]]
    is_held = wheel_build.name == "pure"  # whose tasks keep their timer alive
    del timer
    gc.collect()
    assert [task.cancel() for task in tasks] == [is_held] * 3
    assert batch.cancel() == is_held


ENDS: dict[str, Callable[[Scene, Any], object]] = {
    "ran": lambda scene, tasks: scene.clock.advance(5),
    "was cancelled": lambda scene, tasks: [task.cancel() for task in tasks],
    "was extended and ran": lambda scene, tasks: ([task.extend(50) for task in tasks], scene.clock.advance(50)),
    "was moved and ran": lambda scene, tasks: (
        [scene.build.SystemTimer("other", clock=scene.clock).start().add(task) for task in tasks],
        scene.clock.advance(5),
    ),
    "was handed back": lambda scene, tasks: scene.timer.close(),
    "was run by close": lambda scene, tasks: scene.timer.close(run_pending=True),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_task_that_is_done_is_held_by_nobody_but_its_owner(build: Build, end: str) -> None:
    scene = Scene(build)
    tasks = [scene.timer.schedule(5, str), scene.timer.schedule_at(0.005, str), build.TimerTask(5, str)]
    scene.timer.add(tasks[2])
    ENDS[end](scene, tasks)
    never_added = [build.TimerTask(5, str)]
    assert [sys.getrefcount(tasks[i]) for i in range(3)] == [sys.getrefcount(never_added[0])] * 3


@pytest.mark.parametrize("looked_at", [[], [1], [0, 1, 2]], ids=["unseen", "one looked at", "all looked at"])
@pytest.mark.parametrize("end", ENDS)
def test_a_batch_that_is_done_is_held_by_nobody_but_its_owner(build: Build, end: str, looked_at: list[int]) -> None:
    scene, owner = Scene(build), Owner()
    batch = scene.timer.schedule_many([5, 5, 5], str, each=[owner] * 3)
    ENDS[end](scene, [batch[i] for i in looked_at])
    scene.clock.advance(100)
    another = build.SystemTimer("another", clock=scene.clock).schedule_many([], str)
    assert sys.getrefcount(batch) == sys.getrefcount(another)
    is_gone = weakref.ref(owner)
    del owner, batch, scene
    gc.collect()
    assert is_gone() is None


def test_after_cancelling_all_nothing_is_held(scene: Scene) -> None:
    owner = Owner()
    tasks = [scene.timer.schedule(10**6, owner.on_timeout) for _ in range(1_000)]
    assert all(task.cancel() for task in tasks)
    is_gone = weakref.ref(owner)
    del owner
    assert is_gone() is None
