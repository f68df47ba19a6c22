"""The purgatory's timed sections, for one of our builds in one child process.

An operation is a small subclass whose `try_complete` is written in Python and asks a gate that all share, as a request
of Kafka's asks its partition. Keys and delays are made beforehand, the operation in the timed loop. Each section has
a fresh purgatory with a reaper of its own and starts from a collected heap; the garbage collector stays on.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from sojourn import SystemTimer
from sojourn.purgatory import DelayedOperation, Purgatory

from .measure import Figures, MemoryReadings, timed
from .results import Row
from .timer_ops import EXPIRE_MS, LONG_MS, enough, uniform

Keys = Sequence[tuple[str, ...]]

KEY_COUNTS = (1, 3)
"""Keys an operation watches; the number is at the end of every operation's name."""
IN_USE = 1_000
"""Keys in use where operations come and go one at a time."""


PENDING_MS = 600_000
"""Delays are so much more than in the timer workload: the reaper runs, and nothing must fall due meanwhile."""


class Gate:
    """The condition."""

    __slots__ = ("is_open",)

    def __init__(self) -> None:
        self.is_open = False


class Request(DelayedOperation):
    """Completes when the gate is open; nothing follows."""

    __slots__ = ("gate",)

    def __init__(self, delay_ms: int, gate: Gate) -> None:
        super().__init__(delay_ms)
        self.gate = gate

    def try_complete(self) -> bool:
        """Look at the gate."""
        return self.gate.is_open


def pending_delays(n: int) -> list[int]:
    """n delays that do not end meanwhile."""
    return [PENDING_MS + delay for delay in uniform(n, LONG_MS)]


def own_keys(n: int, count: int) -> list[tuple[str, ...]]:
    """For each of n operations as many keys as `count`, that no other has."""
    return [tuple(f"topic-{i}-{j}" for j in range(count)) for i in range(n)]


def keys_in_use(n: int, count: int) -> list[tuple[str, ...]]:
    """The same out of IN_USE keys, each operation with others than the one before."""
    keys = [f"topic-{i}" for i in range(IN_USE)]
    taken = [tuple(keys[(i + j * IN_USE // count) % IN_USE] for j in range(count)) for i in range(IN_USE)]
    return [taken[i % IN_USE] for i in range(n)]


@contextmanager
def fresh(timer: SystemTimer | None = None) -> Iterator[Purgatory]:
    """A new purgatory, closed and collected afterwards; with this timer, or one of its own."""
    purgatory = Purgatory("benchmark", timer=timer)
    try:
        yield purgatory
        _expect(purgatory, 0)
    finally:
        purgatory.close()
        del purgatory
        gc.collect()


def watch(purgatory: Purgatory, gate: Gate, delays: Sequence[int], keys: Keys) -> None:
    """An operation for each."""
    try_complete_else_watch = purgatory.try_complete_else_watch
    for delay, own in zip(delays, keys, strict=True):
        try_complete_else_watch(Request(delay, gate), own)


def complete(purgatory: Purgatory, keys: Keys) -> None:
    """By its first key."""
    check_and_complete = purgatory.check_and_complete
    for own in keys:
        check_and_complete(own[0])


def one_at_a_time(purgatory: Purgatory, gate: Gate, delays: Sequence[int], keys: Keys) -> None:
    """Watched and completed at once."""
    try_complete_else_watch, check_and_complete = purgatory.try_complete_else_watch, purgatory.check_and_complete
    for delay, own in zip(delays, keys, strict=True):
        gate.is_open = False
        try_complete_else_watch(Request(delay, gate), own)
        gate.is_open = True
        check_and_complete(own[0])


def speed(n: int) -> list[Row]:
    """watch, complete and the two together; one at a time; already completable. ns, and CPU of all threads."""
    figures = Figures()
    delays = pending_delays(n)
    own = {count: own_keys(n, count) for count in KEY_COUNTS}
    in_use = {count: keys_in_use(n, count) for count in KEY_COUNTS}
    for _ in enough(most=20, seconds=4):
        for count in KEY_COUNTS:
            _watch_complete(figures, delays, own[count], count)
            _alone(figures, delays, in_use[count], count)
    return figures.rows()


def _watch_complete(figures: Figures, delays: Sequence[int], keys: Keys, count: int) -> None:
    n, gate = len(keys), Gate()
    with fresh() as purgatory:
        watched = timed(partial(watch, purgatory, gate, delays, keys))
        _expect(purgatory, n)
        gate.is_open = True
        completed = timed(partial(complete, purgatory, keys))
    figures.see(f"watch_{count}", n, watched)
    figures.see(f"complete_{count}", n, completed)
    figures.see(f"watch_complete_{count}", n, watched, completed)


def _alone(figures: Figures, delays: Sequence[int], keys: Keys, count: int) -> None:
    n, gate = len(keys), Gate()
    with fresh() as purgatory:
        figures.see(f"one_at_a_time_{count}", n, timed(partial(one_at_a_time, purgatory, gate, delays, keys)))
        gate.is_open = True
        figures.see(f"already_{count}", n, timed(partial(watch, purgatory, gate, delays, keys)))


def expire(n: int) -> list[Row]:
    """ns to expire each of n operations that are all due, moved by hand; and the same with watching."""
    figures = Figures()
    delays = uniform(n, EXPIRE_MS)
    for _ in enough(most=3, seconds=4):
        for count in KEY_COUNTS:
            timer = SystemTimer("benchmark")
            with fresh(timer) as purgatory:
                watched = timed(partial(watch, purgatory, Gate(), delays, own_keys(n, count)))
                time.sleep((EXPIRE_MS + 50) / 1000)
                expired = timed(partial(_drain, purgatory, timer))
            timer.close()
            figures.see(f"expire_{count}", n, expired)
            figures.see(f"watch_expire_{count}", n, watched, expired)
    return figures.rows()


def _drain(purgatory: Purgatory, timer: SystemTimer) -> None:
    while purgatory.delayed:
        timer.advance_clock(0)


def memory(n: int) -> list[Row]:
    """Bytes a pending operation on keys of its own, which are there before; and held when all have completed."""
    return [row for count in KEY_COUNTS for row in _memory(n, count)]


def _memory(n: int, count: int) -> list[Row]:
    gate, delays, keys = Gate(), pending_delays(n), own_keys(n, count)
    with fresh() as purgatory:
        readings = MemoryReadings()
        readings.take()
        watch(purgatory, gate, delays, keys)
        readings.take()
        gate.is_open = True
        complete(purgatory, keys)
        readings.take()
    pending, held = readings.since_first()
    return [{"op": f"bytes_pending_{count}", "bytes": pending / n}, {"op": f"bytes_held_{count}", "bytes": held / n}]


def _expect(purgatory: Purgatory, delayed: int) -> None:
    if purgatory.delayed != delayed:
        raise AssertionError(f"{purgatory.delayed} operations are pending, not {delayed}")
