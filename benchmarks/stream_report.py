"""The stream workload's tables."""

from __future__ import annotations

from collections.abc import Sequence

from .report import join
from .results import Results
from .stream import LIGHT, SPECS
from .table import number, ratio, table


def report(results: Results, sizes: Sequence[int]) -> str:
    """Rows a second under a steady load, and operations a second in a burst, at each size that was asked for."""
    return join([*(_table(results, n) for n in sizes), _latency(results)])


def _latency(results: Results) -> str:
    """From event to outcome, with a micro-batch every 100 ms; nothing if it was not measured."""

    def ms(peer: str, field: str) -> float | None:
        return results.get(peer, LIGHT, "latency", field, workload="stream")

    measured = [peer for peer in SPECS if ms(peer, "p50_ms")]
    rows = [[peer, number(ms(peer, "p50_ms")), number(ms(peer, "p99_ms"))] for peer in measured]
    if not rows:
        return ""
    return f"{LIGHT} events per second, a micro-batch every 100 ms\n\n{table(['', 'median, ms', '99%, ms'], rows)}"


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
        ]
        for peer in measured
    ]
    head = ["", "events/s", "ours is", "expired/s", "ours is"]
    return f"{n:,} pending\n\n{table(head, rows)}"


def _rate(ns: float | None) -> float | None:
    return None if not ns else 1e9 / ns
