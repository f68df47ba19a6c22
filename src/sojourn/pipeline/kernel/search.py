"""Searching in many ranges of one array at once. No loop here runs over rows: only over the bits of a length."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ConfigError
from .._build import core

Ints = NDArray[np.int64]
RowNumbers = NDArray[np.int32]
Flags = NDArray[np.bool_]
Before = Callable[[Ints, Ints], Flags]
"""Given positions, and the number of the search that looks at each: whether what is sought comes later."""

MOST_ROWS = 2**31 - 1

_WORD = 63
"""The bits of a number that is not negative."""

_LONG_RUN = 64
_FEW = 1 << 16


def bisect(low: Ints, high: Ints, is_before: Before) -> Ints:
    """For each search, the first place from low[i] on for which `is_before` does not hold; high[i] if there is none.

    In a range it must hold up to some place, and not from there on. O(searches * log(longest range)).
    """
    low, high = low.copy(), np.maximum(low, high)
    active = np.flatnonzero(low < high)
    while active.size:
        middle = (low[active] + high[active]) >> 1
        before = is_before(middle, active)
        low[active[before]] = middle[before] + 1
        high[active[~before]] = middle[~before]
        active = active[low[active] < high[active]]
    return low


def count_until(times: Ints, low: Ints, high: Ints, until: Ints) -> Ints:
    """How many of times[low[i]:high[i]], which ascend, are <= until[i]."""
    if core is not None:
        return np.asarray(core.count_until(times, low, high, until))
    return bisect(low, high, lambda middle, active: times[middle] <= until[active]) - low


def order_by(major: NDArray[Any], minor: NDArray[Any]) -> Ints:
    """The places of the rows by `major`, then `minor`; those that are equal in both stay as they are."""
    order = ascending(minor)
    if order is None:
        order = ascending(major)
        return np.arange(len(major)) if order is None else order
    then = ascending(major[order])
    return order if then is None else order[then]


def ascending(values: NDArray[Any]) -> Ints | None:
    """The places of the values in ascending order; None if they are in it already.

    Equal ones stay as they are. Where there are long runs, as in logs, NumPy merges them. Elsewhere it takes a fraction
    of the time to sort numbers that hold the place, too: they need not be compared through their places, and many at
    once are.
    """
    falls = int(np.count_nonzero(values[1:] < values[:-1]))
    if not falls:
        return None
    least = int(values.min())
    bits = (len(values) - 1).bit_length()
    if falls < len(values) // _LONG_RUN or (int(values.max()) - least).bit_length() + bits > _WORD:
        return np.argsort(values, kind="stable")
    numbers: Ints = np.subtract(values, least, dtype=np.int64)
    numbers <<= bits
    numbers |= np.arange(len(values))
    numbers.sort()
    numbers &= (1 << bits) - 1
    return numbers


def placed(codes: NDArray[Any], size: int, sequence: Ints | None = None) -> tuple[RowNumbers, Ints]:
    """Rows by their codes, which are below `size`, and where those of each code start; then the number of rows.

    Those of one code come as they are, or in their `sequence`.
    """
    check_rows(len(codes))
    if core is not None:
        order, starts = core.placed(codes, size, sequence)
        return order, starts
    order = ascending(codes if sequence is None else codes[sequence])
    order = np.arange(len(codes)) if order is None else order
    order = order if sequence is None else sequence[order]
    starts = np.append(0, np.cumsum(np.bincount(codes, minlength=size)))
    return order.astype(np.int32), starts


def placed_in_time(codes: NDArray[Any], size: int, at: Ints) -> tuple[RowNumbers, Ints]:
    """The same, those of one code in the order of their times: often they are, as they come."""
    order, starts = placed(codes, size)
    return (order, starts) if ascends(at, order, starts) else placed(codes, size, ascending(at))


def ascends(values: NDArray[Any], order: RowNumbers, starts: Ints) -> bool:
    """Whether values never fall, in this order, from one start to the next."""
    if core is not None:
        return bool(core.ascends(values, order, starts))
    ordered = values[order]
    has_fallen = np.append(ordered[1:] < ordered[:-1], [False])
    has_fallen[starts[1:] - 1] = False
    return not has_fallen.any()


def check_rows(count: int) -> None:
    """Refuse more rows than 32 bits can tell apart."""
    if count > MOST_ROWS:
        raise ConfigError(f"{count:,} rows at once are too many; {MOST_ROWS:,} fit. Spark takes more, in parts")


def ranges(starts: Ints, counts: Ints) -> Ints:
    """All of starts[i] ... starts[i] + counts[i] - 1, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + counts, counts)


def distinct(columns: Sequence[Ints]) -> tuple[Ints, list[tuple[int, ...]]]:
    """The different rows of these columns, all >= 0, and the place of each row in that list."""
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    if math.prod(sizes) > _FEW + 2 * len(columns[0]):
        return _distinct_of_many(columns)
    code = np.zeros(len(columns[0]), np.int64)
    for column, size in zip(columns, sizes, strict=True):
        code = code * size + column
    there = np.flatnonzero(np.bincount(code))
    places = np.zeros(int(there[-1]) + 1 if len(there) else 0, np.int64)
    places[there] = np.arange(len(there))
    values = np.unravel_index(there, sizes)
    return places[code], list(zip(*(value.tolist() for value in values), strict=True))


def _distinct_of_many(columns: Sequence[Ints]) -> tuple[Ints, list[tuple[int, ...]]]:
    order = np.lexsort(tuple(columns))
    is_new = np.ones(len(order), bool)
    is_new[1:] = np.logical_or.reduce([column[order[1:]] != column[order[:-1]] for column in columns])
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(is_new) - 1
    firsts = order[is_new]
    return places, list(zip(*(column[firsts].tolist() for column in columns), strict=True))


class Minima:
    """Of an array: the first place from a given one on at which a value is below a given one. Space O(n).

    A tree of minima of blocks that double in size, under a sentinel that is below everything.
    """

    def __init__(self, values: Ints) -> None:
        self._end = len(values)
        size = 1 << int(self._end).bit_length()
        lowest = np.full(size, np.iinfo(np.int64).min)
        lowest[: self._end] = values
        self._levels = [lowest]
        while len(lowest) > 1:
            lowest = np.minimum(lowest[::2], lowest[1::2])
            self._levels.append(lowest)

    def first_below(self, start: Ints, bound: Ints) -> Ints:
        """For each search, the first place >= start[i] whose value is < bound[i]; the length if there is none.

        O(searches * log(distance)).
        """
        place = np.minimum(start, self._end)
        height = np.zeros(len(place), np.int64)
        active = np.flatnonzero(self._levels[0][place] >= bound)
        place[active] += 1
        top = len(self._levels) - 1
        for level in range(top):  # climb: the place is the start of a block of this level, and the answer is not before
            block = place[active] >> level
            is_second = (block & 1).astype(bool)
            is_here = self._levels[level][block] < bound[active]
            height[active[is_second & is_here]] = level
            place[active[is_second & ~is_here]] += 1 << level
            active = active[~(is_second & is_here)]
            if not active.size:
                break
        height[active] = top
        for level in range(int(height.max(initial=0)) - 1, -1, -1):  # sink: the answer is in the block above
            active = np.flatnonzero(height > level)
            is_later = self._levels[level][place[active] >> level] >= bound[active]
            place[active[is_later]] += 1 << level
        return np.minimum(place, self._end)
