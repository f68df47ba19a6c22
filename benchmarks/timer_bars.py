"""The bars that the compiled timer must clear."""

from __future__ import annotations

from collections.abc import Iterator

from .bar import LARGE, SMALL, Bar, N, over
from .results import Results

OURS = "sojourn"
FASTER: dict[str, dict[str, float]] = {
    "add": {"asyncio": 15, "uvloop": 10, "gevent": 3},
    "churn": {"asyncio": 12, "uvloop": 15, "heapq": 3.5, "gevent": 1.5},
    "expire": {"asyncio": 10, "heapq": 6, "gevent": 2},
}
"""Their time over ours, at N pending: at least this."""
GROWING = ("cancel", "cancel_random", "extend", "expire", "churn")
HELD_BYTES = 2.0
"""Nothing, as far as it can be told: two of Python's arenas, 1 MiB each, after a million timers."""


def timer_bars(results: Results) -> Iterator[Bar]:
    """All bars of the workload."""
    for op, peers in FASTER.items():
        for peer, times in peers.items():
            yield Bar(f"{op}: {peer} / ours", _times(results, peer, op), ">=", times)
    yield from _beside_kafka(results)
    yield Bar("bytes a pending timer", results.get(OURS, LARGE, "bytes_pending", "bytes"), "<=", 100)
    yield Bar("bytes held after cancelling all", results.get(OURS, LARGE, "bytes_held", "bytes"), "<=", HELD_BYTES)
    yield Bar(f"add: growth from {SMALL:,} to {LARGE:,}", _growth(results, OURS, "add"), "<", 2)
    for op in GROWING:
        ours, heap = (_growth(results, peer, op) for peer in (OURS, "heapq"))
        yield Bar(f"{op}: growth, no more than heapq's", ours, "<=", heap)


def _beside_kafka(results: Results) -> Iterator[Bar]:
    for op in ("add", "cancel"):
        yield Bar(f"{op}: ours / kafka", over(results.get(OURS, N, op), results.get("kafka", N, op)), "<=", 1.5)
    ours, kafka = (results.get(peer, N, "real_clock", "cpu_ns") for peer in (OURS, "kafka"))
    yield Bar("CPU a task on a real clock: kafka / ours", over(kafka, ours), ">=", 2)
    at_random = _times(results, "kafka", "cancel_random", n=LARGE)
    yield Bar(f"cancel_random, {LARGE:,} pending: kafka / ours", at_random, ">=", 1)
    for bulk, op, times in (("bulk_add", "add", 2), ("bulk_cancel", "cancel", 3)):
        yield Bar(f"{bulk}: kafka's {op} / ours", _times(results, "kafka", op, bulk), ">=", times)


def _times(results: Results, peer: str, op: str, our_op: str = "", n: int = N) -> float | None:
    """How many times our time theirs is."""
    return over(results.get(peer, n, op), results.get(OURS, n, our_op or op))


def _growth(results: Results, peer: str, op: str) -> float | None:
    """Cost at LARGE over cost at SMALL."""
    return over(results.get(peer, LARGE, op), results.get(peer, SMALL, op))
