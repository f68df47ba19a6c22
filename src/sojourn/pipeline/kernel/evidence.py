"""How far each leaf of a condition has come, for many operations at once: the counterpart of `law.evidence`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from ...rules import Leaf, Reached, Seen, Total
from ...rules.account import Progress
from .amounts import RunningSum, is_at_least
from .columns import NEVER, Events, Lane, Lanes, number_of
from .passes import nth_times, previous
from .search import Flags, Ints, Minima, count_until, ranges


class Operations(NamedTuple):
    """Operations as columns.

    `group`      the group whose events it looks at.
    `opened_at`, `deadline`   epoch milliseconds; the deadline it was opened with.
    `ordinal`    its number among those that its key opened at the same instant, from 1 on.
    `first`      the first row of its group that is stamped >= opened_at, or the end of the group.
    """

    group: Ints
    opened_at: Ints
    deadline: Ints
    ordinal: Ints
    first: Ints


class Evidence(Protocol):
    """What is known of a leaf, for each operation."""

    holds_from: Ints
    """When the leaf comes to hold; NEVER if it does not."""

    def have(self, chosen: Ints, until: Ints) -> tuple[Ints, list[Progress] | None]:
        """How far the leaf had come by then, for these operations: as `Progress.have`, or as indices in a list."""

    def counted(self) -> tuple[Ints, Ints]:
        """The rows that count, and the operation that each counts for: no other can make a difference to the leaf."""


def evidence(leaf: Leaf, lanes: Lanes, events: Events, operations: Operations) -> Evidence:
    lane = lanes[leaf.kind]
    match leaf:
        case Total():
            return Amounts(leaf, lane, events, operations)
        case Reached():
            starts = events.starts[operations.group]
            return Count(leaf.by, reaching(leaf, lane, events), starts, _ends(events, operations), operations.opened_at)
        case Seen(distinct="source", times=times) if times > 1:
            return _sources(times, lane, events, operations)
        case Seen():
            return Count(leaf.times, lane, operations.first, _ends(events, operations), operations.opened_at)


def reaching(leaf: Reached, lane: Lane, events: Events) -> Lane:
    """Of a lane, the rows that reached a level: the first of each source, where the leaf tells sources apart."""
    reached = lane.only(events, is_at_least(events.numbers[number_of(leaf)].take(lane.rows), leaf.at_least))
    return reached if leaf.by == 1 else reached.only(events, _previous(reached, events) < 0)


class Count:
    """`needed` rows of a lane, from the row `start` of each operation on."""

    def __init__(self, needed: int, lane: Lane, start: Ints, end: Ints, opened_at: Ints) -> None:
        self._needed = needed
        self._at = lane.at
        self._rows = lane.rows
        self._low = lane.before[start]
        self._high = lane.before[end]
        self.holds_from = nth_times(lane.at, self._low, self._high, needed, opened_at, NEVER)

    def have(self, chosen: Ints, until: Ints) -> tuple[Ints, None]:
        low = self._low[chosen]
        return count_until(self._at, low, np.minimum(self._high[chosen], low + self._needed), until), None

    def counted(self) -> tuple[Ints, Ints]:
        return _spread(self._rows, self._low, np.minimum(self._high, self._low + self._needed))


class Sources:
    """`needed` different sources, where a key may have several operations: each has first sources of its own.

    A row is the first of its source for an operation if the one before it, of the same source, comes before the
    operation's first row.
    """

    def __init__(self, needed: int, lane: Lane, previous: Ints, events: Events, operations: Operations) -> None:
        self._needed = needed
        self._at = lane.at
        self._rows = lane.rows
        self._low = lane.before[operations.first]
        self._high = lane.before[_ends(events, operations)]
        self._previous = Minima(previous)
        self._other = _following(previous != np.arange(len(previous)) - 1)
        for place, is_there in self._walk(self._low, self._high):
            self.holds_from = _times(self._at, place, is_there)

    def have(self, chosen: Ints, until: Ints) -> tuple[Ints, None]:
        have = np.zeros(len(chosen), np.int64)
        for place, is_there in self._walk(self._low[chosen], self._high[chosen]):
            have += _times(self._at, place, is_there) <= until
        return have, None

    def counted(self) -> tuple[Ints, Ints]:
        pairs = [(np.flatnonzero(is_there), place[is_there]) for place, is_there in self._walk(self._low, self._high)]
        return np.concatenate([operation for operation, _ in pairs]), self._rows[np.concatenate([p for _, p in pairs])]

    def _walk(self, low: Ints, high: Ints) -> Iterator[tuple[Ints, Flags]]:
        """The place of the first source, of the second ..., and whether there is one."""
        place = low
        for nth in range(self._needed):
            if nth:
                place = self._previous.first_below(self._other[place], low)
            is_there = place < high
            yield place, is_there
            if not is_there.any():
                return  # nobody has a further one, however many are asked for


class Amounts:
    """A sum, from the opening of each operation on."""

    def __init__(self, leaf: Total, lane: Lane, events: Events, operations: Operations) -> None:
        self._sum = RunningSum(events.numbers[leaf.of].take(lane.rows), leaf.at_least)
        self._at = lane.at
        self._rows = lane.rows
        self._low = lane.before[operations.first]
        self._high = lane.before[_ends(events, operations)]
        self._last = self._sum.first_enough(self._low, self._high)
        self.holds_from = _times(lane.at, self._last, self._last < self._high)

    def have(self, chosen: Ints, until: Ints) -> tuple[Ints, list[Progress]]:
        low = self._low[chosen]
        return self._sum.between(low, low + count_until(self._at, low, self._high[chosen], until))

    def counted(self) -> tuple[Ints, Ints]:
        return _spread(self._rows, self._low, np.minimum(self._high, self._last + 1))


def _sources(needed: int, lane: Lane, events: Events, operations: Operations) -> Evidence:
    previous = _previous(lane, events)
    if not _is_one_each(operations.group):
        return Sources(needed, lane, previous, events, operations)
    first = np.full(len(events.starts) - 1, len(events.at))
    first[operations.group] = operations.first
    first_row = first[events.group[lane.rows]]
    firsts = lane.only(events, (lane.rows >= first_row) & (previous < lane.before[first_row]))
    return Count(needed, firsts, operations.first, _ends(events, operations), operations.opened_at)


def _previous(lane: Lane, events: Events) -> Ints:
    """For each row of the lane, the place there of the one before it with the same group and source; -1 if none."""
    if events.source is None:
        raise ValueError("a rule asks for sources; the events have none")
    return previous(lane.before, events.starts, events.source[lane.rows])


def _spread(rows: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """The numbers of ranges low[i]:high[i], each as often as the range is long, and the rows in them."""
    counts = np.maximum(high - low, 0)
    return np.repeat(np.arange(len(low)), counts), rows[ranges(low, counts)]


def _following(flags: Flags) -> Ints:
    """For each place, the next one after it that is flagged; the length if there is none, and for one place more."""
    places = np.append(np.where(flags, np.arange(len(flags)), len(flags)), [len(flags)] * 2)
    return np.minimum.accumulate(places[:0:-1])[::-1]


def _is_one_each(group: Ints) -> bool:
    return bool((np.diff(group) > 0).all())


def _ends(events: Events, operations: Operations) -> Ints:
    return events.starts[operations.group + 1]


def _times(at: Ints, place: Ints, is_there: Flags) -> Ints:
    times = np.full(len(place), NEVER)
    times[is_there] = at[place[is_there]]
    return times
