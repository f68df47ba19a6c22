"""Callbacks that touch the timer while it runs them, their neighbours in the same bucket above all."""

from __future__ import annotations

from typing import Any

import pytest

from scene import Scene
from sojourn import TaskState


@pytest.fixture(params=["single tasks", "a batch", "a batch looked at"])
def bucket(request: pytest.FixtureRequest, scene: Scene) -> Any:
    """Makes three tasks due at the same instant; what the middle one does besides is in `deed`."""

    def make(deed: Any) -> Any:
        def callback(place: int) -> None:
            scene.note(place)
            if place == 1 and scene.names.count(1) == 1:
                deed(tasks)
                scene.check()

        if request.param == "single tasks":
            tasks = [scene.timer.schedule(70, callback, place) for place in range(3)]
        else:
            tasks = scene.timer.schedule_many([70] * 3, callback, each=range(3))
        if request.param == "a batch looked at":
            assert all(task.is_pending for task in tasks)
        return tasks

    return make


def test_a_callback_may_cancel_the_neighbour_that_comes_next(scene: Scene, bucket: Any) -> None:
    bucket(lambda tasks: scene.note(tasks[2].cancel()))
    assert scene.advance(100) == 2
    assert scene.names == [0, 1, True]


def test_a_callback_cannot_cancel_the_neighbour_that_has_run(scene: Scene, bucket: Any) -> None:
    bucket(lambda tasks: scene.note(tasks[0].cancel()))
    assert scene.advance(100) == 3
    assert scene.names == [0, 1, False, 2]


@pytest.mark.parametrize("delay_ms", [0, 1, 30, 5_000])
def test_a_callback_may_extend_the_neighbour_that_comes_next(scene: Scene, bucket: Any, delay_ms: int) -> None:
    bucket(lambda tasks: tasks[2].extend(delay_ms))
    scene.advance(10_000)
    assert scene.ran == [(0, 70), (1, 70), (2, 70 + delay_ms)]


def test_a_callback_may_move_its_neighbour_to_another_timer(scene: Scene, bucket: Any) -> None:
    other = scene.build.SystemTimer("other", clock=scene.clock).start()
    bucket(lambda tasks: other.add(tasks[2]))
    scene.advance(200)
    assert scene.ran == [(0, 70), (1, 70), (2, 140)]
    assert other.stats().expired == 1


def test_a_callback_may_close_the_timer_under_its_neighbour(scene: Scene, bucket: Any) -> None:
    left: list[Any] = []
    tasks = bucket(lambda tasks: left.extend(scene.timer.close()))
    scene.clock.advance(100)
    assert (left, tasks[2].state, scene.names) == ([tasks[2]], TaskState.IDLE, [0, 1])


def test_a_callback_may_look_at_all_there_is(scene: Scene, bucket: Any) -> None:
    def look(tasks: Any) -> None:
        assert list(scene.timer.pending()) == [tasks[2]]
        assert [task.state for task in tasks] == [TaskState.EXPIRED, TaskState.EXPIRED, TaskState.PENDING]
        assert (scene.timer.size, scene.timer.stats().expired) == (1, 2)

    bucket(look)
    scene.advance(100)
    assert scene.names == [0, 1, 2]


def test_what_a_callback_arms_for_this_instant_runs_after_its_neighbours(scene: Scene, bucket: Any) -> None:
    bucket(lambda tasks: scene.timer.schedule(0, scene.note, "armed"))
    scene.advance(100)
    assert scene.ran == [(0, 70), (1, 70), (2, 70), ("armed", 70)]


def test_what_a_callback_arms_for_this_instant_waits_for_the_next_advance_by_hand(by_hand: Scene) -> None:
    by_hand.timer.schedule(5, lambda: by_hand.schedule(0, "armed"))
    by_hand.clock.advance(5)
    assert [by_hand.advance_by_hand(), by_hand.advance_by_hand()] == [1, 1]


def test_a_callback_may_cancel_tasks_of_later_buckets(scene: Scene, bucket: Any) -> None:
    later = [scene.schedule(delay_ms) for delay_ms in (71, 80, 500)]
    bucket(lambda tasks: [task.cancel() for task in later])
    assert scene.advance(1_000) == 3


def test_a_callback_that_falls_behind_still_sees_the_rest_run_in_order(shaped: Scene) -> None:
    """The first task takes long, as far as the clock can tell; nothing is lost or reordered."""
    shaped.timer.schedule(7, lambda: setattr(shaped.clock, "_now_ns", 700 * 10**6))
    for delay_ms in (700, 21, 14, 7_000):
        shaped.schedule(delay_ms, delay_ms)
    shaped.advance(10_000)
    assert shaped.names == [14, 21, 700, 7_000]


def test_a_chain_of_callbacks_keeps_exact_time(shaped: Scene) -> None:
    def beat(left: int) -> None:
        shaped.note(left)
        if left:
            shaped.timer.schedule(14, beat, left - 1)

    shaped.timer.schedule(14, beat, 50)
    shaped.advance(14 * 51)
    assert shaped.ran == [(left, 14 * (51 - left)) for left in range(50, -1, -1)]
