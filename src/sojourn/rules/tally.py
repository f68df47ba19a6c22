"""Tallies: the least that must be kept of a leaf's events to know when it comes to hold, whatever else arrives.

Each keeps a set of entries that depends on the set of events only, and drops those that can never matter again. `put`
takes one entry; putting in those of another tally merges it. `at` is when the leaf comes to hold, as far as known.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from typing import Any, Protocol

from .account import Progress
from .condition import Leaf, Reached, Seen, Total
from .event import Event, Source, source_order
from .exact import enough, exact, is_level, is_rough, pack, unpack
from .reading import measure


class Tally(Protocol):
    """What a waiting operation asks of the tally of a leaf."""

    at: int | None

    def add(self, event: Event) -> bool:
        """Take an event of the leaf's kind; True if something changed."""

    def merge(self, other: Any) -> None:
        """Take all that another tally of the same leaf has taken."""

    def progress(self, at: int) -> Progress:
        """How far the leaf had come by then."""

    def to_state(self) -> list[list[Any]]:
        """The entries, as plain lists."""

    def load(self, state: Iterable[Iterable[Any]]) -> None:
        """Put in entries that `to_state` gave."""


def tally_of(leaf: Leaf, opened_at: int) -> Tally:
    match leaf:
        case Total():
            return Amounts(leaf, opened_at)
        case Reached():
            return Levels(leaf, opened_at)
        case Seen(distinct="source"):
            return Sources(leaf.times, opened_at)
        case Seen():
            return Count(leaf.times, opened_at)


class Count:
    """The earliest `needed` times. add: O(log needed)."""

    __slots__ = ("_needed", "_opened_at", "_times", "at")

    def __init__(self, needed: int, opened_at: int) -> None:
        self._needed = needed
        self._opened_at = opened_at
        self._times: list[int] = []
        self.at: int | None = None

    def add(self, event: Event) -> bool:
        return event.at >= self._opened_at and self.put(event.at)

    def put(self, at: int) -> bool:
        times = self._times
        if len(times) == self._needed:
            if at >= times[-1]:
                return False
            times.pop()
        insort(times, at)
        if len(times) == self._needed:
            self.at = times[-1]
        return True

    def merge(self, other: Count) -> None:
        for at in other._times:
            self.put(at)

    def progress(self, at: int) -> Progress:
        return Progress(bisect_right(self._times, at))

    def to_state(self) -> list[list[Any]]:
        return [[at] for at in self._times]

    def load(self, state: Iterable[Iterable[Any]]) -> None:
        for (at,) in state:
            self.put(at)


class Sources:
    """The earliest `needed` sources, each with its earliest time; of equal times, by source. add: O(log needed)."""

    __slots__ = ("_first", "_needed", "_opened_at", "_order", "at")

    def __init__(self, needed: int, opened_at: int) -> None:
        self._needed = needed
        self._opened_at = opened_at
        self._first: dict[Source, int] = {}
        self._order: list[tuple[int, tuple[bool, bool, Any]]] = []
        self.at: int | None = None

    def add(self, event: Event) -> bool:
        return event.at >= self._opened_at and self.put(event.at, event.source)

    def put(self, at: int, source: Source) -> bool:
        known = self._first.get(source)
        if known is not None and known <= at:
            return False
        entry = (at, source_order(source))
        order = self._order
        if known is not None:
            del order[bisect_left(order, (known, entry[1]))]
        elif len(order) == self._needed:
            if entry >= order[-1]:
                return False
            del self._first[order.pop()[1][2]]
        insort(order, entry)
        self._first[source] = at
        if len(order) == self._needed:
            self.at = max(self._opened_at, order[-1][0])
        return True

    def merge(self, other: Sources) -> None:
        for source, at in other._first.items():
            self.put(at, source)

    def progress(self, at: int) -> Progress:
        by_then = tuple(source for time, (_, _, source) in self._order if time <= at)
        return Progress(len(by_then), by_then)

    def to_state(self) -> list[list[Any]]:
        return [[at, source] for at, (_, _, source) in self._order]

    def load(self, state: Iterable[Iterable[Any]]) -> None:
        for at, source in state:
            self.put(at, source)


class Levels(Sources):
    """The earliest sources that reached a level, before the opening or after."""

    __slots__ = ("_leaf",)

    def __init__(self, leaf: Reached, opened_at: int) -> None:
        super().__init__(leaf.by, opened_at)
        self._leaf = leaf

    def add(self, event: Event) -> bool:
        return is_level(measure(self._leaf, event), self._leaf.at_least) and self.put(event.at, event.source)


class Amounts:
    """The exact amount of each instant, up to the one at which enough has gathered. add: O(log instants)."""

    __slots__ = (
        "_amounts",
        "_enough",
        "_enough_if_rough",
        "_leaf",
        "_opened_at",
        "_rough_from",
        "_times",
        "_total",
        "at",
    )

    def __init__(self, leaf: Total, opened_at: int) -> None:
        self._leaf = leaf
        self._enough = enough(leaf.at_least)
        self._enough_if_rough = enough(leaf.at_least, is_rough=True)
        self._rough_from: int | None = None
        """The earliest instant that has a rough value."""
        self._opened_at = opened_at
        self._times: list[int] = []
        self._amounts: dict[int, int] = {}
        self._total = 0
        self.at: int | None = None

    def add(self, event: Event) -> bool:
        value = measure(self._leaf, event)
        return event.at >= self._opened_at and self.put(event.at, exact(value), is_rough(value))

    def put(self, at: int, amount: int, has_rough: bool) -> bool:
        if not amount or (self.at is not None and at > self.at):
            return False
        if at in self._amounts:
            self._amounts[at] += amount
        else:
            insort(self._times, at)
            self._amounts[at] = amount
        self._total += amount
        if has_rough and (self._rough_from is None or at < self._rough_from):
            self._rough_from = at
        if self._total >= self._enough_by(self._times[-1]):
            self._drop_what_came_after_enough()
        return True

    def _enough_by(self, at: int) -> int:
        """What is enough for the values up to then."""
        return self._enough_if_rough if self._is_rough_by(at) else self._enough

    def _is_rough_by(self, at: int) -> bool:
        return self._rough_from is not None and self._rough_from <= at

    def _drop_what_came_after_enough(self) -> None:
        times = self._times
        while len(times) > 1 and (rest := self._total - self._amounts[times[-1]]) >= self._enough_by(times[-2]):
            del self._amounts[times.pop()]
            self._total = rest
        self.at = times[-1]

    def merge(self, other: Amounts) -> None:
        for at, amount in other._amounts.items():
            self.put(at, amount, at == other._rough_from)

    def progress(self, at: int) -> Progress:
        have = sum(amount for time, amount in self._amounts.items() if time <= at)
        return Progress(have, is_rough=self._is_rough_by(at))

    def to_state(self) -> list[list[Any]]:
        return [[at, *pack(self._amounts[at]), at == self._rough_from] for at in self._times]

    def load(self, state: Iterable[Iterable[Any]]) -> None:
        for at, n, twos, fives, has_rough in state:
            self.put(at, unpack(n, twos, fives), has_rough)
