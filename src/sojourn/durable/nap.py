"""The nap of a hub that has nothing to do: until something is due, the timer sees to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..timer import SystemTimer, TimerTask

LONGEST_NAP_MS = 86_400_000
WALL_CHECK_FROM_MS = 2_000
"""For naps from here on the wall clock is watched too: it may be set ahead meanwhile."""


class Nap:
    """Has the timer call `wake` when something is due."""

    def __init__(self, timer: SystemTimer, now_ms: Callable[[], int], wake: Callable[[], None]) -> None:
        self._timer, self._now_ms, self._wake = timer, now_ms, wake
        self._tasks: list[TimerTask] = []
        self._until: int | None = None

    def forget(self) -> None:
        """Whatever is planned counts no longer: `plan` plans anew, even if that is later."""
        self._until = None

    def plan(self, due: int | None) -> None:
        """Have `wake` called then, unless it is to be called sooner anyway."""
        if due is None or (self._until is not None and self._until <= due):
            return
        self.end()
        now_ms = self._now_ms()
        delay_ms = min(max(0, due - now_ms), LONGEST_NAP_MS)
        self._until = now_ms + delay_ms
        self._tasks = [self._timer.schedule(delay_ms, self._wake)]
        if delay_ms >= WALL_CHECK_FROM_MS:
            at_s = self._timer.clock.wall_ns() // 1_000_000_000 + delay_ms // 1000
            self._tasks.append(self._timer.schedule_at(at_s, self._wake))

    def end(self) -> None:
        """Nobody is woken any more. A task that is kept would keep all that is to be woken by it, for good."""
        for task in self._tasks:
            task.cancel()
        self._tasks = []
