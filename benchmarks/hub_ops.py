"""Timed sections for one way of waiting, in one child process: start n waits, signal each, or let all expire.

Keys and deadlines are made beforehand; keys are the same text for all. Every wait has the same trivial callback, and a
section ends when all have been told. Each pass has fresh waits and every section starts from a collected heap.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from .measure import Elapsed, Figures, MemoryReadings, timed
from .results import Row
from .timer_ops import SEED, enough
from .waits.base import Told, Waits

NewWaits = Callable[[Told], Waits]

LONG_MS = 600_000
"""Nothing falls due meanwhile, however slow the way: wherever signals are measured, all have this one deadline ..."""
WITHINS = 20
"""... or, in the `mixed` figures and in `expire`, so many different ones, at random."""
SPREAD_MS = 1_000
"""In `expire`, from the first deadline to the last."""
SAMPLE = 2_000


def nothing(_: object) -> None:
    """The trivial callback; the same object for every wait of every way."""


def make_keys(n: int) -> list[str]:
    """n keys, always the same."""
    return [f"order-{i}" for i in range(n)]


def mixed_ms(n: int, from_ms: int, spread_ms: int) -> list[int]:
    """n deadlines out of WITHINS different ones, the first at `from_ms`."""
    return random.Random(SEED).choices(range(from_ms, from_ms + spread_ms, spread_ms // WITHINS), k=n)


@contextmanager
def fresh(new: NewWaits, told: Told = nothing) -> Iterator[Waits]:
    """New waits, closed and collected afterwards."""
    waits = new(told)
    try:
        yield waits
    finally:
        waits.close()
        del waits
        gc.collect()


def warm_up(new: NewWaits, n: int = 3_500) -> None:
    """Use the way untimed, and prove that everyone is told once, by the time that `signal` and `expire` return."""
    keys = make_keys(n)
    for work in ("signal", "expire"):
        told: list[object] = []
        with fresh(new, told.append) as waits:
            waits.hold()
            waits.start(keys, waits.withins(mixed_ms(n, 5_000 if work == "signal" else 900, 100)))
            pending, early = waits.pending(), len(told)
            if work == "signal":
                waits.signal(keys)
            else:
                time.sleep(1.05)
                waits.expire()
            if (pending, early, len(told), waits.pending()) != (n, 0, n, 0):
                raise AssertionError(f"{work}: {pending} of {n} pending, {early} told early, {len(told)} in the end")


def speed(new: NewWaits, n: int) -> list[Row]:
    """ns of wait, signal, the two together, these with mixed deadlines, and a signal in random order."""
    figures = Figures()
    keys = make_keys(n)
    shuffled = random.Random(SEED).sample(keys, n)
    for _ in enough(most=20, seconds=4):
        for suffix, withins_ms in (("", [LONG_MS] * n), ("_mixed", mixed_ms(n, LONG_MS, 100 * SPREAD_MS))):
            waited, signalled = _signal(new, keys, withins_ms, keys)
            figures.see(f"wait{suffix}", n, waited)
            figures.see(f"signal{suffix}", n, signalled)
            figures.see(f"wait_signal{suffix}", n, waited, signalled)
        figures.see("signal_random", n, _signal(new, keys, [LONG_MS] * n, shuffled)[1])
    return figures.rows()


def _signal(
    new: NewWaits, keys: Sequence[str], withins_ms: Sequence[int], order: Sequence[str]
) -> tuple[Elapsed, Elapsed]:
    with fresh(new) as waits:
        waited = timed(partial(waits.start, keys, waits.withins(withins_ms)))
        _expect(waits, len(keys))
        signalled = timed(partial(waits.signal, order))
        _expect(waits, 0)
    return waited, signalled


def expire(new: NewWaits, n: int) -> list[Row]:
    """ns to tell each of n waits that are all due, and the same with their start."""
    figures = Figures()
    keys = make_keys(n)
    for _ in enough(most=3, seconds=4):
        waited, expired = _expire(new, keys, _start_ms(new, n))
        figures.see("expire", n, expired)
        figures.see("wait_expire", n, waited, expired)
    return figures.rows()


def _start_ms(new: NewWaits, n: int) -> int:
    """Twice what starting n takes, by a sample: where the loop runs meanwhile, the first must not fall due before."""
    keys = make_keys(SAMPLE)
    with fresh(new) as waits:
        took = timed(partial(waits.start, keys, waits.withins([LONG_MS] * SAMPLE))).wall_ns
        waits.signal(keys)
    return 200 + int(2 * took / SAMPLE * n / 1e6)


def _expire(new: NewWaits, keys: Sequence[str], start_ms: int) -> tuple[Elapsed, Elapsed]:
    n = len(keys)
    with fresh(new) as waits:
        waits.hold()
        withins = waits.withins(mixed_ms(n, start_ms, SPREAD_MS))
        start = time.monotonic()
        waited = timed(partial(waits.start, keys, withins))
        if time.monotonic() - start < start_ms / 1000:
            _expect(waits, n)
            time.sleep((start_ms + SPREAD_MS + 50) / 1000)
            expired = timed(waits.expire)
            _expect(waits, 0)
            return waited, expired
        time.sleep((start_ms + SPREAD_MS) / 1000)
        waits.expire()
    return _expire(new, keys, 2 * start_ms)  # the machine was busy: some fell due while others were being started


def memory(new: NewWaits, n: int) -> list[Row]:
    """Bytes a pending wait; its key and the callback are there before."""
    keys = make_keys(n)
    with fresh(new) as waits:
        withins = waits.withins([LONG_MS] * n)
        readings = MemoryReadings()
        readings.take()
        waits.start(keys, withins)
        readings.take()
        _expect(waits, n)
        waits.signal(keys)
        return [{"op": "bytes_wait", "bytes": readings.since_first()[0] / n}]


def _expect(waits: Waits, pending: int) -> None:
    if waits.pending() != pending:
        raise AssertionError(f"{waits.pending()} waits are pending, not {pending}")
