"""`sojourn.metrics`: what Prometheus scrapes is what `stats()` says."""

from __future__ import annotations

import subprocess
import sys

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from sojourn import DelayedOperation, Hub, Purgatory, SystemTimer
from sojourn.metrics import Metrics
from sojourn.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def scraped(*measured: object) -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(Metrics(*measured))  # type: ignore[arg-type]
    lines = generate_latest(registry).decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def test_a_timer_is_scraped_as_its_stats_say(clock: ManualClock) -> None:
    with SystemTimer("requests", clock=clock) as timer:
        timer.schedule(5, int)
        timer.schedule(5, int).cancel()
        timer.schedule(900, int).extend(1_000)
        clock.advance(5)
        metrics, stats = scraped(timer), timer.stats()
    assert metrics['sojourn_timer_pending{name="requests"}'] == stats.pending == 1
    assert metrics['sojourn_timer_scheduled_total{name="requests"}'] == stats.scheduled == 3
    assert metrics['sojourn_timer_extended_total{name="requests"}'] == stats.extended == 1
    by_state = {
        state: metrics[f'sojourn_timer_tasks_total{{name="requests",state="{state}"}}']
        for state in ("expired", "cancelled", "undone")
    }
    assert by_state == {"expired": 1, "cancelled": 1, "undone": 0}
    assert metrics['sojourn_timer_levels{name="requests"}'] == stats.levels
    assert metrics['sojourn_timer_buckets_queued{name="requests"}'] == stats.buckets_queued == 1


def test_lateness_is_scraped_as_a_histogram_that_counts_upwards(clock: ManualClock) -> None:
    timer = SystemTimer("late", clock=clock)  # not started: nobody moves it but us
    timer.schedule(5, int)
    timer.schedule(8, int)
    clock.advance(8)
    assert timer.advance_clock() == 2
    metrics = scraped(timer)
    buckets = [value for name, value in metrics.items() if name.startswith("sojourn_timer_lateness_seconds_bucket")]
    assert buckets == sorted(buckets)
    assert metrics['sojourn_timer_lateness_seconds_bucket{le="+Inf",name="late"}'] == 2
    assert metrics['sojourn_timer_lateness_seconds_bucket{le="0.002048",name="late"}'] == 1
    assert metrics['sojourn_timer_lateness_seconds_bucket{le="0.004096",name="late"}'] == 2


def test_a_purgatory_is_scraped_as_its_stats_say(clock: ManualClock) -> None:
    class Never(DelayedOperation):
        def try_complete(self) -> bool:
            return False

    with SystemTimer("t", clock=clock) as timer, Purgatory("fetch", timer=timer) as purgatory:
        for delay_ms in (5, 50):
            purgatory.try_complete_else_watch(Never(delay_ms), ["a", "b"])
        clock.advance(6)
        metrics = scraped(purgatory)
    assert metrics['sojourn_purgatory_watched{name="fetch"}'] == 2
    assert metrics['sojourn_purgatory_delayed{name="fetch"}'] == 1
    assert metrics['sojourn_purgatory_operations_total{name="fetch",outcome="expired"}'] == 1


def test_several_are_told_apart_by_their_names_and_one_can_be_added_later(clock: ManualClock) -> None:
    with Hub("orders", clock=clock) as orders, Hub("jobs", clock=clock) as jobs:
        metrics = Metrics(orders)
        metrics.add(jobs)
        orders.wait("k", "paid", 100)
        orders.signal("k", "paid")
        jobs.wait("k", "done", 100)
        registry = CollectorRegistry()
        registry.register(metrics)
        assert registry.get_sample_value("sojourn_hub_waits_total", {"name": "orders", "outcome": "completed"}) == 1
        assert registry.get_sample_value("sojourn_hub_pending", {"name": "orders"}) == 0
        assert registry.get_sample_value("sojourn_hub_pending", {"name": "jobs"}) == 1


def test_without_the_client_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['prometheus_client'] = None; import sojourn.metrics"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'sojourn[metrics]'" in ended.stderr
