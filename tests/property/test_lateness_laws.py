"""Laws of the lateness histogram: nothing is lost, and a quantile is an upper bound to a factor of two."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scene import Scene, on_builds
from sojourn.timer import LatenessHistogram
from sojourn.timer._state import HISTOGRAM_SIZE, lateness_bucket
from support import Build

DAY_NS = 24 * 3_600 * 10**9

lateness_ns = st.one_of(st.integers(0, 10**4), st.integers(0, 10**10), st.integers(DAY_NS, 30 * DAY_NS))
shares = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


def histogram(late_ns: list[int]) -> LatenessHistogram:
    counts = [0] * HISTOGRAM_SIZE
    for ns in late_ns:
        counts[lateness_bucket(ns)] += 1
    return LatenessHistogram(tuple(counts), max(late_ns, default=0) / 10**6)


@given(late_ns=st.lists(lateness_ns, max_size=50))
def test_every_run_is_counted_once(late_ns: list[int]) -> None:
    assert histogram(late_ns).total == len(late_ns)


@given(ns=lateness_ns)
def test_a_run_is_counted_under_the_first_bound_it_stays_below(ns: int) -> None:
    bounds_ms = histogram([]).bounds_ms
    bucket = lateness_bucket(ns)
    assert bucket == HISTOGRAM_SIZE - 1 or ns / 10**6 < bounds_ms[bucket]
    assert bucket == 0 or ns / 10**6 >= bounds_ms[bucket - 1]


@given(late_ns=st.lists(lateness_ns, min_size=1, max_size=50), share=shares)
def test_a_quantile_is_exceeded_by_no_more_than_the_rest(late_ns: list[int], share: float) -> None:
    quantile_ms = histogram(late_ns).quantile(share)
    assert sum(ns / 10**6 <= quantile_ms for ns in late_ns) >= share * len(late_ns)


@given(late_ns=st.lists(st.integers(0, 5 * DAY_NS), min_size=1, max_size=50), share=shares)
def test_a_quantile_is_right_to_a_factor_of_two(late_ns: list[int], share: float) -> None:
    exact_ms = sorted(late_ns)[max(0, math.ceil(share * len(late_ns)) - 1)] / 10**6
    assert exact_ms <= histogram(late_ns).quantile(share) <= max(0.001, 2 * exact_ms)


@given(late_ns=st.lists(lateness_ns, max_size=50))
def test_quantiles_grow_with_the_share_up_to_the_maximum(late_ns: list[int]) -> None:
    lateness = histogram(late_ns)
    quantiles_ms = [lateness.quantile(share / 10) for share in range(11)]
    assert quantiles_ms == sorted(quantiles_ms)
    assert quantiles_ms[-1] == lateness.max_ms


@pytest.mark.parametrize("share", [-0.01, 1.01, math.nan])
def test_a_share_lies_between_zero_and_one(share: float) -> None:
    with pytest.raises(ValueError, match="a share lies between 0 and 1"):
        histogram([]).quantile(share)


@on_builds
@given(
    delays=st.lists(st.integers(0, 50), min_size=1, max_size=10),
    late_ns=st.integers(0, 10**11),
    tick_ms=st.integers(1, 10),
)
def test_a_timer_notes_the_time_from_each_deadline_to_its_run(
    build: Build, delays: list[int], late_ns: int, tick_ms: int
) -> None:
    scene = Scene(build, started=False, tick_ms=tick_ms)
    scene.schedule_many(delays)
    scene.clock.advance(60)
    scene.clock._advance_ns(late_ns)
    scene.advance_by_hand()
    expected = [60 * 10**6 + late_ns - delay_ms * 10**6 for delay_ms in delays]
    assert scene.timer.stats().lateness == histogram(expected)
