"""The purgatory workload's tables: operations, waits, bytes and the open-loop load."""

from __future__ import annotations

from collections.abc import Sequence

from .purgatory import MEMORY_N, PURGATORIES, RATES, WAITS
from .report import Column, Report, join
from .results import Results

OPERATIONS = ("watch", "complete", "watch_complete", "one_at_a_time", "already", "expire", "watch_expire")
WAIT_OPS = ("wait", "signal", "signal_random", "wait_signal", "wait_signal_mixed", "expire", "wait_expire")
LOAD_FIELDS = ("cpu_ns", *(f"{what}_{q}_ms" for what in ("complete", "expire") for q in ("p50", "p99", "p999", "min")))


def report(results: Results, sizes: Sequence[int]) -> str:
    """All tables, for each size that was asked for."""
    tables = Report(results, "purgatory")
    memory: list[Column] = [
        (op, op, "bytes") for op in ("bytes_pending_1", "bytes_held_1", "bytes_pending_3", "bytes_held_3")
    ]
    load: list[Column] = [(field.removesuffix("_ms"), "load", field) for field in LOAD_FIELDS]
    return join(
        [
            *(_operations(tables, n, keys) for n in sizes for keys in (1, 3)),
            *(_waits(tables, n) for n in sizes),
            tables.table(
                "bytes an operation, pending and once all have completed", MEMORY_N, "sojourn", memory, PURGATORIES
            ),
            tables.table("bytes a pending wait", MEMORY_N, "hub", [("bytes", "bytes_wait", "bytes")], WAITS),
            *(
                tables.table(
                    f"load, {rate:,} requests a second: CPU ns a request, lateness in ms, bytes in all",
                    rate,
                    "sojourn",
                    [*load, ("bytes", "load", "bytes")],
                )
                for rate in RATES
            ),
        ]
    )


def _operations(tables: Report, n: int, keys: int) -> str:
    columns: list[Column] = [(op, f"{op}_{keys}", "ns") for op in OPERATIONS]
    columns += [
        ("watch_complete, CPU", f"watch_complete_{keys}", "cpu_ns"),
        ("expire, CPU", f"expire_{keys}", "cpu_ns"),
    ]
    title = f"n = {n:,}, {keys} key{'s' * (keys > 1)}: ns an operation (x: times what sojourn takes)"
    return tables.table(title, n, "sojourn", columns, PURGATORIES)


def _waits(tables: Report, n: int) -> str:
    title = f"n = {n:,}: ns a wait (x: times what the hub takes)"
    return tables.table(title, n, "hub", [(op, op, "ns") for op in WAIT_OPS], WAITS)
