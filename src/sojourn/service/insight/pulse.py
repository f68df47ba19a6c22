"""Outcomes as they are told, counted where they happen: per second, per minute, by rule; how late, and how fast."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ...rules.outcome import ENDED

if TYPE_CHECKING:
    from ...durable.state.wait import Told, Wait

SECONDS_KEPT, MINUTES_KEPT = 300, 1_440
HERD = 500
"""Outcomes told at once from which on one measures how fast that goes."""
ASSUMED_PER_SECOND = 20_000.0
"""As long as nothing has been measured."""
SMOOTHING = 0.2
LATENESS_KEPT = 10_000


class Ring:
    """Counts of the three endings by a unit of time, the last so many."""

    def __init__(self, unit_ms: int, kept: int) -> None:
        self.unit_ms, self._kept = unit_ms, kept
        self._counts: dict[int, list[int]] = {}

    def add(self, at: int, ending: str, count: int = 1) -> None:
        unit = at // self.unit_ms
        counts = self._counts.get(unit)
        if counts is None:
            counts = self._counts[unit] = [0, 0, 0]
            self._forget(unit)
        counts[ENDED.index(ending)] += count

    def _forget(self, newest: int) -> None:
        if len(self._counts) > 2 * self._kept:
            self._counts = {unit: counts for unit, counts in self._counts.items() if unit > newest - self._kept}

    def last(self, now: int, units: int) -> list[list[int]]:
        """The units up to now, the current one last."""
        newest = now // self.unit_ms
        return [self._counts.get(unit, [0, 0, 0]) for unit in range(newest - units + 1, newest + 1)]


class Pulse:
    """`note` is called by the hub, in its turn, with what has been told; everything else by whoever asks."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self.seconds, self.minutes = Ring(1_000, SECONDS_KEPT), Ring(60_000, MINUTES_KEPT)
        self.by_rule: Counter[tuple[str, str]] = Counter()
        """Since the start, by rule and ending."""
        self.late_ms: deque[int] = deque(maxlen=LATENESS_KEPT)
        """Of the last that expired: how long after their deadline they were told."""
        self.per_second = ASSUMED_PER_SECOND
        self.is_measured = False
        self._last_herd_s = 0.0

    def note(self, told: list[Wait]) -> None:
        now = self._now_ms()
        counts = Counter((wait.rule, wait._ending) for wait in told)
        for (rule, ending), count in counts.items():
            assert ending is not None
            self.by_rule[rule, ending] += count
            self.seconds.add(now, ending, count)
            self.minutes.add(now, ending, count)
        self.late_ms.extend(now - wait._ended_at for wait in told[-LATENESS_KEPT:] if wait._ending == "expired")
        self._measure(len(told))

    def _measure(self, count: int) -> None:
        """How fast a herd is told: between two large groups that follow each other closely."""
        now_s = perf_counter()
        took_s, self._last_herd_s = now_s - self._last_herd_s, now_s if count >= HERD else 0.0
        if count < HERD or not 0 < took_s < 1:
            return
        rate = count / took_s
        self.per_second = rate if not self.is_measured else self.per_second + SMOOTHING * (rate - self.per_second)
        self.is_measured = True

    def recall(self, outcomes: Iterable[Told]) -> None:
        """Those that were told before this process began: when they ended is known, not when they were told."""
        for told in outcomes:
            self.minutes.add(told.at or 0, told.outcome)
            self.seconds.add(told.at or 0, told.outcome)

    def lateness(self) -> dict[str, Any]:
        """Quantiles of what expired last, in milliseconds."""
        late = sorted(self.late_ms)
        if not late:
            return {"count": 0, "p50_ms": None, "p99_ms": None, "max_ms": None}
        middle, high = late[len(late) // 2], late[min(len(late) - 1, int(len(late) * 0.99))]
        return {"count": len(late), "p50_ms": middle, "p99_ms": high, "max_ms": late[-1]}
