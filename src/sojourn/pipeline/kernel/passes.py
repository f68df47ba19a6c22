"""What the kernel makes of whole columns: each is one pass if compiled, and says here what it gives, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._build import core
from .search import Flags, Ints, order_by


def groups(starts: Ints, count: int) -> Ints:
    """The group of each row, where group g is rows starts[g]:starts[g + 1]."""
    if core is not None:
        return np.asarray(core.groups(starts, count))
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def instants(at: Ints, starts: Ints) -> Ints:
    """For each row, the first one of its group and time."""
    if core is not None:
        return np.asarray(core.instants(at, starts))
    is_new = np.ones(len(at), bool)
    is_new[1:] = at[1:] != at[:-1]
    is_new[starts[:-1][np.diff(starts) > 0]] = True
    return np.maximum.accumulate(np.where(is_new, np.arange(len(at)), 0))


def marked(flags: Flags, at: Ints) -> tuple[Ints, Ints, Ints]:
    """The rows that are marked, their times, and how many of them come before each row; then the number of them."""
    if core is not None:
        rows, times, before = core.marked(flags.view(np.uint8), at)
        return rows, times, before
    rows = np.flatnonzero(flags)
    before = np.zeros(len(flags) + 1, np.int64)
    np.cumsum(flags, out=before[1:])
    return rows, at[rows], before


def narrowed(rows: Ints, at: Ints, flags: Flags, count: int) -> tuple[Ints, Ints, Ints]:
    """The same for those of these rows, of `count` in all, that are marked."""
    if core is not None:
        kept, times, before = core.narrowed(rows, at, flags.view(np.uint8), count)
        return kept, times, before
    kept = rows[flags]
    before = np.zeros(count + 1, np.int64)
    before[kept + 1] = 1
    return kept, at[flags], np.cumsum(before, out=before)


def nth_times(at: Ints, low: Ints, high: Ints, nth: int, opened_at: Ints, never: int) -> Ints:
    """The n-th of at[low[i]:high[i]], from 1 on, but not before it is opened; `never` if there are fewer."""
    nth = min(nth, len(at) + 1)
    if core is not None:
        return np.asarray(core.nth_times(at, low, high, nth, opened_at, never))
    last = low + (nth - 1)
    has_enough = last < high
    times = np.full(len(last), never)
    times[has_enough] = np.maximum(at[last[has_enough]], opened_at[has_enough])
    return times


def previous(before: Ints, starts: Ints, sources: NDArray[Any]) -> Ints:
    """For each of some rows, the place among them of the one before it with the same group and source; -1 if none.

    `before` says how many of them come before each row of `starts`' groups; `sources` are theirs.
    """
    most = int(sources.max(initial=0))
    if core is not None and most <= 8 * len(sources) and int(sources.min(initial=0)) >= 0:
        return np.asarray(core.previous(before, starts, sources, most))
    group = np.repeat(np.arange(len(starts) - 1), np.diff(before[starts]))
    order = order_by(group, sources)
    is_same = (group[order[1:]] == group[order[:-1]]) & (sources[order[1:]] == sources[order[:-1]])
    previous = np.full(len(order), -1)
    previous[order[1:][is_same]] = order[:-1][is_same]
    return previous
