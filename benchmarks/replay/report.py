"""The replay workload's tables and bars."""

from __future__ import annotations

from collections.abc import Sequence

from ..bar import Bar, over
from ..report import DIFFERENT, SAME, join
from ..results import Results, Row
from ..table import number, ratio, table
from .commands import LARGE_EVENTS, PEERS

BASE = "duckdb"
SMALL_EVENTS = 10_000_000
GIB = 1 << 30
COUNTS = ("opened", "completed", "expired", "pending")


def report(results: Results, sizes: Sequence[int]) -> str:
    """Seconds and memory of each command at each size, then where the time of ours went."""
    return join([text for n in sizes for text in (_commands(results, n), _phases(results, n))])


def seconds(results: Results, peer: str, n: int, field: str = "ns") -> float | None:
    """Of a whole command; with `started_ns`, less the start of its engine."""
    ns = results.get(peer, n, "replay", field, "replay")
    return None if ns is None else ns * n / 1e9


def gib(results: Results, peer: str, n: int) -> float | None:
    return over(results.get(peer, n, "replay", "bytes", "replay"), GIB)


def replay_bars(results: Results) -> list[Bar]:
    def times(peer: str, beside: str, n: int, field: str = "ns") -> float | None:
        return over(seconds(results, peer, n, field), seconds(results, beside, n))

    small, large = SMALL_EVENTS, LARGE_EVENTS
    more = {name: times(f"sojourn-{name}-report", f"sojourn-{name}", small) for name in ("local", "spark")}
    return [
        Bar("local, 10,000,000 events: ours / DuckDB by hand", times("sojourn-local", BASE, small), "<=", 0.8),
        Bar(
            "local, 100,000,000 events in 4 GiB: ours / DuckDB by hand in 4 GiB",
            times("sojourn-local", "duckdb-4g", large),
            "<=",
            1,
        ),
        Bar("local, 100,000,000 events: peak memory, GiB", gib(results, "sojourn-local", large), "<=", 4),
        Bar(
            "Spark, 10,000,000 events, less the start: ours / DuckDB by hand",
            times("sojourn-spark", BASE, small, "started_ns"),
            "<=",
            2,
        ),
        Bar("Spark, 100,000,000 events: ours / DuckDB by hand", times("sojourn-spark", BASE, large), "<=", 2),
        Bar("Spark, 100,000,000 events: peak memory, GiB", gib(results, "sojourn-spark", large), "<", 8),
        Bar("local, 10,000,000 events: with report and what-if / without", more["local"], "<=", 1.1),
        Bar("Spark, 10,000,000 events: with report and what-if / without", more["spark"], "<=", 1.1),
    ]


def _commands(results: Results, n: int) -> str:
    rows = _rows(results, n)
    if not rows:
        return ""
    base = seconds(results, BASE, n)
    known = {tuple(row[name] for name in COUNTS) for row in rows}
    lines = [
        [
            row["peer"],
            number(seconds(results, row["peer"], n)),
            ratio(seconds(results, row["peer"], n), base),
            number(seconds(results, row["peer"], n, "started_ns")),
            number(gib(results, row["peer"], n)),
            *(f"{row[name]:,}" for name in COUNTS),
        ]
        for row in rows
    ]
    head = ["cold, file to file", "seconds", "/ duckdb", "less start", "peak GiB", *COUNTS]
    counts = f"counts: {SAME if len(known) == 1 else DIFFERENT}"
    return f"{n:,} events\n{table(head, lines)}\n{counts}"


def _phases(results: Results, n: int) -> str:
    """In the order in which the commands tell them."""
    rows = [row for row in _rows(results, n) if _phase_names(row)]
    names = list(dict.fromkeys(name for row in rows for name in _phase_names(row)))
    lines = [[row["peer"], *(number(row.get(f"{name}_s")) for name in names)] for row in rows]
    return f"seconds by phase, {n:,} events\n{table(['', *names], lines)}" if lines else ""


def _phase_names(row: Row) -> list[str]:
    return [field.removesuffix("_s") for field in row if field.endswith("_s")]


def _rows(results: Results, n: int) -> list[Row]:
    of = {row["peer"]: row for row in results.rows if row["workload"] == "replay" and row["n"] == n}
    return [of[peer] for peer in PEERS if peer in of]
