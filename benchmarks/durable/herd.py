"""All due in the same millisecond: each is told once, and others are answered meanwhile. Ours only."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import sojourn as sj
from sojourn.durable import DurableHub

from ..measure import quantile
from .measure import key_of
from .store import Peer

OPEN_PER_S = 20_000
"""So many, at least, are opened before they are due."""
GUARD_S = 900


def herd(peer: Peer, folder: Path, n: int) -> list[dict[str, Any]]:
    """From the deadline until all are told: a signal after the other, to one who waits and is answered."""
    hub = sj.Hub("herd", data=folder)
    assert isinstance(hub, DurableHub)
    first, *_ = hub.wait_many([key_of(number) for number in range(n)], "paid", f"{5 + n // OPEN_PER_S} s")
    due = first.deadline
    del first, _
    while hub.now_ms() <= due:
        time.sleep(0.001)
    answered: list[int] = []
    start = time.perf_counter()
    while hub.stats().last_number < n + len(answered) and time.perf_counter() - start < GUARD_S:
        hub.wait("other", "paid", "1 h")
        began = time.perf_counter_ns()
        assert hub.signal("other", "paid") == 1
        answered.append(time.perf_counter_ns() - began)
    took_ns = (time.perf_counter() - start) * 1e9
    told = [outcome.operation_id for outcome in hub.outcomes() if outcome.outcome == "expired"]
    assert len(told) == len(set(told)) == n
    hub.close()
    ordered = sorted(answered)
    return [
        {"op": "herd", "ns": took_ns / n, "told": len(told)},
        {"op": "signal_in_herd", "ns": quantile(ordered, 0.5), "p99_ns": quantile(ordered, 0.99)},
    ]
