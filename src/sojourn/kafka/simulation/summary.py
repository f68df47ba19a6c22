"""What waited, for how long, and what expired: an operation log that only counts."""

from __future__ import annotations

from array import array
from collections import Counter

from ...rules import Event
from ..rules import RULES

ENDS = ("completed", "expired", "cancelled")
FIGURES = ("opened", *ENDS, "p50_ms", "p99_ms", "max_ms")
HEADINGS = ("request", *(name.removesuffix("_ms") for name in FIGURES))


class Summary:
    """Counts the operations of each kind, and keeps how long each has waited."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        """Of the operations that are open, by key."""
        self._ended: Counter[tuple[str, str]] = Counter()
        self._waited_ms: dict[str, array[int]] = {kind: array("q") for kind in RULES}

    def write(self, event: Event) -> None:
        if event.kind in RULES:
            self._kinds[event.key] = event.kind
        elif event.kind in ENDS:
            kind = self._kinds.pop(event.key)
            self._ended[kind, event.kind] += 1
            self._waited_ms[kind].append(int(event.value or 0))

    def close(self) -> None:
        """Nothing to do: the counts stay."""

    def count(self, kind: str, end: str) -> int:
        """How many of the kind ended so."""
        return self._ended[kind, end]

    def figures(self) -> dict[str, dict[str, int]]:
        """By kind of request, of those that there were: how many, how they ended, how long they waited."""
        return {kind: self._figures(kind) for kind, waited in self._waited_ms.items() if waited}

    def __str__(self) -> str:
        """A table: a line for each kind of request that there was."""
        rows = [HEADINGS, *(_row(kind, figures) for kind, figures in self.figures().items())]
        widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
        return "\n".join(
            row[0].ljust(widths[0])
            + "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
            for row in rows
        )

    def _figures(self, kind: str) -> dict[str, int]:
        waited = sorted(self._waited_ms[kind])
        ended = [self._ended[kind, end] for end in ENDS]
        figures = [sum(ended), *ended, waited[len(waited) // 2], waited[len(waited) * 99 // 100], waited[-1]]
        return dict(zip(FIGURES, figures, strict=True))


def _row(kind: str, figures: dict[str, int]) -> tuple[str, ...]:
    return (kind, *(_time(value) if name.endswith("_ms") else f"{value:,}" for name, value in figures.items()))


def _time(ms: int) -> str:
    """Short enough for a table: `999 ms`, `59.9 s`, `60 min`."""
    if ms < 1_000:
        return f"{ms} ms"
    return f"{ms / 1_000:.1f} s" if ms < 600_000 else f"{ms / 60_000:.0f} min"
