"""Units of the calendar, from milliseconds to centuries: which one a time lies in, and what it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...rules import duration_text
from .bins import DAY, HOUR, MINUTE, SECOND, Ints

MOST_PERIODS = 60
"""How many periods a log is cut into at most."""


class CalendarUnit(NamedTuple):
    """A unit of the calendar. A period has a `number`, a `start`, and a name: `label` in full, `short` on an axis."""

    name: str
    number: Callable[[Ints], Ints]
    start: Callable[[Ints], Ints]
    label: Callable[[int], str]
    short: Callable[[int], str]


def _fixed(name: str, width: int, offset: int = 0) -> CalendarUnit:
    """A unit of one length, counted from the epoch; weeks start on Mondays, and the epoch was a Thursday."""

    def label(number: int) -> str:
        start = number * width + offset
        return f"{'week of ' if name == 'week' else ''}{date_text(start)}{_clock_text(start, width)}"

    def short(number: int) -> str:
        start = number * width + offset
        return date_text(start).rpartition(" ")[0] + _clock_text(start, width)

    return CalendarUnit(name, lambda ms: (ms - offset) // width, lambda numbers: numbers * width + offset, label, short)


def _months(name: str, several: int, label: Callable[[int, int], str]) -> CalendarUnit:
    """A unit of whole months."""

    def number(ms: Ints) -> Ints:
        months: Ints = ms.astype("M8[ms]").astype("M8[M]").astype(np.int64)
        return months // several

    def start(numbers: Ints) -> Ints:
        ms: Ints = (numbers * several).astype("M8[M]").astype("M8[ms]").astype(np.int64)
        return ms

    def named(number: int) -> str:
        years, month = divmod(number * several, 12)
        return label(1970 + years, month)

    return CalendarUnit(name, number, start, named, named)


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

OF_ONE_LENGTH = (
    *(_fixed(duration_text(width), width) for width in (1, 10, 100, SECOND, 10 * SECOND, MINUTE, 10 * MINUTE)),
    _fixed("hour", HOUR),
    _fixed("6 hours", 6 * HOUR),
    _fixed("day", DAY),
    _fixed("week", 7 * DAY, offset=-3 * DAY),
)
OF_MONTHS = (
    _months("month", 1, lambda year, month: f"{_MONTHS[month]} {year}"),
    _months("quarter", 3, lambda year, month: f"Q{month // 3 + 1} {year}"),
    _months("year", 12, lambda year, _: str(year)),
    _months("decade", 120, lambda year, _: f"{year}s"),
    _months("century", 1_200, lambda year, _: f"{year}s"),
    _months("millennium", 12_000, lambda year, _: f"{year}s"),
)
"""From the finest to the coarsest. Within a row each period lies in one of any coarser unit; but months cut weeks."""


def fitting(units: tuple[CalendarUnit, ...], first: int, last: int) -> int | None:
    """The index of the finest unit with at most `MOST_PERIODS` from one time to the other.

    None if there is none; but of those of months the coarsest will do.
    """
    ends = np.array([first, last])
    for index, unit in enumerate(units):
        if np.diff(unit.number(ends))[0] < MOST_PERIODS:
            return index
    return len(units) - 1 if units is OF_MONTHS else None


def date_text(ms: int) -> str:
    """2013-01-31 as 31 Jan 2013."""
    year, month, day = str(np.datetime64(ms, "ms").astype("M8[D]")).rsplit("-", 2)
    return f"{int(day)} {_MONTHS[int(month) - 1]} {year}"


def _clock_text(ms: int, width: int) -> str:
    """The time of day at which an interval starts, as precisely as its width asks for."""
    if width >= DAY:
        return ""
    length = 5 if width >= MINUTE else 8 if width >= SECOND else 12
    return " " + str(np.datetime64(ms, "ms")).partition("T")[2][:length]
