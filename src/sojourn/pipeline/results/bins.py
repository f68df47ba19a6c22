"""Counts of durations by interval: small however many values there are, and mergeable in any order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._build import core

Ints = NDArray[np.int64]

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
WIDTHS = (1, 10, 100, SECOND, 10 * SECOND, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 10 * DAY, 100 * DAY, 1_000 * DAY)
"""The widths an interval may have, in milliseconds. Each divides the next, so that no interval straddles two wider."""

MOST = 16_384
"""How many intervals may hold something before they are made wider. Values on a coarse grid stay exact."""

_NEAR = 32_768


class Grid:
    """Intervals of which each is a small part of its distance from 0; of all whole numbers, in their order.

    Level 0 is exact. At level 1 an interval is as wide as the widest of `WIDTHS` that is at most one per cent of the
    values in it, at level 2 ten per cent, at level 3 the whole of it: for 3 hours a minute, ten minutes, an hour.
    """

    levels = 4

    def __init__(self) -> None:
        self._parts = [_Parts.of(10 ** (2 - level)) for level in range(self.levels - 1)]

    def place(self, values: Ints, level: int) -> Ints:
        """The number of the interval that each value lies in: [start(n), start(n + 1))."""
        if level == 0:
            return values
        parts = self._parts[level - 1]
        if core is not None:
            return np.asarray(core.interval_places(np.ascontiguousarray(values), *parts))
        sign = values >> 63  # -1 below 0: there ~value counts from 0 upwards, and so do the intervals
        return parts.place(values ^ sign) ^ sign

    def start(self, places: Ints, level: int) -> Ints:
        """Where an interval starts. The intervals below 0 are the mirror image of those above."""
        if level == 0:
            return places
        sign = np.sign(places)
        return sign * self._parts[level - 1].start(sign * places)

    def coarser(self, places: Ints, level: int, wanted: int) -> Ints:
        """The intervals of a coarser level that hold these."""
        return self.place(self.start(places, level), wanted)


class _Parts(NamedTuple):
    """The numbers from 0 on in parts, each with intervals of one width: where it begins, and with which interval."""

    width: Ints
    begin: Ints
    first: Ints

    @staticmethod
    def of(per_interval: int) -> _Parts:
        """A part goes up to where the next width is one `per_interval`th of a value."""
        width = np.array(WIDTHS, np.int64)
        begin = np.append(0, width[1:] * per_interval)
        return _Parts(width, begin, np.append(0, np.cumsum(np.diff(begin) // width[:-1])))

    def place(self, values: Ints) -> Ints:
        part = np.searchsorted(self.begin[1:], values, side="right")
        return self.first[part] + (values - self.begin[part]) // self.width[part]

    def start(self, places: Ints) -> Ints:
        part = np.searchsorted(self.first[1:], places, side="right")
        return self.begin[part] + (places - self.first[part]) * self.width[part]


GRID = Grid()


class Encoded(NamedTuple):
    """Values, each with its class, by the interval that it lies in.

    `places` are intervals in their order, some of which may hold nothing; `codes` index them, value by value.
    """

    level: int
    places: Ints
    codes: Ints
    classes: Ints
    number_of_classes: int


def encoded(values: Ints, classes: Ints, number_of_classes: int) -> Encoded:
    """In intervals as narrow as `MOST` allows."""
    level, places, codes = _encoded_as_fits(values)
    return Encoded(level, places, codes, classes, number_of_classes)


def _encoded_as_fits(values: Ints) -> tuple[int, Ints, Ints]:
    last = GRID.levels - 1
    for level in range(last):
        if _may_fit(values, level):
            places, codes = _encoded(GRID.place(values, level))
            if len(places) <= MOST or np.count_nonzero(np.bincount(codes)) <= MOST:
                return level, places, codes
    return last, *_encoded(GRID.place(values, last))


def _may_fit(values: Ints, level: int) -> bool:
    """Whether `MOST` places may be enough for all values: they are not if a sample of the values needs more."""
    few = _places_of_some(values, level, 2 * MOST)
    return few <= MOST // 4 or (few <= MOST and _places_of_some(values, level, 8 * MOST) <= MOST)


def _places_of_some(values: Ints, level: int, size: int) -> int:
    """How many different places about so many of the values lie in."""
    return len(pa.array(GRID.place(values[:: max(1, len(values) // size)], level)).unique())


def _encoded(found: Ints) -> tuple[Ints, Ints]:
    """The different places, and the index of each. If they are near each other, all from the first to the last."""
    low, high = _ends(found)
    if high - low < _NEAR:
        return np.arange(low, high + 1), found - low
    names = pa.array(found).dictionary_encode()
    different = names.dictionary.to_numpy()
    order = np.argsort(different)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return different[order], rank[names.indices.to_numpy()]


def _ends(found: Ints) -> tuple[int, int]:
    return (int(found.min()), int(found.max())) if len(found) else (0, 0)


@dataclass(frozen=True, slots=True)
class Bins:
    """How many values of each class lie in each interval of `GRID` at a level, for the `places` where there are any.

    `places` is sorted; `counts` has one row per place and one column per class.
    """

    level: int
    places: Ints
    counts: Ints

    @staticmethod
    def of(values: Ints, classes: Ints, number_of_classes: int) -> Bins:
        """The values, each counted in its class, in intervals as narrow as `MOST` allows."""
        return Bins.counted(encoded(values, classes, number_of_classes))

    @staticmethod
    def counted(values: Encoded) -> Bins:
        number = values.number_of_classes
        counts = _counted(values.codes, len(values.places), values.classes, number)
        occurring = np.flatnonzero(counts.any(axis=1))
        return Bins(values.level, values.places[occurring], counts[occurring])

    @property
    def starts(self) -> Ints:
        """Where the intervals start."""
        return GRID.start(self.places, self.level)

    @property
    def ends(self) -> Ints:
        """Where they end; the end does not belong to the interval."""
        return GRID.start(self.places + 1, self.level)

    def plus(self, other: Bins) -> Bins:
        """All counts together, as coarse as the coarser of the two."""
        level = max(self.level, other.level)
        mine, theirs = self.coarser(level), other.coarser(level)
        places = np.concatenate([mine.places, theirs.places])
        both = Bins(level, places, np.concatenate([mine.counts, theirs.counts]))._summed(places)
        while len(both.places) > MOST and both.level < GRID.levels - 1:
            both = both.coarser(both.level + 1)
        return both

    def coarser(self, level: int) -> Bins:
        """The same counts at a level that is not finer."""
        if level == self.level:
            return self
        return replace(self, level=level)._summed(GRID.coarser(self.places, self.level, level))

    def _summed(self, places: Ints) -> Bins:
        """The rows of equal `places` added up."""
        distinct, counts = summed(places, self.counts)
        return replace(self, places=distinct, counts=counts)


def _counted(codes: Ints, size: int, classes: Ints, number: int) -> Ints:
    """How often each class occurs under each code."""
    if core is not None:
        return np.asarray(core.counted(codes, classes, size, number))
    return np.bincount(codes * number + classes, minlength=size * number).reshape(-1, number)


def summed(names: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Rows of counts by the number that each goes by: the numbers in order, each once, and the sums of their rows."""
    order = np.argsort(names, kind="stable")
    ordered = names[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    return ordered[starts], np.add.reduceat(counts[order], starts) if len(starts) else counts[:0]


def rounded_up(ms: int) -> int:
    """A duration in a round number, at most one per cent longer."""
    return -int(GRID.start(GRID.place(np.array([-ms]), 1), 1)[0])
