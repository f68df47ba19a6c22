"""How long a run spent on what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from time import perf_counter


class Phases:
    """Seconds by phase. Work that threads do side by side counts as long as each of them takes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Whatever runs inside is of this phase."""
        start = perf_counter()
        try:
            yield
        finally:
            self.add(name, perf_counter() - start)

    def add(self, name: str, seconds: float) -> None:
        with self._lock:
            self._seconds[name] += seconds

    def seconds(self) -> dict[str, float]:
        return {name: round(seconds, 3) for name, seconds in self._seconds.items()}
