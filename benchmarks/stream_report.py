"""The stream workload's tables."""

from __future__ import annotations

from collections.abc import Sequence

from .report import join
from .results import Results
from .stream import LIGHT, PHASES, ROWS, SPECS
from .table import number, ratio, table


def report(results: Results, sizes: Sequence[int]) -> str:
    """Rows a second under a steady load, and operations a second in a burst, at each size that was asked for."""
    tables = [*(_table(results, n) for n in sizes), *(_breakdown(results, n) for n in sizes)]
    return join([*tables, _latency(results)])


def _latency(results: Results) -> str:
    """From event to outcome, with a micro-batch every 100 ms; nothing if it was not measured."""

    def ms(peer: str, field: str) -> float | None:
        return results.get(peer, LIGHT, "latency", field, workload="stream")

    measured = [peer for peer in SPECS if ms(peer, "p50_ms")]
    rows = [[peer, number(ms(peer, "p50_ms")), number(ms(peer, "p99_ms"))] for peer in measured]
    if not rows:
        return ""
    return f"{LIGHT} events per second, a micro-batch every 100 ms\n\n{table(['', 'median, ms', '99%, ms'], rows)}"


def _breakdown(results: Results, n: int) -> str:
    """Where a micro-batch of ours spends its time."""
    whole = results.get("sojourn", n, "steady", workload="stream")
    times = {op: results.get("sojourn", n, op, workload="stream") for op in PHASES}
    if whole is None or None in times.values():
        return ""
    rows = [[op, number(_batch_ms(ns)), f"{(ns or 0) / whole:.0%}"] for op, ns in times.items()]
    head = ["", "ms", "share"]
    return f"{n:,} pending: a micro-batch of {ROWS:,} events, {number(_batch_ms(whole))} ms\n\n{table(head, rows)}"


def _batch_ms(ns: float | None) -> float | None:
    return None if ns is None else ns * ROWS / 1e6


def _table(results: Results, n: int) -> str:
    def ns(peer: str, op: str) -> float | None:
        return results.get(peer, n, op, workload="stream")

    measured = [peer for peer in SPECS if ns(peer, "steady")]
    if not measured:
        return ""
    rows = [
        [
            peer,
            number(_rate(ns(peer, "steady"))),
            ratio(_rate(ns("sojourn", "steady")), _rate(ns(peer, "steady"))),
            number(_rate(ns(peer, "burst"))),
            ratio(_rate(ns("sojourn", "burst")), _rate(ns(peer, "burst"))),
            *(number(_megabytes(results.get(peer, n, op, "bytes", "stream"))) for op in ("state", "memory")),
        ]
        for peer in measured
    ]
    head = ["", "events/s", "ours is", "expired/s", "ours is", "state MB", "memory MB"]
    return f"{n:,} pending\n\n{table(head, rows)}"


def _megabytes(size: float | None) -> float | None:
    return None if size is None else size / 1e6


def _rate(ns: float | None) -> float | None:
    return None if not ns else 1e9 / ns
