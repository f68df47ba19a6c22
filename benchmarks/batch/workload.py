"""The batch workload: n operations and some events, one part a condition, all conditions of the rules.

A round is: read the files, decide, leave the outcomes in memory (Spark: in its `noop` sink). What starts an engine is
not in the figure: each child decides once untimed, and a fingerprint of its outcomes is compared with everybody else's.
Two parts more: `growth`, ours alone over ever longer logs, and `cold`, the command itself with all that it starts.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..bar import Bar, over
from ..child import UnavailableError
from ..measure import Best, timed
from ..memory import PeakMemory
from ..report import DIFFERENT, SAME, join
from ..results import Results
from ..runner import Part, Spec, Workload, by_name
from ..table import number, ratio, table
from .cold import FLIGHTS

EVENTS_EACH = 3
TURNS = 6
NAMES = ("seen", "count", "distinct", "sum", "reached", "parts", "heartbeat", "many_keys")
"""The conditions, as in `conditions.CASES`."""

GROWING = (33_333, 333_333, 3_333_333)
"""Operations of 100,000, 1,000,000 and 10,000,000 events."""

EVENTS = "SOJOURN_BENCHMARK_EVENTS"
"""Set for the children where the number of events is not EVENTS_EACH for an operation."""

SPECS = by_name(
    Spec("sojourn-local", "batch.peers:SojournLocal", parts=(*NAMES, "growth")),
    Spec("duckdb", "batch.peers:DuckDb", parts=NAMES),
    Spec("polars", "batch.polars_peer:Polars", parts=NAMES),
    Spec("sojourn-spark", "batch.peers:SojournSpark", parts=(*NAMES, "growth")),
    Spec("spark-sql", "batch.peers:SparkSql", parts=NAMES),
    Spec("sojourn-replay", "batch.cold:Replay", parts=("cold",)),
    Spec("spark-count", "batch.cold:Count", parts=("cold",)),
)


def _work(spec: Spec, part: str, n: int) -> dict[str, Any]:
    try:
        peer = spec.load()()
        version = peer.version()
        row = _cold(peer) if part == "cold" else _decided(peer, part, n)
    except (ImportError, UnavailableError) as reason:
        return {"skipped": str(reason)}
    return {"version": version, "rows": [{"op": part, **row}]}


def _cold(peer: Any) -> dict[str, Any]:
    """Nothing is warm, and nothing is left out; the time is shared out among the flights."""
    from .cold import flights  # noqa: PLC0415

    log = flights()
    return {"ns": timed(partial(peer.run, log)).wall_ns / FLIGHTS}


def _decided(peer: Any, part: str, n: int) -> dict[str, Any]:
    from .check import fingerprint  # noqa: PLC0415  (needs pyarrow)
    from .conditions import CASES  # noqa: PLC0415
    from .data import log_path  # noqa: PLC0415

    name = "count" if part == "growth" else part
    case = CASES[name]
    events = n * EVENTS_EACH if part == "growth" else int(os.environ.get(EVENTS, n * EVENTS_EACH))
    log = log_path(case.log, n, events)
    given = log_path(case.operations, n, events) if case.operations else None
    answer = None if part == "growth" else fingerprint(peer.outcomes(name, case, log, given))
    best = Best()
    with PeakMemory() as memory:
        peer.run(name, case, log, given)
    for _ in range(TURNS):
        best.see("ns", timed(partial(peer.run, name, case, log, given)).wall_ns / events)
    return {"ns": best.values["ns"], "bytes": memory.peak / n, "events": events, "answer": answer}


PARTS = {name: Part(3) for name in NAMES} | {"growth": Part(2, GROWING), "cold": Part(3, (FLIGHTS,))}
BATCH = Workload("batch", SPECS, PARTS, _work)


def total_ns(results: Results, peer: str, n: int) -> float | None:
    """An event's share of all conditions together; None unless all were measured."""
    figures = [results.get(peer, n, name, workload="batch") for name in NAMES]
    return None if None in figures else sum(filter(None, figures))


