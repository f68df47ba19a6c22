"""How fast virtual time passes."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..clock import NS_PER_MS

SPEEDS = (0.01, 0.1, 1, 2, 5, 10, 20, 50, 100)


class Pace:
    """Where virtual time should be by now: real time, times a speed, unless paused."""

    def __init__(self, real_ns: Callable[[], int] = time.monotonic_ns, speed: float = 1) -> None:
        self.real_ns = real_ns
        self.speed = speed
        self.is_paused = False
        self._real_ns, self._virtual_ns = real_ns(), 0

    def now_ns(self) -> int:
        if self.is_paused:
            return self._virtual_ns
        return self._virtual_ns + int((self.real_ns() - self._real_ns) * self.speed)

    def real_s_until(self, virtual_ns: int) -> float:
        """Negative if that is over."""
        return (virtual_ns - self.now_ns()) / self.speed / 1e9

    def late_ns(self, due_ms: int) -> int:
        """How long ago, in real time, that virtual millisecond was."""
        return max(0, int((self.now_ns() - due_ms * NS_PER_MS) / self.speed))

    def restart_at(self, virtual_ns: int) -> None:
        """From now on as if that were the time: what follows is not in a hurry to catch up."""
        self._real_ns, self._virtual_ns = self.real_ns(), virtual_ns

    def toggle_pause(self) -> None:
        self.restart_at(self.now_ns())
        self.is_paused = not self.is_paused

    def shift(self, steps: int) -> None:
        """Some steps faster, or slower if negative, as far as there are any."""
        self.restart_at(self.now_ns())
        at = SPEEDS.index(self.speed) + steps
        self.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, at))]
