"""How many waits are due when: counted as they come and go, so that asking costs the same however many there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from .due import MINUTE_MS
from .incidents import FAR
from .state import State
from .wait import Wait

FINE_MOST_MS = 120_000
"""Up to here ahead of now, each instant is looked at; beyond, each minute."""
CROWDS = 5
NOTHING: Mapping[int, int] = MappingProxyType({})
LOOK_MOST = 20_000
"""Waits looked at for one list: a hub stands still meanwhile."""


class Horizon(NamedTuple):
    """Pending waits by when they end, if nothing else happens.

    `counts[i]` end in the `width_ms` from `start + i * width_ms` on; what was due before `now` is `overdue`.
    """

    now: int
    start: int
    width_ms: int
    counts: list[int]
    overdue: int
    later: int
    stopped: int
    """Waits for which no time passes."""
    pending: int
    next_due: int | None
    crowds: list[tuple[int, int]]
    """The seconds, or minutes, in which most are due: when each begins, and how many."""


def horizon(state: State, now: int, within_ms: int, buckets: int, in_index: Mapping[int, int] = NOTHING) -> Horizon:
    """The next `within_ms` in about so many buckets: of whole minutes, unless all of it is near.

    `in_index` is how many of those that are only on the disk are due in each minute, as of a while ago.
    """
    is_fine = within_ms <= FINE_MOST_MS
    unit = 1_000 if is_fine else MINUTE_MS
    width_ms = max(unit, -(-within_ms // max(1, buckets) // unit) * unit)
    start = now // width_ms * width_ms
    number = -(-(now + within_ms - start) // width_ms)
    end = start + number * width_ms
    counts = [0] * number
    by_instant = state.due.until(max(end - 1, now) if is_fine else now)
    overdue = sum(count for instant, count in by_instant.items() if instant < now)
    if is_fine:
        coming = Counter[int]()
        for instant, count in by_instant.items():
            if now <= instant < end:
                coming[instant // unit] += count
    else:
        coming = _within(state.due.by_minute, start // unit, end // unit)
        coming.update(_within(_beyond_memory(state, in_index), start // unit, end // unit))
        for instant, count in by_instant.items():
            if start <= instant < now:
                coming[instant // unit] -= count
    for place, count in coming.items():
        counts[(place * unit - start) // width_ms] += count
    pending = state.pending
    stopped = sum(count for _, count in _far(state, now))
    later = max(0, pending - overdue - sum(counts) - stopped)
    crowds = [(place * unit, count) for place, count in coming.most_common(CROWDS)]
    return Horizon(now, start, width_ms, counts, overdue, later, stopped, pending, _next_due(state), crowds)


def _next_due(state: State) -> int | None:
    found = (state.due.first(), None if state.cold is None else state.cold.first_due())
    return min((instant for instant in found if instant is not None), default=None)


def _beyond_memory(state: State, in_index: Mapping[int, int]) -> dict[int, int]:
    """What the index has more than memory. What is due soon is all in memory; later, the index has most of that too."""
    if state.cold is None or not in_index:
        return {}
    near, here = state.cold.near[0] // MINUTE_MS, state.due.by_minute
    return {minute: max(0, count - here.get(minute, 0)) for minute, count in in_index.items() if minute > near}


def _within(by_minute: Mapping[int, int], first: int, last: int) -> Counter[int]:
    """The minutes from the first on, up to the last without it; by whichever way is shorter."""
    if last - first < len(by_minute):
        return Counter({minute: by_minute[minute] for minute in range(first, last) if minute in by_minute})
    return Counter({minute: count for minute, count in by_minute.items() if first <= minute < last})


def _far(state: State, now: int) -> list[tuple[int, int]]:
    """Minutes in which only waits are due whose clock stands."""
    if not state.stopped:
        return []
    first = (min(stop.at for stop in state.stopped.values()) + FAR) // MINUTE_MS
    return [
        (minute, count) for minute, count in state.due.by_minute.items() if minute >= first and minute * MINUTE_MS > now
    ]


def soonest(
    state: State, is_asked_for: Callable[[Wait], bool], limit: int, before: int | None = None
) -> tuple[list[Wait], bool]:
    """The pending waits asked for that are due first, before a time; and whether there are no others."""
    found: list[Wait] = []
    for looked_at, seq in enumerate(state.due.in_order()):
        wait = state.waits[seq]
        if before is not None and wait._due >= before:
            break
        if len(found) == limit or looked_at == LOOK_MOST:
            return found, False
        if is_asked_for(wait):
            found.append(wait)
    return found, state.pending == len(state.waits) or (before is not None and _are_all_in_memory(state, before))


def _are_all_in_memory(state: State, before: int) -> bool:
    """Whether no wait that is due before a time is in the index only."""
    first = None if state.cold is None else state.cold.first_due()
    return first is None or first >= before
