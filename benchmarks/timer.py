"""The timer workload: which peers, which parts, and what a child does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .child import UnavailableError
from .results import Row
from .runner import KAFKA, Part, Spec, Workload, by_name
from .timer_ops import NewPeer, expire, memory, speed, warm_up
from .timer_real_clock import real_clock

MEMORY_N = 1_000_000
"""Memory is taken once, with so many timers, whatever sizes are asked for: Python's arenas are coarse, 1 MiB each."""

SPECS = by_name(
    Spec("sojourn", "peers.sojourn:SojournPeer"),
    Spec("sojourn-512", "peers.sojourn:Sojourn512Peer"),
    Spec("sojourn-pure", "peers.sojourn:SojournPurePeer", env={"SOJOURN_PURE": "1"}),
    Spec("asyncio", "peers.loops:AsyncioPeer"),
    Spec("uvloop", "peers.loops:UvloopPeer"),
    Spec("rloop", "peers.loops:RloopPeer"),
    Spec("gevent", "peers.greenlets:GeventPeer"),
    Spec("heapq", "peers.heap:HeapPeer"),
    Spec("sched", "peers.stdlib:SchedPeer", max_n=100_000),
    Spec("threading", "peers.stdlib:ThreadingPeer", max_n=1_000),
    Spec(KAFKA),
)
PARTS = {
    "speed": Part(100),
    "expire": Part(100),
    "memory": Part(2, only_n=(MEMORY_N,)),
    "real_clock": Part(3),
}
WORK: dict[str, Callable[[NewPeer, int], list[Row]]] = {
    "speed": speed,
    "expire": expire,
    "memory": memory,
    "real_clock": real_clock,
}


def _work(spec: Spec, part: str, n: int) -> dict[str, Any]:
    try:
        new: NewPeer = spec.load()
        warm_up(new)
    except (ImportError, UnavailableError) as reason:
        return {"skipped": str(reason)}
    return {"version": new.version(), "rows": WORK[part](new, n)}


TIMER = Workload("timer", SPECS, PARTS, _work)
