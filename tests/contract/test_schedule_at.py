"""`timer.schedule_at`: on the wall clock, however that is set; never early by it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from scene import Scene
from sojourn import TaskState
from sojourn.clock import Alarm
from sojourn.testing import ManualClock
from support import Build

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOON_MS = int(NOON.timestamp()) * 1000


@pytest.fixture
def noon(build: Build) -> Scene:
    """A scene that opens at noon by the wall clock."""
    return Scene(build, wall_ms=NOON_MS)


def wall_names(scene: Scene) -> list[int]:
    """How far past noon the wall clock was at each run, in ms."""
    return [wall_ms - NOON_MS for wall_ms in scene.names]


def note_wall(scene: Scene) -> None:
    scene.note(scene.clock.wall_ns() // 10**6)


@pytest.mark.parametrize(
    "when",
    [
        NOON + timedelta(seconds=90),
        (NOON + timedelta(seconds=90)).astimezone(timezone(timedelta(hours=-7, minutes=-30))),
        NOON_MS // 1000 + 90,
        NOON_MS / 1000 + 90.0,
    ],
    ids=["utc", "another zone", "epoch seconds", "epoch seconds as a float"],
)
def test_a_task_runs_when_the_wall_clock_shows_its_time(noon: Scene, when: object) -> None:
    task = noon.timer.schedule_at(when, note_wall, noon)
    assert (task.delay_ms, task.deadline_ms) == (90_000, NOON_MS + 90_000)
    noon.advance(200_000)
    assert wall_names(noon) == [90_000]
    assert task.state is TaskState.EXPIRED


def test_a_fraction_of_a_millisecond_is_rounded_up(noon: Scene) -> None:
    noon.schedule_at(NOON + timedelta(microseconds=1))
    noon.advance(0.999)
    assert noon.ran == []
    assert noon.advance(0.001) == 1


def test_setting_the_wall_clock_forward_brings_the_task_forward(noon: Scene) -> None:
    noon.schedule_at(NOON + timedelta(hours=1))
    assert noon.step_wall(3_600_000 - 1) == 0
    assert noon.advance(1) == 1
    assert noon.ran == [("task", 1)]


def test_setting_the_wall_clock_back_puts_the_task_off(noon: Scene) -> None:
    noon.schedule_at(NOON + timedelta(hours=1))
    noon.advance(3_599_999)
    noon.step_wall(-7_200_000)
    noon.advance(7_200_000)
    assert noon.ran == []
    noon.advance(1)
    assert noon.ran == [("task", 3_600_000 + 7_200_000)]


def test_a_step_back_of_one_tick_is_a_step_back(shaped: Scene) -> None:
    tick_ms = shaped.timer.tick_ms
    shaped.schedule_at(10).cancel()
    shaped.advance(100 * tick_ms)
    shaped.advance_by_hand()
    shaped.step_wall(-tick_ms)
    shaped.schedule_at(98 * tick_ms / 1000)
    assert shaped.advance(0) == 1


def test_waking_from_suspend_runs_what_fell_due_meanwhile(noon: Scene) -> None:
    noon.schedule_at(NOON + timedelta(minutes=10), "on the wall clock")
    noon.schedule(600_000, "on the monotonic clock")
    assert noon.clock.suspend(3_600_000) == 1
    assert noon.ran == [("on the wall clock", 0)]
    noon.advance(600_000)
    assert noon.ran[1:] == [("on the monotonic clock", 600_000)]


def test_steps_of_the_wall_clock_do_not_touch_monotonic_delays(noon: Scene) -> None:
    noon.schedule(100)
    noon.step_wall(10**9)
    noon.advance(50)
    noon.step_wall(-(10**10))
    noon.advance(50)
    assert noon.ran == [("task", 100)]


def test_a_time_in_the_past_runs_at_the_next_advance(noon: Scene) -> None:
    noon.timer.schedule_at(NOON - timedelta(days=10_000), noon.note, "long ago")
    noon.timer.schedule_at(datetime(1, 1, 1, tzinfo=UTC), noon.note, "longest ago")
    assert (noon.ran, noon.timer.size) == ([], 2)
    assert noon.advance(0) == 2


def test_the_last_datetime_there_is_can_be_waited_for(noon: Scene) -> None:
    task = noon.schedule_at(datetime.max.replace(tzinfo=UTC))
    noon.advance(10**9)
    assert task.is_pending


def test_tasks_of_one_wall_time_run_first_in_first_out_across_steps_back_and_forth(shaped: Scene) -> None:
    for place, step_ms in enumerate([0, 900, -850, 400, -400, 13, -60, 0]):
        shaped.step_wall(step_ms)
        shaped.schedule_at(1, place)
    shaped.step_wall(10_000)
    assert shaped.names == list(range(8))


def test_wall_clock_tasks_run_in_the_order_of_their_times_after_a_step(shaped: Scene) -> None:
    for ms in (9_000, 70, 800, 5, 800, 1):
        shaped.schedule_at(ms / 1000, ms)
    shaped.step_wall(-5_000)
    shaped.step_wall(20_000)
    assert [-(-ms // 7) for ms in shaped.names] == sorted(-(-ms // 7) for ms in (9_000, 70, 800, 5, 800, 1))


def test_cancelling_a_wall_clock_task_prevents_it(shaped: Scene) -> None:
    tasks = [shaped.schedule_at(ms / 1000, ms) for ms in range(0, 200, 10)]
    shaped.step_wall(-1_000)
    assert all(task.cancel() for task in tasks[::2])
    shaped.check()
    shaped.step_wall(2_000)
    assert shaped.names == list(range(10, 200, 20))


def test_an_unstarted_timer_sees_the_step_when_it_is_moved(by_hand: Scene) -> None:
    by_hand.schedule_at(3_600)
    by_hand.step_wall(3_600_000)
    assert by_hand.ran == []
    assert by_hand.advance_by_hand() == 1


def test_what_waits_for_the_wall_clock_is_pending_like_the_rest(noon: Scene) -> None:
    soon, later = noon.schedule(5), noon.schedule_at(NOON)
    stats = noon.timer.stats()
    assert (noon.timer.size, stats.pending, stats.scheduled) == (2, 2, 2)
    assert list(noon.timer.pending()) == [soon, later]
    assert noon.timer.close() == [soon, later]


class Stepped(ManualClock):
    """A clock whose wall is set an hour forward, once, while somebody sleeps."""

    step_ms = 3_600_000

    def wait(self, alarm: Alarm, ns: int) -> None:
        step, self.step_ms = self.step_ms, 0
        self.step_wall(step)
        super().wait(alarm, ns)


def test_who_sleeps_looks_at_the_wall_clock_every_second(build: Build) -> None:
    clock = Stepped()
    timer = build.SystemTimer("asleep", clock=clock)
    ran: list[int] = []
    timer.schedule_at(3_600, lambda: ran.append(clock.now_ms))
    assert timer.advance_clock(10_000_000) == 1
    assert ran == [1_000]
