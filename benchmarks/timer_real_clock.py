"""Expiry on a real clock: what it costs while it happens, and how late it is.

n timers with delays uniform in 1 to 2,000 ms are added as fast as the peer can, and then run when they are due, by the
peer's own means: ours and Kafka's with a reaper thread (Kafka's has an executor thread too), the loops by running.
Two passes, so that reading the clock in the callback does not count as the timer's cost.
"""

from __future__ import annotations

import gc
import time
from itertools import compress

from .measure import quantile
from .peers.base import Handles
from .results import Row
from .timer_ops import NewPeer, fresh, nothing, uniform

REAL_CLOCK_MS = 2_000


def real_clock(new: NewPeer, n: int) -> list[Row]:
    """One row: cpu_ns a task, and p50_ms, p99_ms, max_ms of lateness with min_ms (below zero: ran early)."""
    if not new.has_real_clock:
        return []
    cpu_ns = _cpu_a_task(new, n)
    late = sorted(_lateness_ms(new, n))
    if len(late) < n // 10:  # adding took nearly all the time there was
        return [{"op": "real_clock", "cpu_ns": cpu_ns}]
    figures = {"p50_ms": quantile(late, 0.5), "p99_ms": quantile(late, 0.99), "max_ms": late[-1], "min_ms": late[0]}
    return [{"op": "real_clock", "cpu_ns": cpu_ns, **figures}]


def _cpu_a_task(new: NewPeer, n: int) -> float:
    """CPU of the whole process, all threads, from the last add until all have run, over the timers that were left."""
    with fresh(new) as peer:
        handles: Handles = [None] * n
        delays = peer.delays(uniform(n, REAL_CLOCK_MS))
        last = peer.delays([REAL_CLOCK_MS + 1])[0]
        gc.collect()
        peer.start()
        peer.fill(handles, delays, nothing)
        peer.last(last)
        left = peer.left(n)
        start = time.process_time_ns()
        peer.wait()
        return (time.process_time_ns() - start) / left


def _lateness_ms(new: NewPeer, n: int) -> list[float]:
    """The callback's own reading of the clock, less the requested deadline: the reading before the add plus the delay.

    Timers that fell due while others were still being added are left out: the adding would be measured.
    """
    clock = time.perf_counter_ns
    delays_ms = uniform(n, REAL_CLOCK_MS)
    deadlines, ran_at = [0] * n, [0] * n

    def record(i: int) -> None:
        ran_at[i] = clock()

    with fresh(new) as peer:
        handles: Handles = [None] * n
        delays = peer.delays(delays_ms)
        last = peer.delays([REAL_CLOCK_MS + 1])[0]
        gc.collect()
        peer.start()
        add = peer.add
        for i, delay in enumerate(delays):
            deadlines[i] = clock() + delays_ms[i] * 1_000_000
            handles[i] = add(delay, record, i)
        added = clock()
        peer.last(last)
        peer.wait()
    late = [(ran - due) / 1e6 for ran, due in zip(ran_at, deadlines, strict=True)]
    return list(compress(late, (due > added for due in deadlines)))
