"""Hierarchical timing wheels over integer ticks (Varghese & Lauck, scheme 7), in plain Python: read this one first.

A wheel has `size` buckets of `tick` ticks each and stands at a `position`. A task due within the wheel's interval goes
to the bucket of its due tick; one due later goes to the overflow wheel, whose tick is the whole interval of this one.
The delay queue knows which buckets are non-empty and which of them comes first. When time reaches a bucket of the
lowest wheel its tasks are due; when it reaches a bucket of an overflow wheel its tasks sink to finer wheels.

With 3 wheels of 4 buckets, time 0, tasks due at ticks 2, 6, 27:

    wheel     tick  interval   buckets (first tick of each)         holds
    lowest       1         4   0   1   2   3                        2 in bucket 2
    overflow     4        16   0   4   8  12                        6 in bucket 4
    overflow    16        64   0  16  32  48                        27 in bucket 16

At tick 4 the task due at 6 sinks to the lowest wheel; at 16 the one due at 27 sinks to bucket 24 of the middle wheel,
at 24 to the lowest, and at 27 it is due.

There is no clock, thread or I/O here, and no lock: the timer holds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

NEVER = 2**63 - 1
"""No bucket expires: later than every tick a task can be due at."""


class TimerTaskEntry:
    """A place in a bucket. A `TimerTask` is its own entry, so that adding one allocates nothing more."""

    __slots__ = ("_due", "_next", "_prev")

    _due: int
    _prev: TimerTaskEntry | TimerTaskList
    _next: TimerTaskEntry | TimerTaskList


class TimerTaskList:
    """A bucket: a circular doubly linked list whose root is this object. append, prepend, remove, take_all: O(1)."""

    __slots__ = ("_next", "_prev", "index", "wheel")

    _prev: TimerTaskEntry | TimerTaskList
    _next: TimerTaskEntry | TimerTaskList

    def __init__(self, wheel: TimingWheel | None = None, index: int = 0) -> None:
        self.wheel = wheel
        self.index = index
        self._prev = self._next = self

    def __bool__(self) -> bool:
        return self._next is not self

    def __iter__(self) -> Iterator[Any]:
        entry = self._next
        while entry is not self:
            yield entry
            entry = entry._next

    def append(self, entry: TimerTaskEntry) -> None:
        self._link(self._prev, entry, self)

    def prepend(self, entry: TimerTaskEntry) -> None:
        self._link(self, entry, self._next)

    def take_all(self, bucket: TimerTaskList) -> None:
        """Move everything in `bucket` to the end of this list, in order, however much it is."""
        if not bucket:
            return
        first, last = bucket._next, bucket._prev
        first._prev, last._next = self._prev, self
        self._prev._next, self._prev = first, last
        bucket._prev = bucket._next = bucket
        bucket._emptied()

    @staticmethod
    def remove(entry: TimerTaskEntry) -> None:
        """Take the entry out of whichever bucket it is in."""
        before, after = entry._prev, entry._next
        before._next, after._prev = after, before
        del entry._prev, entry._next
        if before is after:  # only the root is left, and it is both its own neighbours
            assert isinstance(before, TimerTaskList)
            before._emptied()

    def _emptied(self) -> None:
        if self.wheel is not None:
            self.wheel.occupied &= ~(1 << self.index)

    @staticmethod
    def _link(
        before: TimerTaskEntry | TimerTaskList, entry: TimerTaskEntry, after: TimerTaskEntry | TimerTaskList
    ) -> None:
        entry._prev, entry._next = before, after
        before._next = after._prev = entry


class TimingWheel:
    """One wheel of the hierarchy, and the way to the next: finds the bucket for a due tick in O(levels).

    Invariants: bit i of `occupied` is set iff bucket i is non-empty; no task here is due after `last`, the last tick
    that has a bucket in this turn.
    """

    __slots__ = ("buckets", "last", "occupied", "overflow", "position", "size", "tick")

    def __init__(self, tick: int, size: int, now: int) -> None:
        self.tick = tick
        self.size = size
        self.buckets = [TimerTaskList(self, index) for index in range(size)]
        self.occupied = 0
        self.overflow: TimingWheel | None = None
        self._turn_to(now)

    def add(self, entry: TimerTaskEntry, *, sinking: bool = False) -> int:
        """Put the entry where its due tick belongs and return the tick at which that bucket expires.

        A task that sinks goes before those already there: it was armed earlier, since for a given due tick the wheel
        can only get finer as time goes by. That keeps tasks of equal deadlines first in, first out.
        """
        if entry._due > self.last:
            if self.overflow is None:
                self.overflow = TimingWheel(self.tick * self.size, self.size, self.position * self.tick)
            return self.overflow.add(entry, sinking=sinking)
        turn = max(entry._due // self.tick, self.position)  # overdue already: the current bucket
        bucket = self.buckets[turn % self.size]
        if sinking:
            bucket.prepend(entry)
        else:
            bucket.append(entry)
        self.occupied |= 1 << bucket.index
        return turn * self.tick

    def turn_to(self, now: int) -> None:
        """Move this wheel's position, and that of the overflow wheels whose turn it is."""
        if now // self.tick != self.position:
            self._turn_to(now)
            if self.overflow is not None:
                self.overflow.turn_to(now)

    def next_bucket(self) -> tuple[int, TimerTaskList] | None:
        """The first non-empty bucket from the position on, and the tick at which it expires."""
        if not self.occupied:
            return None
        at = self.position % self.size
        ahead = self.occupied >> at
        steps = lowest_bit(ahead) if ahead else lowest_bit(self.occupied) + self.size - at
        return (self.position + steps) * self.tick, self.buckets[(at + steps) % self.size]

    def _turn_to(self, now: int) -> None:
        self.position = now // self.tick
        self.last = (self.position + self.size) * self.tick - 1


