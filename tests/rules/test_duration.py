"""Durations: text, timedelta or milliseconds in; exact text out."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn import RuleError
from sojourn.rules import duration_ms, duration_text

DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("15 min", 900_000),
        ("60 days", 60 * DAY_MS),
        ("1h30m", 5_400_000),
        ("250 ms", 250),
        ("1.5 h", 5_400_000),
        ("2 weeks", 14 * DAY_MS),
        ("5s", 5_000),
        ("1 day", DAY_MS),
        ("1d12h", 36 * 3_600_000),
        (" 1 hour 30 minutes ", 5_400_000),
        ("2 Hours", 7_200_000),
        ("30m 1h", 5_400_000),
        ("0 s", 0),
        ("0.1 s", 100),
        ("1.0001 s", 1_001),
        ("0.4 ms 0.4 ms", 1),
        ("1h 1.25 s 0.5 s", 3_601_750),
    ],
)
def test_a_text_is_read_as_the_sum_of_its_parts_rounded_up_once(text: str, ms: int) -> None:
    assert duration_ms(text) == ms


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        (timedelta(days=60), 60 * DAY_MS),
        (timedelta(milliseconds=1), 1),
        (timedelta(microseconds=1), 1),
        (timedelta(microseconds=1001), 2),
        (timedelta(0), 0),
        (1500, 1500),
        (1500.0, 1500),
        (np.int64(1500), 1500),
        (0, 0),
    ],
)
def test_a_timedelta_is_rounded_up_and_a_number_is_milliseconds(value: timedelta | float, ms: int) -> None:
    assert duration_ms(value) == ms


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (250, "250 ms"),
        (5_000, "5 s"),
        (900_000, "15 min"),
        (5_400_000, "1h30m"),
        (7_200_000, "2 h"),
        (DAY_MS, "1 day"),
        (60 * DAY_MS, "60 days"),
        (DAY_MS + 3, "1d3ms"),
    ],
)
def test_a_duration_is_written_as_people_write_it(ms: int, text: str) -> None:
    assert duration_text(ms) == text


@given(st.integers(0, 2**62 - 1))
def test_what_is_written_is_read_back_exactly(ms: int) -> None:
    assert duration_ms(duration_text(ms)) == ms


@given(st.timedeltas(min_value=timedelta(0)))
def test_a_timedelta_is_never_cut_short_and_grows_by_less_than_a_millisecond(delta: timedelta) -> None:
    grown = timedelta(milliseconds=duration_ms(delta)) - delta if delta < timedelta(days=10**8) else timedelta(0)
    assert timedelta(0) <= grown < timedelta(milliseconds=1)


@pytest.mark.parametrize("text", ["1 month", "5 M", "3 fortnights", "1 µs", "60 dayz"])
def test_an_unknown_unit_is_refused_with_the_units_that_are_allowed(text: str) -> None:
    unit = text.split()[1]
    with pytest.raises(RuleError, match=f"duration '{text}': '{unit}' is not a unit; allowed are ms, s, min, h"):
        duration_ms(text)


@pytest.mark.parametrize("text", ["", " ", "15", "min", "1h30", "1,5 h", "1h -30m", ".5 h", "²ms", "soon"])
def test_what_is_not_numbers_and_units_is_refused(text: str) -> None:
    with pytest.raises(RuleError, match="is not a number and a unit; allowed are"):
        duration_ms(text)


@pytest.mark.parametrize("value", [-1, "-5 min", "-soon", timedelta(microseconds=-1), -1.0])
def test_a_negative_duration_is_refused(value: str | timedelta | float) -> None:
    with pytest.raises(RuleError, match="is negative; the shortest is 0"):
        duration_ms(value)


@pytest.mark.parametrize("value", [2**62, "99999999999999999 weeks"])
def test_a_duration_that_no_64_bit_deadline_can_hold_is_refused(value: str | int) -> None:
    with pytest.raises(RuleError, match="is too long; the longest is 4611686018427387903 ms"):
        duration_ms(value)


@pytest.mark.parametrize("value", [True, 1.5, float("nan"), float("inf"), None, [1]])
def test_what_is_no_duration_at_all_is_refused(value: object) -> None:
    with pytest.raises(RuleError, match="is neither text, a timedelta nor a whole number of milliseconds"):
        duration_ms(value)  # type: ignore[arg-type]
