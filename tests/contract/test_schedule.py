"""`timer.schedule`: what runs, when, in which order and with what."""

from __future__ import annotations

import numpy as np
import pytest

from scene import Scene
from sojourn import TaskState

DELAYS_MS = [0, 1, 2, 3, 4, 6, 7, 8, 13, 14, 19, 20, 21, 399, 400, 401, 511, 512, 513, 3_583, 3_584, 8_000, 1_000_000]


class Whole:
    """Not an int, but as good as one."""

    def __index__(self) -> int:
        return 5


def test_every_task_runs_at_the_first_tick_not_before_its_deadline(shaped: Scene) -> None:
    for delay_ms in reversed(DELAYS_MS):
        shaped.schedule(delay_ms, delay_ms)
    assert shaped.advance(max(DELAYS_MS) + 7) == len(DELAYS_MS)
    assert sorted(shaped.ran) == [(delay_ms, shaped.tick_after(delay_ms)) for delay_ms in DELAYS_MS]


def test_deadlines_count_from_the_moment_of_scheduling(shaped: Scene) -> None:
    for armed_ms in range(0, 50, 5):
        shaped.schedule(30, armed_ms + 30)
        shaped.advance(5)
    shaped.advance(40)
    assert shaped.ran == [(deadline_ms, shaped.tick_after(deadline_ms)) for deadline_ms in range(30, 80, 5)]


def test_tasks_run_in_the_order_of_their_deadlines_not_of_their_scheduling(shaped: Scene) -> None:
    for delay_ms in (700, 14, 140, 7, 70_000, 1_400):
        shaped.schedule(delay_ms, delay_ms)
    shaped.advance(70_000)
    assert shaped.names == [7, 14, 140, 700, 1_400, 70_000]


def test_tasks_of_one_deadline_run_first_in_first_out_whichever_wheels_they_came_through(shaped: Scene) -> None:
    deadline_ms = shaped.timer.tick_ms * shaped.timer.wheel_size**2  # here buckets of three wheels expire at once
    left_ms = deadline_ms
    armed = []
    while left_ms:
        shaped.schedule(left_ms, left_ms)
        armed.append(left_ms)
        shaped.advance(left_ms - left_ms // 2)
        left_ms //= 2
    assert shaped.ran == [(name, deadline_ms) for name in armed]


def test_one_late_advance_by_hand_still_runs_all_in_order(shaped: Scene) -> None:
    shaped.clock.detach(shaped.timer)
    for delay_ms in reversed(DELAYS_MS):
        shaped.schedule(delay_ms, delay_ms)
    shaped.clock.advance(10**7)
    assert shaped.advance_by_hand() == len(DELAYS_MS)
    due_ticks = [shaped.tick_after(name) for name in shaped.names]
    assert due_ticks == sorted(due_ticks)


def test_a_task_armed_while_others_are_overdue_neither_overtakes_nor_loses_them(shaped: Scene) -> None:
    shaped.clock.detach(shaped.timer)
    for delay_ms in (7, 70, 700):
        shaped.schedule(delay_ms, delay_ms)
    for at_ms in (350, 1_400):
        shaped.clock.advance(at_ms - shaped.clock.now_ms)
        shaped.schedule(0, f"armed at {at_ms}")
        shaped.schedule(700, f"after {at_ms}")
    assert shaped.advance_by_hand() == 6
    assert shaped.names == [7, 70, "armed at 350", 700, "after 350", "armed at 1400"]


def test_more_buckets_than_one_round_takes_still_run_in_order(by_hand: Scene) -> None:
    by_hand.schedule_many(range(10_000, 0, -1))
    by_hand.clock.advance(10_000)
    assert by_hand.advance_by_hand() == 10_000
    assert by_hand.names == list(range(9_999, -1, -1))


def test_a_herd_that_sinks_in_several_rounds_stays_first_in_first_out(by_hand: Scene) -> None:
    by_hand.schedule_many([399] * 10_000)
    by_hand.clock.advance(399)
    assert by_hand.advance_by_hand() == 10_000
    assert by_hand.names == list(range(10_000))


def test_a_task_runs_exactly_once(scene: Scene) -> None:
    scene.schedule(5)
    assert [scene.advance(5) for _ in range(3)] == [1, 0, 0]


def test_the_callback_gets_its_arguments(scene: Scene) -> None:
    seen: list[tuple[object, ...]] = []
    scene.timer.schedule(1, lambda *args: seen.append(args), "a", 2, None)
    scene.timer.schedule(2, lambda *args: seen.append(args))
    scene.advance(2)
    assert seen == [("a", 2, None), ()]


def test_a_delay_of_zero_runs_at_the_next_advance_not_inside_schedule(by_hand: Scene) -> None:
    task = by_hand.schedule(0)
    assert (by_hand.ran, task.state) == ([], TaskState.PENDING)
    assert by_hand.advance_by_hand() == 1


@pytest.mark.parametrize(
    "delay_ms", [Whole(), np.int32(5), np.int64(5), np.uint8(5)], ids=lambda value: type(value).__name__
)
def test_any_whole_number_is_a_delay(scene: Scene, delay_ms: object) -> None:
    scene.timer.schedule(delay_ms, scene.note, "task")
    scene.advance(10)
    assert scene.ran == [("task", 5)]


def test_a_task_shows_its_delay_deadline_and_state(scene: Scene) -> None:
    scene.advance(100)
    task = scene.schedule(30)
    assert (task.delay_ms, task.deadline_ms) == (30, 130)
    assert (task.state, task.is_pending, task.is_cancelled) == (TaskState.PENDING, True, False)
    scene.advance(30)
    assert (task.delay_ms, task.deadline_ms) == (30, 130)
    assert (task.state, task.is_pending, task.is_cancelled) == (TaskState.EXPIRED, False, False)


def test_a_task_names_its_callback_and_state_in_its_repr(scene: Scene) -> None:
    task = scene.schedule(30)
    assert repr(task) == "<TimerTask Scene.note pending delay_ms=30 deadline_ms=30>"


def test_a_task_is_in_state_expired_while_it_runs(scene: Scene) -> None:
    task = scene.timer.schedule(1, lambda: scene.note(task.state))
    scene.advance(1)
    assert scene.names == [TaskState.EXPIRED]
