"""The only rounding there is: up, and by less than one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sojourn import DelayError
from sojourn.clock import NS_PER_MS, ManualClock, ms_at_or_after, tick_at_or_after
from sojourn.timer._state import EPOCH, wall_ms, whole_ms

ZONES = [ZoneInfo(name) for name in ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu")]
times = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=st.sampled_from([UTC, *ZONES]))
whole = st.integers(-(2**70), 2**70)


@given(ns=whole)
def test_the_millisecond_at_or_after_is_the_first_one_not_before(ns: int) -> None:
    ms = ms_at_or_after(ns)
    assert (ms - 1) * NS_PER_MS < ns <= ms * NS_PER_MS


@given(ms=whole, tick_ms=st.integers(1, 2**40))
def test_the_tick_at_or_after_is_the_first_one_not_before(ms: int, tick_ms: int) -> None:
    tick = tick_at_or_after(ms, tick_ms)
    assert (tick - 1) * tick_ms < ms <= tick * tick_ms


@given(when=times, fold=st.integers(0, 1))
def test_an_aware_datetime_is_its_epoch_millisecond_rounded_up_in_every_zone(when: datetime, fold: int) -> None:
    when = when.replace(fold=fold)
    exact_ms = Fraction((when - EPOCH) // timedelta(microseconds=1), 1000)
    assert exact_ms <= wall_ms(when) < exact_ms + 1
    assert wall_ms(when) == wall_ms(when.astimezone(UTC))


@pytest.mark.parametrize(("fold", "hours_utc"), [(0, 0), (1, 1)])
def test_the_hour_that_happens_twice_is_told_apart_by_its_fold(fold: int, hours_utc: int) -> None:
    """Clocks in Berlin went back from 3:00 to 2:00 on 25 October 2026."""
    when = datetime(2026, 10, 25, 2, 30, tzinfo=ZONES[0], fold=fold)
    assert wall_ms(when) == wall_ms(datetime(2026, 10, 25, hours_utc, 30, tzinfo=UTC))


@given(seconds=st.integers(-(10**11) + 1, 10**11 - 1))
def test_whole_epoch_seconds_are_exact(seconds: int) -> None:
    assert wall_ms(seconds) == seconds * 1000


@given(ms=st.integers(-(2**41), 2**41))
@example(1_770_000_000_001)
def test_a_float_made_of_whole_milliseconds_is_that_millisecond(ms: int) -> None:
    assert wall_ms(ms / 1000) == ms


@given(seconds=st.floats(-(10**11), 10**11, exclude_min=True, exclude_max=True))
def test_a_float_is_rounded_up_from_its_nearest_microsecond(seconds: float) -> None:
    exact_ms, dust_ms = Fraction(seconds) * 1000, Fraction(1, 2000) + Fraction(abs(seconds)) / 10**12
    assert exact_ms - dust_ms <= wall_ms(seconds) < exact_ms + 1 + dust_ms


@given(when=st.one_of(st.datetimes(), st.text(), st.none(), st.just(float("nan")), st.floats(min_value=10**11)))
def test_what_is_no_wall_time_is_refused_with_its_value(when: object) -> None:
    with pytest.raises(DelayError, match="when=") as caught:
        wall_ms(when)
    assert repr(when) in str(caught.value)


@given(value=st.one_of(st.integers(max_value=-1), st.floats(), st.text(), st.none(), st.decimals()))
def test_what_is_no_whole_delay_is_refused_with_its_value(value: object) -> None:
    with pytest.raises(DelayError) as caught:
        whole_ms(value, "name")
    assert f"name={value!r}" in str(caught.value)


@given(parts=st.lists(st.integers(0, 10**9), max_size=10))
def test_a_manual_clock_adds_fractions_without_loss(parts: list[int]) -> None:
    clock = ManualClock()
    for ns in parts:
        clock.advance(Fraction(ns, NS_PER_MS))
    assert clock.now_ns() == clock.wall_ns() == sum(parts)
