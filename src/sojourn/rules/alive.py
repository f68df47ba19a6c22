"""Keep-alive: the chain of events that move a deadline."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable


class Alive:
    """The times at which an operation was alive, and the deadline that follows: `law.extended`, step by step.

    The first time, the opening's, is in the chain by definition; another one is if it is <= `deadline`. All are kept,
    since a cancellation that arrives late wants the deadline of its own time, until `forget` is told that none will.
    add: O(log times), and O(1) in the order of time.
    """

    __slots__ = ("_within_ms", "deadline", "times")

    def __init__(self, within_ms: int, times: Iterable[int]) -> None:
        self._within_ms = within_ms
        self.times = list(times)
        self.deadline = self.times[0] + within_ms
        self._follow_chain(1)

    def add(self, at: int) -> bool:
        """Take the time of an event; True if it was news."""
        place = bisect_left(self.times, at)
        if not place or (place < len(self.times) and self.times[place] == at):
            return False
        self.times.insert(place, at)
        self._follow_chain(place)
        return True

    def merged(self, other: Alive) -> Alive:
        """Both first times are in the chain, so the later of the two is where it is known to start."""
        start = max(self.times[0], other.times[0])
        return Alive(self._within_ms, sorted({t for t in self.times + other.times if t >= start}))

    def deadline_at(self, at: int) -> int:
        """The deadline that was in force at a time of the chain."""
        return self.times[max(0, bisect_right(self.times, at) - 1)] + self._within_ms

    def forget(self, before: int) -> None:
        """Drop what only an event stamped <= `before` could ask for."""
        last = bisect_right(self.times, before) - 1
        if last > 0 and before <= self.deadline:
            del self.times[:last]

    def _follow_chain(self, place: int) -> None:
        while place < len(self.times) and self.times[place] <= self.deadline:
            self.deadline = self.times[place] + self._within_ms
            place += 1
