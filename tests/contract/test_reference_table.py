"""Every row of the design's table "reference / ours": weaknesses of the reference that this timer must not have."""

from __future__ import annotations

import re
from concurrent.futures import Executor, Future
from typing import Any

import pytest

from scene import Scene
from sojourn import DelayError, TaskState, TimerClosedError
from support import Build

YEAR_MS = 365 * 24 * 3_600_000


def longest_delay_ms(scene: Scene, refused_ms: int = 2**63 - 1) -> int:
    """As the refusal of a longer one tells it."""
    with pytest.raises(DelayError) as caught:
        scene.schedule(refused_ms)
    longest = re.search(r"the longest delay now is (\d+)$", str(caught.value))
    assert longest is not None
    return int(longest[1])


# fires up to 1 ms early (rounds down); worse with a larger tick | never early; rounding up in one place


@pytest.mark.parametrize("tick_ms", [1, 7, 1_000])
@pytest.mark.parametrize("delay_ms", [0, 1, 5, 7, 999, 1_000, 1_001])
@pytest.mark.parametrize("fraction_ms", [0, 0.000001, 0.5, 0.999999, 3.25])
def test_never_early(build: Build, tick_ms: int, delay_ms: int, fraction_ms: float) -> None:
    scene = Scene(build, tick_ms=tick_ms)
    scene.advance(fraction_ms)
    armed_ns = scene.clock.now_ns()
    ran_ns: list[int] = []
    scene.timer.schedule(delay_ms, lambda: ran_ns.append(scene.clock.now_ns()))
    scene.advance(delay_ms + tick_ms)
    [waited_ns] = [at_ns - armed_ns for at_ns in ran_ns]
    assert 0 <= waited_ns - delay_ms * 10**6 < tick_ms * 10**6


def test_never_early_by_a_millionth_of_a_millisecond(scene: Scene) -> None:
    scene.advance(0.5)
    scene.schedule(1)
    scene.advance(1.499999)
    assert scene.ran == []
    assert scene.advance(0.000001) == 1


@pytest.mark.parametrize("start_ms", [-10, 0, 10])
def test_never_early_when_moved_by_hand_at_a_fraction_of_a_millisecond(build: Build, start_ms: int) -> None:
    scene = Scene(build, start_ms=start_ms, wall_ms=start_ms, started=False)
    scene.schedule(3)
    scene.schedule_at((start_ms + 3) / 1000)
    scene.advance(2.999999)
    assert scene.advance_by_hand() == 0
    scene.advance(0.000001)
    assert scene.advance_by_hand() == 2


# a delay near the 64-bit limit overflows and fires at once; negative clock values break indexing
# | every representable delay is either honoured or refused with a clear error


