"""Round numbers for axes: steps of durations and counts, units of the calendar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ...rules import duration_text
from ..results.bins import DAY, HOUR, MINUTE, SECOND, Bins, Ints

_STEPS = tuple(
    unit * times
    for unit, several in (
        (1, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (SECOND, (1, 2, 5, 10, 15, 30)),
        (MINUTE, (1, 2, 5, 10, 15, 30)),
        (HOUR, (1, 2, 3, 6, 12)),
        (DAY, (1, 2, 5, 10, 15, 30, 60, 90, 180, 365)),
        (365 * DAY, (2, 5, 10, 20, 50, 100, 200, 500, 1_000)),
    )
    for times in several
)


def duration_step(at_least: float, multiple_of: int = 1) -> int:
    """The shortest round duration that is not below `at_least` and a multiple of the width given."""
    for step in _STEPS:
        if step >= at_least and step % multiple_of == 0:
            return step
    return multiple_of * max(1, -(-int(at_least) // multiple_of))


def count_step(most: int, ticks: int = 4) -> int:
    """A round number of which about `ticks` reach up to `most`."""
    least = max(most / ticks, 1)
    magnitude: int = 10 ** (len(str(int(least))) - 1)
    return next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= least)


def multiples(step: int, start: int, end: int) -> range:
    """The multiples of `step` from `start` to `end`, both included."""
    return range(-(-start // step) * step, end + 1, step)


class Unit(NamedTuple):
    """A unit of the calendar: which one a time lies in, and what that one is called, in full and on an axis."""

    name: str
    width: int
    number: Callable[[Ints], Ints]
    label: Callable[[int], str]
    short: Callable[[int], str]


def _fixed(name: str, width: int, offset: int = 0) -> Unit:
    """A unit of one length, counted from the epoch; weeks start on Mondays, and the epoch was a Thursday."""

    def label(number: int) -> str:
        start = number * width + offset
        return f"{'week of ' if name == 'week' else ''}{date_text(start)}{_clock_text(start, width)}"

    def short(number: int) -> str:
        start = number * width + offset
        return date_text(start).rpartition(" ")[0] + _clock_text(start, width)

    return Unit(name, width, lambda ms: (ms - offset) // width, label, short)


def _months(name: str, several: int, label: Callable[[int, int], str], days: int) -> Unit:
    """A unit of whole months."""

    def number(ms: Ints) -> Ints:
        months: Ints = ms.astype("M8[ms]").astype("M8[M]").astype(np.int64)
        return months // several

    def named(number: int) -> str:
        years, month = divmod(number * several, 12)
        return label(1970 + years, month)

    return Unit(name, days * DAY, number, named, named)


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

UNITS = (
    *(_fixed(duration_text(width), width) for width in (1, 10, 100, SECOND, 10 * SECOND, MINUTE, 10 * MINUTE)),
    _fixed("hour", HOUR),
    _fixed("6 hours", 6 * HOUR),
    _fixed("day", DAY),
    _fixed("week", 7 * DAY, offset=-3 * DAY),
    _months("month", 1, lambda year, month: f"{_MONTHS[month]} {year}", 28),
    _months("quarter", 3, lambda year, month: f"Q{month // 3 + 1} {year}", 90),
    _months("year", 12, lambda year, _: str(year), 365),
    _months("decade", 120, lambda year, _: f"{year}s", 3_652),
    _months("century", 1_200, lambda year, _: f"{year}s", 36_524),
)
"""From the finest to the coarsest."""


def calendar(bins: Bins, most: int) -> Unit:
    """The finest unit in which the times of `bins` take up `most` places or fewer."""
    ends = bins.places[[0, -1]] * bins.width
    for unit in UNITS:
        first, last = unit.number(ends)
        if unit.width >= bins.width and last - first < most:
            return unit
    return UNITS[-1]


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


def spread(number: int, most: int) -> Iterator[int]:
    """At most `most` of the places 0, 1, ..., evenly apart."""
    yield from range(0, number, max(1, -(-number // most)))
