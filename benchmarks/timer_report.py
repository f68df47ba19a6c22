"""The timer workload's tables: ns an operation with the ratio to ours, bytes, and the real clock."""

from __future__ import annotations

from collections.abc import Sequence

from .report import Report, join
from .results import Results
from .timer import MEMORY_N

BASE = "sojourn"
"""Ratios are to this peer."""
OPS = ("add", "cancel", "cancel_random", "extend", "expire", "churn_at_once", "churn", "bulk_add", "bulk_cancel")
MEMORY_OPS = ("bytes_pending", "bytes_held", "bytes_held_after_turn", "bulk_bytes_pending", "bulk_bytes_held")
REAL_CLOCK_FIELDS = ("cpu_ns", "p50_ms", "p99_ms", "max_ms", "min_ms")


def report(results: Results, sizes: Sequence[int]) -> str:
    """All tables, for each size that was asked for."""
    tables = Report(results, "timer")
    speed = [(op, op, "ns") for op in OPS]
    clock = [(field, "real_clock", field) for field in REAL_CLOCK_FIELDS]
    memory = [(op, op, "bytes") for op in MEMORY_OPS]
    title = "ns an operation (x: times what sojourn takes)"
    clock_title = "expiry on a real clock, CPU ns a task and lateness in ms"
    return join(
        [
            *(tables.table(f"n = {n:,}: {title}", n, BASE, speed) for n in sizes),
            *(tables.table(f"n = {n:,}: {clock_title}", n, BASE, clock) for n in sizes),
            tables.table(f"n = {MEMORY_N:,}: bytes a timer", MEMORY_N, BASE, memory),
        ]
    )
