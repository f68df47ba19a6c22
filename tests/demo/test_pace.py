"""Virtual time keeps to the pace it is given."""

from __future__ import annotations

import pytest

from demo.outside import Outside
from sojourn.clock import NS_PER_MS
from sojourn.demo.pace import SPEEDS, Pace


def test_virtual_time_passes_as_many_times_as_fast_as_the_speed_says() -> None:
    outside = Outside()
    pace = Pace(outside, speed=10)
    outside.pass_ms(7)
    assert pace.now_ns() == 70 * NS_PER_MS


def test_a_pause_takes_no_virtual_time_and_changes_none() -> None:
    outside = Outside()
    pace = Pace(outside)
    outside.pass_ms(5)
    pace.toggle_pause()
    outside.pass_ms(1_000)
    assert pace.now_ns() == 5 * NS_PER_MS
    pace.toggle_pause()
    outside.pass_ms(2)
    assert pace.now_ns() == 7 * NS_PER_MS


def test_a_change_of_speed_changes_nothing_that_has_passed() -> None:
    outside = Outside()
    pace = Pace(outside)
    outside.pass_ms(100)
    pace.shift(+1)
    assert (pace.now_ns(), pace.speed) == (100 * NS_PER_MS, 2)
    outside.pass_ms(100)
    assert pace.now_ns() == 300 * NS_PER_MS


@pytest.mark.parametrize(("steps", "speed"), [(99, SPEEDS[-1]), (-99, SPEEDS[0]), (-1, 0.1), (1, 2)])
def test_there_is_a_slowest_and_a_fastest_speed(steps: int, speed: float) -> None:
    pace = Pace(Outside())
    pace.shift(steps)
    assert pace.speed == speed


def test_lateness_is_real_time_whatever_the_speed() -> None:
    outside = Outside()
    pace = Pace(outside, speed=10)
    outside.pass_ms(3)  # virtual time: 30 ms
    assert [pace.late_ns(due_ms) / NS_PER_MS for due_ms in (10, 30, 31)] == [2, 0, 0]


def test_a_restart_forgives_what_is_late() -> None:
    outside = Outside()
    pace = Pace(outside)
    outside.pass_ms(500)
    pace.restart_at(20 * NS_PER_MS)
    assert (pace.now_ns(), pace.late_ns(20)) == (20 * NS_PER_MS, 0)
