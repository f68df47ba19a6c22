"""What `import sojourn` adds to the start of a program, beside an empty one and what one would import instead."""

from __future__ import annotations

import subprocess
import sys
import time

from .bar import Bar
from .measure import Best
from .results import Results
from .table import table

PROGRAMS = {
    "pass": "pass",
    "sojourn": "import sojourn",
    "asyncio": "import asyncio",
    "concurrent.futures": "import concurrent.futures, threading",
}
BAR_MS = 50


def measure(rounds: int) -> Results:
    """ns of each program, the least of interleaved rounds."""
    best = Best()
    for _ in range(rounds):
        for peer, program in PROGRAMS.items():
            start = time.perf_counter_ns()
            subprocess.run([sys.executable, "-c", program], check=True)
            best.see(peer, time.perf_counter_ns() - start)
    return Results(
        {"workload": "import", "peer": peer, "n": 1, "op": "start", "ns": ns} for peer, ns in best.values.items()
    )


def import_bars(results: Results) -> list[Bar]:
    return [Bar("import sojourn, ms more than an empty program", _more_ms(results, "sojourn"), "<=", BAR_MS)]


def report(results: Results) -> str:
    rows = [[peer, f"{(_ms(results, peer) or 0):.1f}", f"{(_more_ms(results, peer) or 0):.1f}"] for peer in PROGRAMS]
    return table(["program", "ms", "more than pass"], rows)


def _ms(results: Results, peer: str) -> float | None:
    ns = results.get(peer, 1, "start", workload="import")
    return None if ns is None else ns / 1e6


def _more_ms(results: Results, peer: str) -> float | None:
    ours, empty = _ms(results, peer), _ms(results, "pass")
    return None if ours is None or empty is None else ours - empty
