"""The bars that the compiled purgatory and hub must clear."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from .bar import LARGE, SMALL, Bar, N, over
from .results import Results

FASTER: tuple[tuple[str, str, str, float], ...] = (
    ("hub", "wait_signal", "wait_for", 12),
    ("hub", "wait_signal", "by-hand", 4),
    ("hub", "wait_expire", "wait_for", 10),
    ("hub", "wait_expire", "by-hand", 3),
    ("hub-future", "wait_signal", "by-hand", 2),
    ("hub-task", "wait_signal", "wait_for", 1.4),
)
"""Of ours, in an operation, beside a peer: their time over ours at N pending, at least this."""


def purgatory_bars(results: Results) -> Iterator[Bar]:
    """All bars of the workload."""
    get = partial(results.get, workload="purgatory")
    kafka = over(get("sojourn", N, "watch_complete_1"), get("kafka", N, "watch_complete_1"))
    yield Bar("purgatory, 1 key, watch_complete: ours / kafka", kafka, "<=", 3)
    for ours, op, peer, times in FASTER:
        yield Bar(f"{ours}, {op}: {peer} / ours", over(get(peer, N, op), get(ours, N, op)), ">=", times)
    yield Bar("hub, bytes a pending wait", get("hub", LARGE, "bytes_wait", "bytes"), "<=", 300)
    growth = over(get("hub", LARGE, "signal"), get("hub", SMALL, "signal"))
    yield Bar(f"hub, signal: growth from {SMALL:,} to {LARGE:,}", growth, "<=", 2.5)
