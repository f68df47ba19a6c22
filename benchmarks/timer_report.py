"""The timer workload's tables: ns an operation with the ratio to ours, bytes, and the real clock."""

from __future__ import annotations

from collections.abc import Sequence

from .results import Results
from .table import number, ratio, table
from .timer import MEMORY_N

BASE = "sojourn"
"""Ratios are to this peer."""
OPS = ("add", "cancel", "cancel_random", "extend", "expire", "churn_at_once", "churn", "bulk_add", "bulk_cancel")
MEMORY_OPS = ("bytes_pending", "bytes_held", "bytes_held_after_turn", "bulk_bytes_pending", "bulk_bytes_held")
REAL_CLOCK_FIELDS = ("cpu_ns", "p50_ms", "p99_ms", "max_ms", "min_ms")


def report(results: Results, sizes: Sequence[int]) -> str:
    """All tables, for each size that was asked for."""
    speed = [(op, op, "ns") for op in OPS]
    clock = [(field, "real_clock", field) for field in REAL_CLOCK_FIELDS]
    memory = [(op, op, "bytes") for op in MEMORY_OPS]
    tables = [_table(results, n, "ns an operation (x: times what sojourn takes)", speed) for n in sizes]
    tables += [_table(results, n, "expiry on a real clock, CPU ns a task and lateness in ms", clock) for n in sizes]
    tables += [_table(results, MEMORY_N, "bytes a timer", memory)]
    return "\n\n".join(text for text in tables if text) or "nothing was measured"


def _table(results: Results, n: int, title: str, columns: list[tuple[str, str, str]]) -> str:
    """One table of (heading, op, field) columns, without those that have no figure; empty where none has."""
    columns = [column for column in columns if _measured(results, *column[1:])]
    rows = []
    for peer in results.peers():
        size = _size(results, peer, n)
        values = [results.get(peer, size, op, field) for _, op, field in columns]
        if any(value is not None for value in values):
            bases = [results.get(BASE, n, op, field) if field.endswith("ns") else None for _, op, field in columns]
            label = peer if size == n else f"{peer} (n={size:,})"
            rows.append([label, *map(_cell, values, bases if peer != BASE else [None] * len(bases))])
    return f"n = {n:,}: {title}\n{table(['peer', *(name for name, _, _ in columns)], rows)}" if rows else ""


def _measured(results: Results, op: str, field: str) -> bool:
    return any(row["op"] == op and row.get(field) is not None for row in results.rows)


def _size(results: Results, peer: str, n: int) -> int:
    """n, or the most that this peer was given."""
    sizes = results.sizes(peer)
    return n if n in sizes else max((size for size in sizes if size < n), default=n)


def _cell(value: float | None, base: float | None) -> str:
    times = ratio(value, base)
    return f"{number(value)} {times:>6}" if times else number(value) + (" " * 7 if base else "")
