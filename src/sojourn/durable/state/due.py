"""Which waits end when, if nothing else happens: exact to the millisecond."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import islice

STALE_ALLOWED = 10_000
MINUTE_MS = 60_000
AHEAD = 50
"""How many times more are looked up than were asked for, when a crowd has one instant."""


class Due:
    """Waits, by sequence number, under their last instant. add, remove: O(1), or O(log instants) for a new instant."""

    def __init__(self) -> None:
        self._at: dict[int, int | dict[int, None]] = {}
        """Mostly one wait has an instant to itself, and then no dict is made for it."""
        self._instants: list[int] = []
        """A heap of all instants, and of some that no wait has any more."""
        self.by_minute: dict[int, int] = {}
        """How many there are, by minute."""
        self._disordered: set[int] = set()
        """Instants whose waits are not in the order of their numbers: some were moved, or came in from the index."""
        self._front: deque[int] = deque()
        """The next ones of the instant `_front_of`: a dict from whose front much was taken is slow to begin with."""
        self._front_of: int | None = None

    def add(self, instant: int, seq: int) -> None:
        minute = instant // MINUTE_MS
        self.by_minute[minute] = self.by_minute.get(minute, 0) + 1
        there = self._at.get(instant)
        if there is None:
            self._at[instant] = seq
            heappush(self._instants, instant)
        elif isinstance(there, dict):
            if seq < next(reversed(there)):
                self._disordered.add(instant)
            there[seq] = None
        else:
            self._at[instant] = dict.fromkeys(sorted((there, seq)))

    def add_all(self, instant: int, seqs: list[int]) -> None:
        """Many that end together."""
        if len(seqs) == 1:
            self.add(instant, seqs[0])
            return
        minute = instant // MINUTE_MS
        self.by_minute[minute] = self.by_minute.get(minute, 0) + len(seqs)
        there = self._at.get(instant)
        if there is None:
            heappush(self._instants, instant)
            there = {}
        elif not isinstance(there, dict):
            there = {there: None}
        if there and seqs[0] < next(reversed(there)):
            self._disordered.add(instant)
        there.update(dict.fromkeys(seqs))
        self._at[instant] = there

    def remove(self, instant: int, seq: int) -> None:
        minute = instant // MINUTE_MS
        self.by_minute[minute] -= 1
        if not self.by_minute[minute]:
            del self.by_minute[minute]
        there = self._at[instant]
        if type(there) is dict and len(there) > 1:
            del there[seq]
            return
        del self._at[instant]
        self._disordered.discard(instant)
        if self._front_of == instant:
            self._front_of = None
        if len(self._instants) > 2 * len(self._at) + STALE_ALLOWED:
            self._instants = list(self._at)
            heapify(self._instants)

    def until(self, last: int) -> dict[int, int]:
        """How many have each instant up to that one. O(instants up to there): those behind are not looked at."""
        heap, places, found = self._instants, [0], dict[int, int]()
        while places:
            place = places.pop()
            if place < len(heap) and heap[place] <= last:
                places += (2 * place + 1, 2 * place + 2)
                there = self._at.get(heap[place])
                if there is not None:
                    found[heap[place]] = len(there) if isinstance(there, dict) else 1
        return found

    def in_order(self) -> Iterator[int]:
        """All numbers, soonest instant first; what is not asked for costs nothing. Nothing may change meanwhile."""
        frontier, last = [(instant, 0) for instant in self._instants[:1]], None
        while frontier:
            instant, place = heappop(frontier)
            for child in (2 * place + 1, 2 * place + 2):
                if child < len(self._instants):
                    heappush(frontier, (self._instants[child], child))
            there = self._at.get(instant)
            if there is not None and instant != last:
                yield from there if isinstance(there, dict) else (there,)
            last = instant

    def first(self) -> int | None:
        """The earliest instant."""
        while self._instants and self._instants[0] not in self._at:
            heappop(self._instants)
        return self._instants[0] if self._instants else None

    def at(self, instant: int, most: int) -> list[int]:
        """The first of an instant, in the order of opening; at most so many, and one if there is any."""
        there = self._at.get(instant, {})
        if not isinstance(there, dict):
            return [there]
        if instant in self._disordered:
            self._disordered.remove(instant)
            there = self._at[instant] = dict.fromkeys(sorted(there))
            self._front_of = None
        return self._first_of(instant, there, most)

    def _first_of(self, instant: int, there: dict[int, None], most: int) -> list[int]:
        if self._front_of != instant:
            self._front_of, self._front = instant, deque()
        front = self._front
        while front and front[0] not in there:
            front.popleft()
        if len(front) < min(most, len(there)):
            front = self._front = deque(islice(there, AHEAD * most))
        return [seq for seq in islice(front, most) if seq in there]
