"""The service's table, and what it must clear."""

from __future__ import annotations

from collections.abc import Sequence

from ..bar import Bar, over
from ..results import Results
from ..table import number, table
from .workload import CONNECTIONS, LINES, PENDING, PER_SECOND


def report(results: Results, sizes: Sequence[int]) -> str:
    """Waits per second and latencies of each peer; how late outcomes come; how long a start takes."""
    rows = []
    for peer in results.peers():
        for what, n, op in (("PUT", CONNECTIONS, "put"), ("batch", LINES, "batch")):
            if (rate := _rate(results, peer, n, op)) is not None:
                p50, p99 = (results.get(peer, n, op, field, "service") for field in ("p50_ms", "p99_ms"))
                rows.append([peer, what, number(rate), f"{p50:.1f}", f"{p99:.1f}"])
    parts = [table(["", "", "waits/s", "p50 ms", "p99 ms"], rows)]
    if (late := _figure(results, PER_SECOND, "lateness")) is not None:
        parts.append(f"outcomes on a stream at {PER_SECOND:,} expiries per second: p99 {late / 1e6:.1f} ms late")
    if (start := _figure(results, PENDING, "start")) is not None:
        parts.append(f"ready {start / 1e9:.1f} s after the start with {PENDING:,} pending")
    return "\n\n".join(parts)


def service_bars(results: Results) -> list[Bar]:
    ours, theirs = (_rate(results, peer, CONNECTIONS, "put") for peer in ("sojourn", "starlette_sqlite"))
    return [
        Bar("PUT, one wait per request, 64 connections, per second", ours, ">=", 5_000),
        Bar("PUT, against Starlette and SQLite by hand", over(ours, theirs), ">=", 2),
        Bar("NDJSON batches, waits per second", _rate(results, "sojourn", LINES, "batch"), ">=", 50_000),
        Bar(
            "lateness on an event stream at 5,000 expiries per second, p99 in ms",
            over(_figure(results, PER_SECOND, "lateness"), 1e6),
            "<=",
            50,
        ),
        Bar("start with 1,000,000 pending, in s", over(_figure(results, PENDING, "start"), 1e9), "<=", 10),
    ]


def _figure(results: Results, n: int, op: str) -> float | None:
    return results.get("sojourn", n, op, workload="service")


def _rate(results: Results, peer: str, n: int, op: str) -> float | None:
    ns = results.get(peer, n, op, workload="service")
    return None if not ns else 1e9 / ns