def batch_bars(results: Results) -> list[Bar]:
    n = _largest(results)

    def times(theirs: str, ours: str) -> float | None:
        return over(total_ns(results, theirs, n), total_ns(results, ours, n))

    def grown(peer: str) -> float | None:
        least, *_, most = (results.get(peer, size, "growth", workload="batch") for size in GROWING)
        return over(most, least)

    def cold(peer: str) -> float | None:
        return results.get(peer, FLIGHTS, "cold", workload="batch")

    def ahead(name: str) -> float | None:
        ours, *theirs = (results.get(peer, n, name, workload="batch") for peer in ("sojourn-local", "duckdb", "polars"))
        return over(ours, None if None in theirs else min(filter(None, theirs)))

    return [
        Bar("Spark, all conditions: Spark SQL by hand / ours", times("spark-sql", "sojourn-spark"), ">=", 1),
        Bar("Spark, all conditions: ours / DuckDB by hand", times("sojourn-spark", "duckdb"), "<=", 2),
        Bar("local engine, all conditions: DuckDB by hand / ours", times("duckdb", "sojourn-local"), ">=", 1),
        Bar("local engine, all conditions: Polars by hand / ours", times("polars", "sojourn-local"), ">=", 1),
        Bar("local engine, its worst condition: ours / the faster of DuckDB and Polars", _worst(results, n), "<=", 1),
        Bar("local engine, time an event: 10,000,000 events / 100,000", grown("sojourn-local"), "<=", 1),
        Bar("Spark, time an event: 10,000,000 events / 100,000", grown("sojourn-spark"), "<=", 1),
        Bar("sojourn replay, cold / start Spark and count", over(cold("sojourn-replay"), cold("spark-count")), "<", 4),
        *(Bar(f"local engine, {name}: ours / the faster of DuckDB and Polars", ahead(name), "<=", 1) for name in NAMES),
    ]


def _worst(results: Results, n: int) -> float | None:
    """The largest ratio of the local engine to the faster of those by hand; None unless all were measured."""

    def ns(peer: str, name: str) -> float | None:
        return results.get(peer, n, name, workload="batch")

    by_hand = {name: [time for peer in ("duckdb", "polars") if (time := ns(peer, name))] for name in NAMES}
    ratios = [over(ns("sojourn-local", name), min(times, default=None)) for name, times in by_hand.items()]
    return None if None in ratios else max(filter(None, ratios))


def _largest(results: Results) -> int:
    """The largest size at which the conditions were measured."""
    measured = {row["n"] for row in results.rows if row["workload"] == "batch" and row["op"] in NAMES}
    return max(measured, default=0)


def report(results: Results, sizes: Sequence[int]) -> str:
    """Millions of events a second and memory for each condition, and whether all peers gave the same outcomes."""
    return join([*(_table(results, n) for n in sizes), _growth(results), _cold_table(results)])


def _growth(results: Results) -> str:
    def ns(peer: str, n: int) -> float | None:
        return results.get(peer, n, "growth", workload="batch")

    peers = [peer for peer in SPECS if any(ns(peer, n) for n in GROWING)]
    rows = [[f"{n * EVENTS_EACH:,}", *(number(ns(peer, n)) for peer in peers)] for n in GROWING]
    return f"growth: ns an event\n{table(['events', *peers], rows)}" if peers else ""


def _cold_table(results: Results) -> str:
    found = {peer: results.get(peer, FLIGHTS, "cold", workload="batch") for peer in SPECS}
    seconds = [[peer, number(ns * FLIGHTS / 1e9)] for peer, ns in found.items() if ns is not None]
    return f"cold, {FLIGHTS:,} flights\n{table(['program', 'seconds'], seconds)}" if seconds else ""


def _table(results: Results, n: int) -> str:
    peers = [peer for peer in SPECS if any(results.get(peer, n, name, workload="batch") for name in NAMES)]
    if not peers:
        return ""
    rows = []
    for name in NAMES:
        figures = [results.get(peer, n, name, workload="batch") for peer in peers]
        if not any(figures):
            continue
        answers = {results.get(peer, n, name, "answer", "batch") for peer in peers} - {None}
        rows.append([name, *map(_millions, figures), SAME if len(answers) == 1 else DIFFERENT])
    totals = [total_ns(results, peer, n) for peer in peers]
    peaks = [max((_megabytes(results, peer, n, name) for name in NAMES), default=0) for peer in peers]
    rows.append(["peak memory, MB", *map(number, peaks), ""])
    rows.append(["all, time over ours", *(ratio(total, totals[0]) for total in totals), ""])
    head = [f"{n:,} operations", *peers, "outcomes"]
    return f"million events a second\n{table(head, rows)}"


def _millions(ns: float | None) -> str:
    return number(None if not ns else 1e3 / ns)


def _megabytes(results: Results, peer: str, n: int, name: str) -> float:
    return (results.get(peer, n, name, "bytes", "batch") or 0) * n / 1e6
