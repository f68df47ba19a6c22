"""The kafka workload's tables: requests a second, and how their cost grows with the partitions."""

from __future__ import annotations

from collections.abc import Sequence

from .report import join
from .results import Results
from .table import number, ratio, table

REQUESTS = {
    "produce_1": "produce acks=all, 1 partition",
    "produce_3": "produce acks=all, 3 partitions",
    "poll_1": "long poll and its write, 1 partition",
    "poll_3": "long poll and its write, 3 partitions",
}


def report(results: Results, sizes: Sequence[int]) -> str:
    """Tables for each peer: a line a request, a column a number of partitions."""
    peers = [peer for peer in results.peers() if results.sizes(peer, "kafka")]
    return join(part(results, peer, sizes) for peer in peers for part in (_speed, _cpu, _time))


def _speed(results: Results, peer: str, sizes: Sequence[int]) -> str:
    rows = []
    for op, name in REQUESTS.items():
        costs = [results.get(peer, n, op, workload="kafka") for n in sizes]
        rows.append([name, *(f"{number(1e9 / ns)} {ratio(ns, costs[0]):>5}" if ns else "-" for ns in costs)])
    return _titled(f"{peer}: requests a second by partitions (x: cost beside that with the fewest)", sizes, rows)


def _cpu(results: Results, peer: str, sizes: Sequence[int]) -> str:
    rows = []
    for op, name in REQUESTS.items():
        costs = [results.get(peer, n, op, "cpu_ns", "kafka") for n in sizes]
        rows.append([name, *(number(ns and ns / 1_000) for ns in costs)])
    return _titled(f"{peer}: CPU microseconds a request", sizes, rows)


def _time(results: Results, peer: str, sizes: Sequence[int]) -> str:
    rows = []
    for op, name in {**REQUESTS, "idle": "idle"}.items():
        rows.append([name, *(number(results.get(peer, n, op, "virtual_s", "kafka")) for n in sizes)])
    return _titled(f"{peer}: virtual seconds a second", sizes, rows)


def _titled(title: str, sizes: Sequence[int], rows: list[list[str]]) -> str:
    return f"{title}\n{table(['request', *(f'{n:,}' for n in sizes)], rows)}"