@pytest.mark.parametrize("start_ms", [0, 1, -1, -(10**12), 10**12])
@pytest.mark.parametrize("tick_ms", [1, 7, 2**40])
@pytest.mark.parametrize("wheel_size", [2, 20, 512])
def test_honest_at_the_64_bit_edge(build: Build, start_ms: int, tick_ms: int, wheel_size: int) -> None:
    scene = Scene(build, start_ms=start_ms, tick_ms=tick_ms, wheel_size=wheel_size)
    longest_ms = longest_delay_ms(scene)
    tasks = [scene.schedule(longest_ms - less) for less in (0, 1, 2, tick_ms + 2, longest_ms // 2)]
    with pytest.raises(DelayError, match=f"={longest_ms + 1} ends after"):
        scene.schedule(longest_ms + 1)
    assert tasks[0].extend(longest_ms)
    with pytest.raises(DelayError, match=f"={longest_ms + 1} ends after"):
        tasks[0].extend(longest_ms + 1)
    batch = scene.schedule_many([longest_ms, 0])
    assert scene.advance(tick_ms) == 1
    assert [task.is_pending for task in (*tasks, batch[0])] == [True] * 6
    assert list(scene.timer.pending()) == [tasks[4], tasks[3], tasks[2], tasks[1], tasks[0], batch[0]]
    assert scene.advance(batch[0].deadline_ms - scene.clock.now_ms - 1) < 6
    assert batch[0].is_pending
    scene.advance(tick_ms)
    assert scene.timer.size == 0


@pytest.mark.parametrize("refused_ms", [2**63 - 1, 2**63, 2**64, 10**30])
def test_the_longest_delay_that_a_refusal_names_is_accepted(scene: Scene, refused_ms: int) -> None:
    scene.advance(1_000)
    assert scene.schedule(longest_delay_ms(scene, refused_ms)).is_pending


def test_honest_at_the_64_bit_edge_of_the_wall_clock(scene: Scene) -> None:
    task, longest_ms = scene.schedule_at(10), longest_delay_ms(scene)
    assert task.extend(longest_ms)
    assert scene.advance(10**6) == 0
    assert scene.step_wall(longest_ms - 10**6 - 1) == 0
    assert scene.step_wall(1) == 1


@pytest.mark.parametrize("delay_ms", [100 * YEAR_MS, 300 * YEAR_MS, 10**15, 2**62])
def test_a_delay_of_centuries_is_honoured_or_refused(build: Build, delay_ms: int) -> None:
    scene = Scene(build)
    try:
        scene.schedule(delay_ms)
    except DelayError as refusal:
        assert str(delay_ms) in str(refusal)  # noqa: PT017
        return
    assert scene.advance(delay_ms - 1) == 0
    assert scene.advance(1) == 1


@pytest.mark.parametrize("start_ms", [-1, -7, -1_000, -(10**9)])
def test_a_clock_may_start_before_zero_and_pass_it(build: Build, start_ms: int) -> None:
    scene = Scene(build, start_ms=start_ms, tick_ms=7, wheel_size=4)
    delays_ms = [0, 1, 6, 7, 8, -start_ms - 1, -start_ms, -start_ms + 1, 10**9 + 50]
    scene.schedule_many(delays_ms)
    assert scene.advance(2 * 10**9) == len(delays_ms)
    assert sorted(scene.ran) == [(i, scene.tick_after(start_ms + ms)) for i, ms in enumerate(delays_ms)]


# an exception in a task disappears | it reaches a handler and the log, with the task; the next task runs


def test_an_exception_reaches_a_handler_with_its_task_and_the_next_task_runs(build: Build) -> None:
    told: list[Any] = []
    scene = Scene(build, on_error=lambda *failure: told.append(failure))
    task = scene.timer.schedule(5, lambda: 1 / 0)
    scene.schedule(5, "next")
    scene.advance(5)
    assert [(failed, type(exception)) for failed, exception in told] == [(task, ZeroDivisionError)]
    assert scene.names == ["next"]


def test_an_exception_reaches_the_log(build: Build, caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(build)
    plain = build.SystemTimer("plain", clock=scene.clock).start()
    plain.schedule(5, lambda: 1 / 0)
    scene.advance(5)
    assert "ZeroDivisionError" in caplog.text


# one slow task delays all | the executor is the caller's choice; a bounded drain keeps adds responsive during a herd


def test_one_slow_task_delays_no_other_when_the_executor_takes_it(build: Build) -> None:
    class Parallel(Executor):
        """The slow task has not returned yet; the others are done at once."""

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            if args[0] is not slow:
                fn(*args)
            return Future()

    scene = Scene(build, executor=Parallel())
    slow = scene.schedule(5, "slow")
    scene.schedule(5, "same instant")
    scene.schedule(6, "later")
    scene.advance(10)
    assert scene.ran == [("same instant", 5), ("later", 6)]


def test_a_bounded_drain_runs_a_herd_in_turns_between_which_others_may_act(by_hand: Scene) -> None:
    batch = by_hand.schedule_many([5] * 1_000)
    by_hand.clock.advance(5)
    assert by_hand.timer._run_due(100) == 100
    by_hand.check()
    assert batch[100].cancel()
    assert batch[101].extend(0)
    by_hand.schedule(0, "armed")
    assert by_hand.timer.nap_ns() == 0
    assert by_hand.advance_by_hand() + by_hand.advance_by_hand() == 900
    assert by_hand.names == [*range(100), *range(102, 1_000), 101, "armed"]


# `cancel()` does not say whether it won | it returns True exactly for the caller that prevented the run


def test_cancel_says_whether_it_won(scene: Scene) -> None:
    prevented, too_late = scene.schedule(6), scene.schedule(5)
    scene.advance(5)
    assert [prevented.cancel(), prevented.cancel(), too_late.cancel()] == [True, False, False]
    assert scene.advance(10) == 0


# equal deadlines fire in an order that depends on wheel level | first in, first out among equal deadlines


@pytest.mark.parametrize("wheel_size", [2, 3, 4, 20])
def test_first_in_first_out_among_equal_deadlines_across_wheel_levels(build: Build, wheel_size: int) -> None:
    for deadline_ms in range(1, wheel_size**3 + 2, max(1, wheel_size**2 // 4)):
        scene = Scene(build, wheel_size=wheel_size)
        step_ms = max(1, deadline_ms // 12)
        armed_ms = range(0, deadline_ms, step_ms)
        for at_ms in armed_ms:
            scene.advance(at_ms - scene.clock.now_ms)
            scene.schedule(deadline_ms - at_ms, at_ms)
        scene.advance(deadline_ms)
        assert scene.ran == [(at_ms, deadline_ms) for at_ms in armed_ms]


# a timer closed with pending tasks drops them silently | closing returns what was left undone


def test_close_returns_what_was_left_undone(scene: Scene) -> None:
    later, sooner = scene.schedule(50), scene.schedule(10)
    scene.schedule(5, "ran")
    scene.advance(5)
    assert scene.timer.close() == [sooner, later]
    assert {task.state for task in (sooner, later)} == {TaskState.IDLE}


# adding after close is accepted and never fires | a clear error


def test_adding_after_close_is_a_clear_error(scene: Scene) -> None:
    scene.timer.close()
    with pytest.raises(TimerClosedError, match="timer 'scene' is closed and would never run this"):
        scene.schedule(5)


# levels grow with idle time | they do not


@pytest.mark.parametrize("moved", ["by its driver", "by hand", "not at all"])
@pytest.mark.parametrize("wheel_size", [2, 20])
def test_levels_do_not_grow_with_idle_time(wheel_build: Build, wheel_size: int, moved: str) -> None:
    scene = Scene(wheel_build, wheel_size=wheel_size, started=moved == "by its driver")
    for _ in range(10):
        scene.schedule(1).cancel()
        scene.advance(YEAR_MS)
        if moved == "by hand":
            scene.advance_by_hand()
    assert scene.timer.stats().levels <= 2
    scene.schedule(1)
    scene.advance_by_hand(1)
    assert len(scene.ran) == 1


# cancel can leave a ghost entry counted in size() | size is exact


def test_size_is_exact_whatever_is_cancelled_and_when(shaped: Scene) -> None:
    tasks = [shaped.schedule(delay_ms) for delay_ms in range(0, 2_000, 10)]
    while tasks:
        shaped.advance(70)
        tasks = [task for task in tasks if task.is_pending]
        assert shaped.timer.size == len(tasks) == len(list(shaped.timer.pending()))
        for task in tasks[::3]:
            assert task.cancel()
            shaped.check()
    assert shaped.timer.size == 0


# the mock timer behaves differently at the deadline | tests drive the real timer on a manual clock


def test_tests_drive_the_real_timer_on_a_manual_clock(build: Build) -> None:
    scene = Scene(build)
    assert isinstance(scene.timer, build.Timer)
    task = scene.schedule(5)
    scene.schedule(0, "not inside schedule")
    assert (scene.ran, scene.timer.size) == ([], 2)
    scene.advance(4)
    assert (scene.names, task.is_pending) == (["not inside schedule"], True)
    scene.advance(1)
    assert scene.ran[1:] == [("task", 5)]
