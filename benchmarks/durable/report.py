"""The durable workload's table, and what it must clear."""

from __future__ import annotations

from collections.abc import Sequence

from ..bar import Bar, over
from ..report import Report, join
from ..results import Results
from .workload import LARGE, SMALL

MILLION = 1_000_000
GIB = 2**30


def report(results: Results, sizes: Sequence[int]) -> str:
    """Nanoseconds for one, or for all where it says so; beside them, how many times ours."""
    tables = Report(results, "durable")
    found = [
        tables.table(
            f"{n:,}: ns each; restart and cancelling all in ns for all",
            n,
            "sojourn",
            [
                ("wait, 64 threads", "wait_64", "ns"),
                ("wait, 64 tasks", "wait_64_tasks", "ns"),
                ("hand-off among 64", "hand_off", "ns"),
                ("one caller, p50", "ack_1", "ns"),
                ("fdatasync, p50", "fdatasync", "ns"),
                ("wait_many", "wait_many", "ns"),
                ("signal_many", "signal_many", "ns"),
                ("restart", "restart", "ns"),
                ("cancel all", "cancel_all", "ns"),
            ],
        )
        for n in sizes
    ]
    found += [
        tables.table(
            f"{n:,} due in the same millisecond",
            n,
            "sojourn",
            [
                ("told, ns each", "herd", "ns"),
                ("signal p50", "signal_in_herd", "ns"),
                ("p99", "signal_in_herd", "p99_ns"),
            ],
        )
        for n in sizes
    ]
    found += [
        tables.table(
            f"{n:,} pending",
            n,
            "sojourn",
            [
                ("opened, ns each", "pending", "ns"),
                ("resident bytes", "pending", "bytes"),
                ("peak bytes", "pending", "peak_bytes"),
                ("signal", "signal_known", "ns"),
                ("to nobody", "signal_unknown", "ns"),
            ],
        )
        for n in (SMALL, LARGE)
    ]
    return join(found)


def durable_bars(results: Results) -> list[Bar]:
    sizes = results.sizes("sojourn", "durable")
    n = max((size for size in sizes if size <= MILLION), default=MILLION)

    def ns(peer: str, op: str, size: int = n, field: str = "ns") -> float | None:
        return results.get(peer, size, op, field, workload="durable")

    def against(peer: str, op: str) -> float | None:
        return over(ns(peer, op), ns("sojourn", op))

    def per_second(op: str) -> float | None:
        return over(1e9, ns("sojourn", op))

    p99 = ns("sojourn", "signal_in_herd", field="p99_ns")
    return [
        Bar("waits of 64 callers, threads, against SQLite by hand", against("sqlite", "wait_64"), ">=", 3),
        Bar("waits of 64 callers, threads, against Redis by hand", against("redis", "wait_64"), ">=", 1),
        Bar("waits of 64 callers, asyncio tasks, against SQLite by hand", against("sqlite", "wait_64_tasks"), ">=", 3),
        Bar("waits of 64 callers, asyncio tasks, against Redis by hand", against("redis", "wait_64_tasks"), ">=", 1),
        Bar("wait_many in batches of 1,000, per second", per_second("wait_many"), ">=", 100_000),
        Bar("wait_many, against SQLite by hand", against("sqlite", "wait_many"), ">=", 3),
        Bar("signal_many in batches of 1,000, per second", per_second("signal_many"), ">=", 100_000),
        Bar("signal_many, against SQLite by hand", against("sqlite", "signal_many"), ">=", 3),
        Bar("one caller, p50, over one fdatasync", over(ns("sojourn", "ack_1"), ns("sojourn", "fdatasync")), "<=", 2),
        Bar(f"restart with {n:,} pending, SQLite by hand over ours", against("sqlite", "restart"), ">=", 1),
        Bar(f"{n:,} due at once: each told once", over(ns("sojourn", "herd", field="told"), n), ">=", 1),
        Bar(f"{n:,} due at once: signals meanwhile, p99 in ms", None if p99 is None else p99 / 1e6, "<=", 50),
        Bar("10,000,000 pending: resident GiB", over(ns("sojourn", "pending", LARGE, "bytes"), GIB), "<=", 1),
        Bar(
            "10,000,000 pending: a signal, over that at 100,000",
            over(ns("sojourn", "signal_known", LARGE), ns("sojourn", "signal_known", SMALL)),
            "<=",
            3,
        ),
        Bar(f"cancel {n:,} by rule: records in the log", ns("sojourn", "cancel_all", field="records"), "<=", 1),
        Bar(f"cancel {n:,} by rule, SQLite's DELETE by hand over ours", against("sqlite", "cancel_all"), ">=", 1),
    ]
