"""`timer.advance_clock` by hand, and `ManualClock`, which does it for every timer started on it."""

from __future__ import annotations

import pytest

from scene import Scene
from sojourn import LivelockError, clock
from sojourn.testing import ManualClock
from support import Build


def test_advance_clock_runs_what_is_due_and_counts_it(by_hand: Scene) -> None:
    by_hand.schedule_many([5, 5, 6, 100])
    by_hand.clock.advance(6)
    assert [by_hand.advance_by_hand(), by_hand.advance_by_hand()] == [3, 0]


def test_advance_clock_does_not_count_what_was_cancelled(by_hand: Scene) -> None:
    by_hand.schedule_many([5, 5, 6])[1].cancel()
    by_hand.clock.advance(6)
    assert by_hand.advance_by_hand() == 2


@pytest.mark.parametrize("wheel_size", [2, 20])
def test_advance_clock_waits_for_the_next_bucket_and_no_longer(build: Build, wheel_size: int) -> None:
    scene = Scene(build, wheel_size=wheel_size, started=False)
    scene.schedule(500, "first")
    scene.schedule(600, "second")
    assert scene.advance_by_hand(1_000) == 1
    assert scene.ran == [("first", 500)]
    assert scene.clock.now_ms == 500


def test_advance_clock_waits_no_longer_than_it_was_told(by_hand: Scene) -> None:
    by_hand.schedule(500)
    assert (by_hand.advance_by_hand(499), by_hand.clock.now_ms) == (0, 499)
    assert (by_hand.advance_by_hand(1), by_hand.clock.now_ms) == (1, 500)


def test_advance_clock_with_nothing_pending_waits_the_whole_time(by_hand: Scene) -> None:
    assert (by_hand.advance_by_hand(10_000), by_hand.clock.now_ms) == (0, 10_000)


def test_advance_clock_waits_for_the_wall_clock_too(by_hand: Scene) -> None:
    by_hand.schedule_at(3_600)
    assert (by_hand.advance_by_hand(10_000_000), by_hand.clock.now_ms) == (1, 3_600_000)


def test_an_unstarted_timer_is_not_moved_by_the_clock(by_hand: Scene) -> None:
    by_hand.schedule(5)
    assert (by_hand.clock.advance(100), by_hand.ran) == (0, [])


def test_the_clock_stops_at_every_instant_at_which_something_is_due(scene: Scene) -> None:
    scene.schedule_many([70, 7, 1_800_000])
    assert scene.advance(1_800_000) == 3
    assert scene.ran == [(1, 7), (0, 70), (2, 1_800_000)]
    assert scene.clock.now_ms == 1_800_000


def test_the_clock_moves_all_its_timers_in_step(build: Build) -> None:
    scene = Scene(build)
    other = build.SystemTimer("other", clock=scene.clock).start()
    scene.schedule_many([10, 30])
    for delay_ms in (20, 40):
        other.schedule(delay_ms, scene.note, delay_ms)
    assert scene.advance(40) == 4
    assert scene.ran == [(0, 10), (20, 20), (1, 30), (40, 40)]


def test_a_timer_closed_by_a_task_of_another_on_the_same_clock_is_left_alone(build: Build) -> None:
    scene = Scene(build)
    other = build.SystemTimer("other", clock=scene.clock).start()
    other.schedule(10, scene.note, "never")
    scene.timer.schedule(10, other.close)
    assert (scene.advance(100), scene.ran) == (1, [])


def test_starting_twice_is_starting_once(scene: Scene) -> None:
    assert scene.timer.start() is scene.timer
    scene.schedule(5)
    assert scene.advance(5) == 1


def test_with_starts_and_closes_the_timer(build: Build) -> None:
    clock = ManualClock()
    with build.SystemTimer("with", clock=clock) as timer:
        task = timer.schedule(5, str)
        timer.schedule(50, str)
        assert clock.advance(5) == 1
    assert (timer.size, task.is_pending, clock.advance(100)) == (0, False, 0)


def test_a_task_may_move_the_clock_itself(scene: Scene) -> None:
    scene.timer.schedule(10, lambda: scene.clock.advance(100))
    scene.schedule(50)
    scene.advance(20)
    assert scene.ran == [("task", 50)]
    assert scene.clock.now_ms == 110


def test_tasks_that_never_let_time_pass_are_a_livelock_error(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "LIVELOCK_ROUNDS", 50)

    def again() -> None:
        scene.timer.schedule(0, again)

    scene.timer.schedule(7, again)
    with pytest.raises(LivelockError, match="time stands still at 7 ms"):
        scene.advance(100)
    scene.timer._check()
    assert len(scene.timer.close()) == 1


def test_many_zero_delays_one_after_another_are_no_livelock(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "LIVELOCK_ROUNDS", 50)

    def again(left: int) -> None:
        scene.note(left)
        if left:
            scene.timer.schedule(left % 10 == 0, again, left - 1)

    scene.timer.schedule(0, again, 500)
    scene.advance(100)
    assert len(scene.ran) == 501


def test_time_never_goes_back(scene: Scene) -> None:
    with pytest.raises(ValueError, match=r"advance\(-1\).*step_wall"):
        scene.advance(-1)


def test_a_clock_shows_its_times_in_its_repr() -> None:
    manual = ManualClock(5, wall_ms=1_000)
    manual.advance(1.5)
    assert repr(manual) == "ManualClock(now_ms=6, wall_ms=1001)"
