"""The timer workload's timed sections, for one Python peer in one child process.

Delays are uniform with a fixed seed, and the lists that hold delays and handles are made beforehand. Each section has
a fresh timer and starts from a collected heap; the garbage collector stays on. Nothing is subtracted: the loop around
the call is in the figure, and it is the same for all.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import repeat

from .measure import Best, MemoryReadings, timed
from .peers.base import Handles, Peer
from .results import Row

SEED = 20
LONG_MS = 60_000
"""Add, cancel, extend, churn and memory: delays of 1 to this, so that nothing falls due meanwhile."""
EXPIRE_MS = 1_000
CHURN_CHUNK = 1_000
"""Pairs of add and cancel between two turns of the timer."""

NewPeer = type[Peer]


def nothing() -> None:
    """The trivial callback; the same object for every timer of every peer."""


def uniform(n: int, to_ms: int, seed: int = SEED) -> list[int]:
    """`n` whole delays, uniform in 1 to `to_ms`, always the same."""
    return random.Random(seed).choices(range(1, to_ms + 1), k=n)


@contextmanager
def fresh(new: NewPeer) -> Iterator[Peer]:
    """A new timer, closed and collected afterwards."""
    peer = new()
    try:
        yield peer
    finally:
        peer.close()
        del peer
        gc.collect()


def warm_up(new: NewPeer, n: int = 50) -> None:
    """Use the peer untimed, and prove that it runs each timer once, a cancelled one never, and all work in turns."""
    ran: list[int] = []
    pieces: list[int] = []
    with fresh(new) as peer:
        handles = [peer.add(delay, ran.append, i) for i, delay in enumerate(peer.delays([200] * n))]
        peer.cancel(handles[:10])
        peer.in_turns([partial(pieces.append, i) for i in range(3)])
        peer.last(peer.delays([250])[0])
        if peer.has_expire:
            time.sleep(0.3)
        peer.drain()
    if sorted(ran) != list(range(10, n)) or pieces != [0, 1, 2]:
        raise AssertionError(f"{new.name} ran {len(ran)} timers of {n - 10}, {len(pieces)} pieces of 3")


def enough(most: int, seconds: float) -> Iterator[None]:
    """Once, and again while there is time, at most so often: short sections are noisy."""
    start = time.monotonic()
    for _ in range(most):
        yield
        if time.monotonic() - start > seconds:
            return


def speed(new: NewPeer, n: int) -> list[Row]:
    """ns of add, cancel, cancel_random, extend, both churns and, where there are such, bulk_add and bulk_cancel."""
    best = Best()
    for _ in enough(most=20, seconds=1):
        _cancel(new, n, best, "cancel")
        _cancel(new, n, best, "cancel_random")
        _extend(new, n, best)
        _churn(new, n, best, "churn_at_once")
        _churn(new, n, best, "churn")
        if new.has_bulk:
            _bulk(new, n, best)
    return [{"op": op, "ns": ns} for op, ns in best.values.items()]


def _fill(peer: Peer, n: int, best: Best) -> Handles:
    """n pending timers; every filling is a measurement of add."""
    handles: Handles = [None] * n
    delays = peer.delays(uniform(n, LONG_MS))
    best.see("add", timed(partial(peer.fill, handles, delays, nothing)).wall_ns / n)
    return handles


def _cancel(new: NewPeer, n: int, best: Best, op: str) -> None:
    """Cancel all, as they were added or in random order; the handles outlive the section."""
    with fresh(new) as peer:
        handles = _fill(peer, n, best)
        if op == "cancel_random":
            random.Random(SEED).shuffle(handles)
        victims = handles[: new.sample]
        best.see(op, timed(partial(peer.cancel, victims)).wall_ns / len(victims))


def _extend(new: NewPeer, n: int, best: Best) -> None:
    """Give every timer another delay, in the order they were added."""
    with fresh(new) as peer:
        handles = _fill(peer, n, best)
        moved = handles[: new.sample]
        delays = peer.delays(uniform(len(moved), LONG_MS, SEED + 1))
        best.see("extend", timed(partial(peer.extend, moved, delays, nothing)).wall_ns / len(moved))


def _churn(new: NewPeer, n: int, best: Best, op: str) -> None:
    """Steady state, n stay pending: add one and cancel it at once, or cancel a random one and add another.

    One operation is the pair. All delays are LONG_MS more than elsewhere, because here the timer turns and still
    nothing must fall due. The third that is not timed brings the peers that rebuild their heap once half of it is
    cancelled to the middle between two rebuilds: the timed part has exactly one.
    """
    with fresh(new) as peer:
        handles: Handles = [None] * n
        peer.fill(handles, peer.delays([LONG_MS + delay for delay in uniform(n, LONG_MS)]), nothing)
        delays = peer.delays([LONG_MS + delay for delay in uniform(n + n // 2, LONG_MS, SEED + 1)])[: new.sample]
        places = random.Random(SEED).choices(range(n), k=len(delays))
        pieces: list[Callable[[], None]] = []
        for i in range(0, len(delays), CHURN_CHUNK):
            chunk = slice(i, i + CHURN_CHUNK)
            at_once = partial(peer.churn, delays[chunk], nothing)
            at_random = partial(peer.replace, handles, places[chunk], delays[chunk], nothing)
            pieces.append(at_once if op == "churn_at_once" else at_random)
        before = len(pieces) // 3
        peer.in_turns(pieces[:before])
        elapsed = timed(partial(peer.in_turns, pieces[before:]))
        best.see(op, elapsed.wall_ns / (len(delays) - before * CHURN_CHUNK))


def _bulk(new: NewPeer, n: int, best: Best) -> None:
    """The same adds and cancels in one call each."""
    batch: list[object] = []
    with fresh(new) as peer:
        delays = peer.bulk_delays(uniform(n, LONG_MS))
        best.see("bulk_add", timed(lambda: batch.append(peer.bulk_add(delays, nothing))).wall_ns / n)
        best.see("bulk_cancel", timed(lambda: peer.bulk_cancel(batch[0])).wall_ns / n)
        batch.clear()


def expire(new: NewPeer, n: int) -> list[Row]:
    """ns to run each of n timers that are all due, trivial callback: wall time, and CPU where threads help."""
    if not new.has_expire:
        return []
    best = Best()
    for _ in enough(most=3, seconds=4):
        with fresh(new) as peer:
            handles: Handles = [None] * n
            peer.fill(handles, peer.delays(uniform(n, EXPIRE_MS)), nothing)
            peer.last(peer.delays([EXPIRE_MS + 1])[0])
            time.sleep((EXPIRE_MS + 50) / 1000)
            elapsed = timed(peer.drain)
        best.see("ns", elapsed.wall_ns / n)
        best.see("cpu_ns", elapsed.cpu_ns / n)
    return [{"op": "expire", **best.values}]


def memory(new: NewPeer, n: int) -> list[Row]:
    """Bytes a timer: pending; still held when all are cancelled and let go; and after one more turn.

    The handle counts, its place in our list does not. Timers are cancelled in the order they were added.
    """
    with fresh(new) as peer:
        handles: Handles = [None] * n
        delays = peer.delays(uniform(n, LONG_MS))
        readings = MemoryReadings()
        readings.take()
        peer.fill(handles, delays, nothing)
        readings.take()
        if new.sample is None:  # where cancelling one is O(n), cancelling all is out of the question
            peer.cancel(handles)
            handles[:] = repeat(None, n)
            time.sleep(0.1)  # a peer that is a thread needs a moment to leave
            readings.take()
            peer.turn()
            readings.take()
        rows = _bytes(readings, n, "bytes_pending", "bytes_held", "bytes_held_after_turn")
    return rows + (_bulk_memory(new, n) if new.has_bulk else [])


def _bulk_memory(new: NewPeer, n: int) -> list[Row]:
    """The same for a batch, which is kept as the handles are."""
    with fresh(new) as peer:
        delays = peer.bulk_delays(uniform(n, LONG_MS))
        readings = MemoryReadings()
        readings.take()
        batch = peer.bulk_add(delays, nothing)
        readings.take()
        peer.bulk_cancel(batch)
        del batch
        readings.take()
        return _bytes(readings, n, "bulk_bytes_pending", "bulk_bytes_held")


def _bytes(readings: MemoryReadings, n: int, *ops: str) -> list[Row]:
    """A row for each reading there is."""
    return [{"op": op, "bytes": found / n} for op, found in zip(ops, readings.since_first(), strict=False)]
