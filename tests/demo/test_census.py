"""Buckets are counted a few at a time, and rightly."""

from __future__ import annotations

from sojourn import SystemTimer
from sojourn.demo.census import BUDGET, Census
from sojourn.testing import ManualClock


def timer_with(delays_ms: list[int]) -> tuple[SystemTimer, ManualClock]:
    clock = ManualClock()
    timer = SystemTimer(clock=clock).start()
    timer.schedule_many(delays_ms, lambda: None)
    return timer, clock


def test_a_few_looks_find_what_the_occupancy_shows() -> None:
    timer, _ = timer_with([delay_ms * 7 for delay_ms in range(1, 20_000)])
    census = Census(timer)
    for _ in range(20_000 // BUDGET + 1):
        levels = census.look(0)
    assert levels == timer.occupancy()


def test_one_look_counts_no_more_than_the_budget_and_a_bucket() -> None:
    timer, _ = timer_with([delay_ms * 7 for delay_ms in range(1, 20_000)])
    levels = Census(timer).look(0)
    assert BUDGET < sum(map(sum, levels)) <= BUDGET + max(map(max, timer.occupancy()))


def test_a_bucket_that_a_hand_has_passed_is_shown_empty_at_once() -> None:
    timer, clock = timer_with([900] * 7 + [4_000] * 2 * BUDGET + [70_000] * 2 * BUDGET)
    census = Census(timer)
    assert census.look(0)[2][2] == 7
    clock.advance(900)
    levels = census.look(900)  # whose turn it is are the buckets from 4,000 to 70,000
    assert (levels[2][2], levels[3][8]) == (0, 2 * BUDGET)


def test_counting_all_is_the_occupancy() -> None:
    timer, _ = timer_with([3, 3, 30, 300, 3_000, 30_000])
    census = Census(timer)
    census.count_all()
    assert tuple(map(tuple, census.levels)) == timer.occupancy()
