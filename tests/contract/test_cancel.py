"""`task.cancel`: who prevented the run is told so, and nobody else."""

from __future__ import annotations

from scene import Scene
from sojourn import TaskState
from sojourn.testing import ManualClock
from support import Build


def test_a_cancelled_task_never_runs(shaped: Scene) -> None:
    tasks = [shaped.schedule(delay_ms, delay_ms) for delay_ms in range(100)]
    for task in tasks[::2]:
        assert task.cancel()
        shaped.check()
    shaped.advance(200)
    assert shaped.names == list(range(1, 100, 2))


def test_cancel_is_true_once_and_false_ever_after(scene: Scene) -> None:
    task = scene.schedule(5)
    assert [task.cancel(), task.cancel()] == [True, False]
    assert (task.state, task.is_cancelled) == (TaskState.CANCELLED, True)


def test_cancelling_a_task_that_has_run_is_false_and_changes_nothing(scene: Scene) -> None:
    task = scene.schedule(5)
    scene.advance(5)
    assert not task.cancel()
    assert (task.state, scene.timer.stats().cancelled) == (TaskState.EXPIRED, 0)


def test_cancelling_a_task_that_was_never_added_is_false(scene: Scene) -> None:
    task = scene.build.TimerTask(5, print)
    assert not task.cancel()
    assert task.state is TaskState.IDLE


def test_a_running_task_can_no_longer_cancel_itself(scene: Scene) -> None:
    task = scene.timer.schedule(5, lambda: scene.note(task.cancel()))
    scene.advance(5)
    assert scene.names == [False]
    assert task.state is TaskState.EXPIRED


def test_cancelling_the_soonest_task_lets_the_next_one_run_on_time(shaped: Scene) -> None:
    soonest = shaped.schedule(14)
    shaped.schedule(140, "next")
    soonest.cancel()
    shaped.advance(200)
    assert shaped.ran == [("next", 140)]


def test_a_bucket_emptied_by_cancelling_can_be_filled_again(shaped: Scene) -> None:
    for _ in range(3):
        shaped.schedule(70).cancel()
        shaped.check()
    shaped.schedule(70, "last")
    shaped.advance(70)
    assert shaped.ran == [("last", 70)]


def test_a_task_is_cancelled_wherever_it_has_sunk_to(shaped: Scene) -> None:
    tasks = {at_ms: shaped.schedule(1_000, at_ms) for at_ms in range(0, 1_000, 50)}
    for at_ms, task in tasks.items():
        shaped.clock.advance(at_ms - shaped.clock.now_ms)
        assert task.cancel()
        shaped.check()
    assert (shaped.advance(2_000), shaped.ran) == (0, [])


def test_a_driver_sleeps_past_what_was_cancelled(by_hand: Scene) -> None:
    soonest = by_hand.timer.schedule(14, print)
    by_hand.timer.schedule(140, print)
    soonest.cancel()
    assert by_hand.timer.nap_ns() > 100 * 1_000_000


def test_a_task_leaves_its_own_timer_among_many_that_come_and_go(build: Build) -> None:
    clock = ManualClock()
    timers = [build.SystemTimer(clock=clock) for _ in range(50)]
    tasks = [(i, timers[i].schedule(5, print, i)) for i in range(50)]
    for i in range(0, 50, 3):
        timers[i] = build.SystemTimer(clock=clock)  # where another was, that is gone now, with its task
        tasks[i] = (i, timers[i].schedule(5, print, i))
    for i, task in reversed(tasks):
        assert [timer.size for timer in timers] == [1] * (i + 1) + [0] * (49 - i)
        assert task.cancel()
    assert [timer.stats().cancelled for timer in timers] == [1] * 50
