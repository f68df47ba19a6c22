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
    """A table for each peer: a line a request, a column a number of partitions."""
    peers = [peer for peer in results.peers() if results.sizes(peer, "kafka")]
    return join(text for peer in peers for text in (_speed(results, peer, sizes), _time(results, peer, sizes)))


def _speed(results: Results, peer: str, sizes: Sequence[int]) -> str:
    rows = []
    for op, name in REQUESTS.items():
        costs = [results.get(peer, n, op, workload="kafka") for n in sizes]
        cells = [f"{number(1e9 / ns)} {ratio(ns, costs[0]):>5}" if ns else "-" for ns in costs]
        rows.append([name, *cells])
    title = f"{peer}: requests a second by partitions in the cluster (x: cost beside that with the fewest)"
    return f"{title}\n{table(['request', *(f'{n:,}' for n in sizes)], rows)}"


def _time(results: Results, peer: str, sizes: Sequence[int]) -> str:
    rows = []
    for op, name in {**REQUESTS, "idle": "idle"}.items():
        seconds = [results.get(peer, n, op, "virtual_s", "kafka") for n in sizes]
        rows.append([name, *map(number, seconds)])
    title = f"{peer}: virtual seconds a second"
    return f"{title}\n{table(['request', *(f'{n:,}' for n in sizes)], rows)}"
