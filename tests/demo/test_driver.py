"""The driver keeps the world up with its pace, does what it is asked, and hangs out readings."""

from __future__ import annotations

import pytest

from demo.outside import HandDriver
from sojourn.clock import NS_PER_MS
from sojourn.demo.driver import MOST_LATE_NS, SLICE_NS, DemoDriver
from sojourn.demo.reading import LATE_BINS, late_bin


def test_the_world_is_where_the_pace_says() -> None:
    driver = HandDriver()
    driver.play(1)
    assert driver.world.now_ms == 1_000
    driver.do(lambda driver: driver.shift_speed(+3))
    driver.play(1)
    assert (driver.pace.speed, driver.world.now_ms) == (10, 11_000)


def test_a_new_speed_is_taken_for_reached_until_it_proves_not_to_be() -> None:
    driver = HandDriver()
    driver.play(2)
    driver.do(lambda driver: driver.shift_speed(+3))
    assert (driver.reading.speed, driver.reading.reached) == (10, 10)


def test_paused_nothing_moves() -> None:
    driver = HandDriver()
    driver.play(3)
    driver.do(DemoDriver.pause)
    before, stats = driver.reading, driver.world.hub.stats()
    driver.play(5)
    assert driver.reading.is_paused
    assert (driver.world.now_ms, driver.world.hub.stats()) == (3_000, stats)
    assert (driver.reading.now_ns, driver.reading.outcomes) == (before.now_ns, before.outcomes)
    driver.do(DemoDriver.pause)
    driver.play(1)
    assert driver.world.now_ms == 4_000
    assert (driver.reading.speed, driver.reading.reached) == (1, 1)  # the pause is not held against it


def test_in_slow_motion_the_hand_moves_between_milliseconds() -> None:
    driver = HandDriver()
    driver.do(lambda driver: driver.shift_speed(-2))  # a hundredth
    driver.play(0.26)
    assert driver.world.now_ms == 2
    assert 2_000_000 < driver.reading.now_ns <= 3_000_000


def test_a_world_that_cannot_keep_up_goes_as_fast_as_it_can_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = HandDriver()
    driver.do(lambda driver: driver.shift_speed(+3))
    step = driver.world.step

    def slow_step() -> None:
        driver.outside.pass_ms(0.5)
        step()

    monkeypatch.setattr(driver.world, "step", slow_step)
    for _ in range(500):
        before_ns = driver.outside.ns
        driver.turn()
        assert driver.outside.ns - before_ns <= SLICE_NS + NS_PER_MS  # then it listens
        assert driver.pace.late_ns(driver.world.now_ms) <= MOST_LATE_NS
        driver.outside.pass_ms(1)
    assert driver.reading.speed == 10
    assert 1.5 < driver.reading.reached <= 2


def test_a_reading_shows_what_the_hub_counts() -> None:
    driver = HandDriver(2_000)
    driver.play(6)
    driver.do(lambda driver: None)  # a reading of this very moment
    reading, stats = driver.reading, driver.world.hub.stats()
    assert reading.pending == stats.pending == 2_000
    assert {series.name: series.total for series in reading.outcomes} == {
        "completed": stats.completed,
        "expired": stats.expired,
        "cancelled": stats.cancelled,
    }
    assert sum(series.total for series in reading.sources) == stats.completed
    assert sum(map(sum, reading.levels)) == stats.pending


def test_rates_are_by_the_second_of_virtual_time() -> None:
    slow, fast = HandDriver(3_000), HandDriver(3_000)
    fast.do(lambda driver: driver.shift_speed(+3))
    slow.play(20)
    fast.play(2)
    assert slow.world.now_ms == fast.world.now_ms == 20_000
    for driver in (slow, fast):
        rates = [series.rate for series in driver.reading.outcomes]
        mean = [series.total / 20 for series in driver.reading.outcomes]
        assert [0.3 * each < rate < 3 * each for each, rate in zip(mean, rates, strict=True)] == [True] * 3
    assert (slow.reading.reached, fast.reading.reached) == (1, 10)


def test_a_herd_is_announced_counted_down_and_summed_up() -> None:
    driver = HandDriver(1_000)
    driver.play(3)
    assert driver.reading.herd == ""
    driver.do(DemoDriver.let_in_herd)
    driver.play(1)
    assert driver.reading.herd.startswith("Herd: 200 waits fall due in one millisecond, in 4.0")
    assert max(driver.reading.levels[2]) >= 200
    driver.play(5)
    assert driver.reading.herd == "Herd: 200 waits fell due; the last was told 9 ms late"
    driver.play(11)
    assert driver.reading.herd == ""


def test_a_herd_is_seen_the_moment_it_is_let_in() -> None:
    driver = HandDriver(30_000)
    driver.play(2.1)
    driver.do(DemoDriver.let_in_herd)
    assert sum(map(sum, driver.reading.levels)) == driver.world.hub.pending == 36_000
    assert max(driver.reading.levels[2]) >= 6_000


def test_a_killed_service_is_shown_dead_and_a_revived_one_alive() -> None:
    driver = HandDriver()
    for is_alive in (False, True):
        driver.do(lambda driver: driver.kill_or_revive(2))
        assert [source.is_alive for source in driver.reading.sources] == [True, True, is_alive, True, True]


def test_waits_are_told_late_by_no_more_than_the_driver_naps() -> None:
    driver = HandDriver(2_000)
    driver.play(12)
    lateness = driver.reading.lateness
    assert 0 <= lateness.p50 <= lateness.p99 <= lateness.most <= 10  # it takes a turn every ten milliseconds
    assert sum(lateness.bins) > 0
    assert str(lateness).endswith(" ms")


def test_a_failure_in_the_thread_is_kept_for_whoever_waits() -> None:
    driver = DemoDriver(10, seed=1)
    driver.ask(lambda driver: 1 / 0)
    with driver:
        driver._thread.join()
    assert isinstance(driver.failure, ZeroDivisionError)


def test_the_chart_of_lateness_has_a_place_for_everything() -> None:
    places = [late_bin(ms) for ms in (0, 0.049, 0.05, 0.1, 1, 10, 100, 1_000, 1e9)]
    assert places == sorted(places)
    assert (places[0], places[2], places[-1]) == (0, 1, LATE_BINS - 1)