class DelayQueue:
    """The non-empty buckets of a hierarchy of wheels in the order they expire: one occupancy bit per bucket.

    However many tasks are pending, finding the next bucket looks at one bit set per level, and a bucket that a
    cancellation emptied is gone at once. Invariant: no non-empty bucket expires before `earliest`.
    """

    __slots__ = ("cascaded", "earliest", "looked_at", "now", "wheel")

    def __init__(self, wheel_size: int) -> None:
        self.wheel = TimingWheel(1, wheel_size, 0)
        self.now = 0
        self.earliest = NEVER
        self.looked_at = -1
        self.cascaded = 0

    def wheels(self) -> Iterator[TimingWheel]:
        """From the finest to the coarsest."""
        wheel: TimingWheel | None = self.wheel
        while wheel is not None:
            yield wheel
            wheel = wheel.overflow

    def add(self, entry: TimerTaskEntry, now: int) -> bool:
        """Put the entry in its bucket; True if that bucket is now the first to expire.

        `now` may be ahead of this queue, which stands where it last had work: catching up first, as far as no bucket is
        passed over, keeps the number of levels a matter of delays alone, not of idle time.
        """
        if now >= self.earliest and now != self.looked_at:  # a cancellation may have emptied that bucket meanwhile
            self.looked_at = now
            self.look()
        self._move_to(min(now, self.earliest - 1))
        expires = self.wheel.add(entry)
        if expires >= self.earliest:
            return False
        self.earliest = expires
        return True

    def advance(self, target: int, due: TimerTaskList, limit: int) -> bool:
        """Move time towards `target`, appending to `due` what falls due, in at most `limit` steps. True when there."""
        while (first := self.peek()) is not None and first[0] <= target:
            if limit <= 0:
                self.earliest = self.now
                return False
            expires, bucket = first
            self._move_to(expires)
            limit -= self._sink(bucket, limit) if bucket.wheel is not self.wheel else 1
            if bucket.wheel is self.wheel:
                due.take_all(bucket)
        self.earliest = first[0] if first is not None else NEVER
        self._move_to(target)
        return True

    def look(self) -> int | None:
        """Set `earliest` right; None if there is no bucket at all."""
        first = self.peek()
        self.earliest = NEVER if first is None else first[0]
        return None if first is None else first[0]

    def peek(self) -> tuple[int, TimerTaskList] | None:
        """The bucket that expires first. Of several, that of the lowest wheel comes last, when all others have sunk.

        And these sink from the finest to the coarsest: each puts its tasks before those already there, and the coarser
        the wheel the earlier they were armed.
        """
        first = None
        for wheel in self.wheels():
            candidate = wheel.next_bucket()
            if candidate is None:
                continue
            if first is None or candidate[0] < first[0] or (candidate[0] == first[0] and first[1].wheel is self.wheel):
                first = candidate
        return first

    def rewind(self, now: int) -> None:
        """Set time back, as the wall clock's can be: put every task in again as seen from `now`."""
        entries = list(self)
        for entry in entries:
            TimerTaskList.remove(entry)
        self.now, self.earliest = now, NEVER
        for wheel in self.wheels():
            wheel._turn_to(now)
        for entry in entries:
            self.add(entry, now)

    def __iter__(self) -> Iterator[Any]:
        """Every entry; those of equal deadlines in the order they were armed (the coarser wheel's came first)."""
        for wheel in reversed(list(self.wheels())):
            for bucket in wheel.buckets:
                yield from bucket

    def _move_to(self, now: int) -> None:
        if now > self.now:
            self.now = now
            self.wheel.turn_to(now)

    def _sink(self, bucket: TimerTaskList, limit: int) -> int:
        """Move up to `limit` tasks of an expired bucket to finer wheels, last first; return how many."""
        moved = 0
        while bucket and moved < limit:
            entry = bucket._prev
            assert isinstance(entry, TimerTaskEntry)
            TimerTaskList.remove(entry)
            self.wheel.add(entry, sinking=True)
            moved += 1
        self.cascaded += moved
        return moved


def lowest_bit(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
