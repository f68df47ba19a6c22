"""How long a run spent on what."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter


def age() -> float:
    """How many seconds ago this process began, where the system tells; otherwise 0."""
    try:
        began = float(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return float(Path("/proc/uptime").read_text().split()[0]) - began
    except (OSError, ValueError, IndexError):
        return 0.0


class Phases:
    """Seconds by phase, from any thread. What several threads do side by side is divided by their number."""

    def __init__(self) -> None:
        self._spent: deque[tuple[str, float]] = deque()  # to which any thread may append

    @contextmanager
    def __call__(self, name: str, threads: int = 1) -> Iterator[None]:
        """Whatever runs inside is of this phase, in one of so many threads."""
        start = perf_counter()
        try:
            yield
        finally:
            self.add(name, (perf_counter() - start) / threads)

    def add(self, name: str, seconds: float) -> None:
        self._spent.append((name, seconds))

    def total(self) -> float:
        return sum(seconds for _, seconds in tuple(self._spent))

    def seconds(self) -> dict[str, float]:
        """Of each phase, in the order in which they began."""
        totals: dict[str, float] = {}
        for name, seconds in tuple(self._spent):
            totals[name] = totals.get(name, 0.0) + seconds
        return {name: round(seconds, 3) for name, seconds in totals.items()}
