"""What the stream must clear: ratios on rows a second."""

from __future__ import annotations

from .bar import LARGE, SMALL, Bar, N, over
from .results import Results
from .stream import LIGHT, SLOW_N


def stream_bars(results: Results) -> list[Bar]:
    def ns(peer: str, n: int, op: str = "steady") -> float | None:
        return results.get(peer, n, op, workload="stream")

    def wait(peer: str, field: str) -> float | None:
        return results.get(peer, LIGHT, "latency", field, workload="stream")

    ordinary, burst = ns("sojourn", N), ns("sojourn", N, "burst")
    return [
        Bar(
            "steady, against transformWithState by hand in Python",
            over(ns("rows", SLOW_N), ns("sojourn", SLOW_N)),
            ">=",
            20,
        ),
        Bar(
            "event to outcome, Scala's median against ours",
            over(wait("scala", "p50_ms"), wait("sojourn", "p50_ms")),
            ">=",
            1,
        ),
        Bar("the same, 99th percentile", over(wait("scala", "p99_ms"), wait("sojourn", "p99_ms")), ">=", 1),
        Bar("steady, against transformWithState by hand in Scala", over(ns("scala", N), ordinary), ">=", 2),
        Bar("steady, 1,000,000 pending against 10,000", over(ns("sojourn", SMALL), ns("sojourn", LARGE)), ">=", 0.9),
        Bar("steady, ten rules against one, time", over(ns("ten_rules", N), ordinary), "<=", 3),
        Bar("100,000 expiring at once, time against a batch of 100,000 rows", over(burst, ordinary), "<", 3),
    ]
