"""A table of one workload's results: a line a peer, a column a figure, with the ratio to one of ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .results import Results
from .table import number, ratio, table

Column = tuple[str, str, str]
"""Heading, operation, field."""

SAME, DIFFERENT = "same", "DIFFERENT"
"""Whether peers gave one answer, in a table: a run in which they did not has failed."""


class Report:
    """The tables of one workload; `base` is the peer that ratios are to."""

    def __init__(self, results: Results, workload: str) -> None:
        self._results = results
        self._workload = workload
        self._peers = [peer for peer in results.peers() if results.sizes(peer, workload)]

    def table(
        self, title: str, n: int, base: str, columns: Sequence[Column], peers: Iterable[str] | None = None
    ) -> str:
        """One table, without columns that have no figure; empty where none has."""
        peers = [peer for peer in self._peers if peers is None or peer in peers]
        columns = [column for column in columns if any(self._size(peer, n, [column]) for peer in peers)]
        bases = [self._get(base, n, column) if column[2].endswith("ns") else None for column in columns]
        rows = []
        for peer in peers:
            size = self._size(peer, n, columns)
            if size is not None:
                cells = [self._get(peer, size, column) for column in columns]
                label = peer if size == n else f"{peer} (n={size:,})"
                rows.append([label, *map(_cell, cells, bases if peer != base else [None] * len(bases))])
        return f"{title}\n{table(['peer', *(heading for heading, _, _ in columns)], rows)}" if rows else ""

    def _get(self, peer: str, n: int, column: Column) -> float | None:
        return self._results.get(peer, n, *column[1:], workload=self._workload)

    def _size(self, peer: str, n: int, columns: Sequence[Column]) -> int | None:
        """n, or the most below it at which this peer has one of these figures."""
        sizes = [size for size in self._results.sizes(peer, self._workload) if size <= n]
        return next((s for s in reversed(sizes) if any(self._get(peer, s, c) is not None for c in columns)), None)


def join(tables: Iterable[str]) -> str:
    """All that are not empty."""
    return "\n\n".join(text for text in tables if text) or "nothing was measured"


def _cell(value: float | None, base: float | None) -> str:
    times = ratio(value, base)
    return f"{number(value)} {times:>6}" if times else number(value) + (" " * 7 if base else "")
