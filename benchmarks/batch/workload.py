"""The batch workload: n operations and three times as many events, one part a condition, all conditions of the rules.

A round is: read the files, decide, leave the outcomes in memory (Spark: in its `noop` sink). What starts an engine is
not in the figure: each child decides once untimed, and a fingerprint of its outcomes is compared with everybody else's.
"""

from __future__ import annotations

import resource
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..bar import Bar, over
from ..child import UnavailableError
from ..measure import Best, timed
from ..report import join
from ..results import Results
from ..runner import Part, Spec, Workload, by_name
from ..table import number, ratio, table

EVENTS_EACH = 3
TURNS = 2
NAMES = ("seen", "count", "distinct", "sum", "reached", "parts", "heartbeat", "many_keys")
"""The conditions, as in `conditions.CASES`."""

SPECS = by_name(
    Spec("sojourn-local", "batch.peers:SojournLocal"),
    Spec("duckdb", "batch.peers:DuckDb"),
    Spec("polars", "batch.polars_peer:Polars"),
    Spec("sojourn-spark", "batch.peers:SojournSpark"),
    Spec("spark-sql", "batch.peers:SparkSql"),
)


def _work(spec: Spec, part: str, n: int) -> dict[str, Any]:
    try:
        peer = spec.load()()
        version = peer.version()
    except (ImportError, UnavailableError) as reason:
        return {"skipped": str(reason)}
    from .check import fingerprint  # noqa: PLC0415  (needs pyarrow)
    from .conditions import CASES  # noqa: PLC0415
    from .data import log_path  # noqa: PLC0415

    case = CASES[part]
    log = log_path(case.log, n, n * EVENTS_EACH)
    given = log_path(case.operations, n, n * EVENTS_EACH) if case.operations else None
    answer = fingerprint(peer.outcomes(part, case, log, given))
    best = Best()
    for _ in range(TURNS):
        best.see("ns", timed(partial(peer.run, part, case, log, given)).wall_ns / (n * EVENTS_EACH))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / n
    return {"version": version, "rows": [{"op": part, "ns": best.values["ns"], "bytes": peak, "answer": answer}]}


BATCH = Workload("batch", SPECS, {name: Part(3) for name in NAMES}, _work)


def total_ns(results: Results, peer: str, n: int) -> float | None:
    """An event's share of all conditions together; None unless all were measured."""
    figures = [results.get(peer, n, name, workload="batch") for name in NAMES]
    return None if None in figures else sum(filter(None, figures))


def batch_bars(results: Results) -> list[Bar]:
    n = max(results.sizes("sojourn-local", "batch"), default=0)

    def times(theirs: str, ours: str) -> float | None:
        return over(total_ns(results, theirs, n), total_ns(results, ours, n))

    return [
        Bar("Spark, all conditions: Spark SQL by hand / ours", times("spark-sql", "sojourn-spark"), ">=", 1),
        Bar("Spark, all conditions: ours / DuckDB by hand", times("sojourn-spark", "duckdb"), "<=", 2),
        Bar("local engine, all conditions: DuckDB by hand / ours", times("duckdb", "sojourn-local"), ">=", 1),
        Bar("local engine, all conditions: Polars by hand / ours", times("polars", "sojourn-local"), ">=", 1),
    ]


def report(results: Results, sizes: Sequence[int]) -> str:
    """Millions of events a second for each condition, and whether all peers gave the same outcomes."""
    return join([_table(results, n) for n in sizes])


def _table(results: Results, n: int) -> str:
    peers = [peer for peer in SPECS if n in results.sizes(peer, "batch")]
    rows = []
    for name in NAMES:
        figures = [results.get(peer, n, name, workload="batch") for peer in peers]
        if not any(figures):
            continue
        answers = {results.get(peer, n, name, "answer", "batch") for peer in peers} - {None}
        rows.append([name, *map(_millions, figures), "same" if len(answers) == 1 else "DIFFERENT"])
    totals = [total_ns(results, peer, n) for peer in peers]
    rows.append(["all, ours is", *(ratio(total, totals[0]) for total in totals), ""])
    head = [f"{n:,} operations", *peers, "outcomes"]
    return f"million events a second\n{table(head, rows)}"


def _millions(ns: float | None) -> str:
    return number(None if not ns else 1e3 / ns)
