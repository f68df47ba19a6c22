"""The time of a durable hub: milliseconds since the epoch that never run back, across restarts too.

Stamps run on the monotonic clock from where the wall clock was, or the last record, if that is later. When the wall
clock is set ahead (or the machine was suspended) they follow it, as after a restart they would. When it is set back
they go on. A jump ahead beyond `max_step` is not followed until somebody confirms it: it would expire everything.
"""

from __future__ import annotations

from _thread import allocate_lock
from typing import NamedTuple

from ..clock import NS_PER_MS, Clock
from ..errors import ClockStepError
from ..rules.duration import duration_text
from ..rules.outcome import time_text

TOLERANCE_MS = 1_000
"""What the wall clock may drift without being said to step: NTP slews it all the time."""


class Step(NamedTuple):
    """The wall clock was set, and where it was then."""

    wall_ms: int
    is_followed: bool


class Stamps:
    """`now_ms` never returns less than before. From any thread."""

    def __init__(self, clock: Clock, last_ms: int, max_step_ms: int) -> None:
        self._clock = clock
        self._max_step_ms = max_step_ms
        wall_ms = clock.wall_ns() // NS_PER_MS
        if last_ms and wall_ms - last_ms > max_step_ms:
            raise ClockStepError(
                f"the last record is of {time_text(last_ms)}, and the clock shows {time_text(wall_ms)}, "
                f"{duration_text(wall_ms - last_ms)} later; if that is right, open the hub with a larger max_step than "
                f"{duration_text(max_step_ms)}"
            )
        start_ms = max(wall_ms, last_ms)
        self._epoch_ms = start_ms - clock.now_ns() // NS_PER_MS
        self._ahead_ms = wall_ms - start_ms
        """How far the wall clock is known to be ahead of the stamps; behind, if negative."""
        self._steps: list[Step] = []
        self._stepping = allocate_lock()

    def now_ms(self) -> int:
        stamp, ahead_ms = self._read()
        if abs(ahead_ms - self._ahead_ms) > TOLERANCE_MS:
            with self._stepping:
                self._step()
                stamp, _ = self._read()
        return stamp

    def steps(self) -> list[Step]:
        """Those that are to be recorded."""
        if not self._steps:
            return []
        with self._stepping:
            return list(self._steps)

    def recorded(self, count: int) -> None:
        """The first ones are in the log."""
        with self._stepping:
            del self._steps[:count]

    @property
    def refused_ms(self) -> int:
        """How far ahead the wall clock is by a jump that has not been confirmed; 0 if there is none."""
        return max(0, self._ahead_ms) if self._ahead_ms > self._max_step_ms else 0

    def confirm(self) -> int:
        """Follow the wall clock, however far it has jumped; return by how much."""
        with self._stepping:
            stamp, ahead_ms = self._read()
            if ahead_ms > 0:
                self._steps.append(Step(stamp + ahead_ms, True))
                self._follow(ahead_ms)
            return max(0, ahead_ms)

    def _read(self) -> tuple[int, int]:
        """The stamp for now, and how far the wall clock is ahead of it."""
        stamp = self._clock.now_ns() // NS_PER_MS + self._epoch_ms
        return stamp, self._clock.wall_ns() // NS_PER_MS - stamp

    def _step(self) -> None:
        stamp, ahead_ms = self._read()
        if abs(ahead_ms - self._ahead_ms) <= TOLERANCE_MS:
            return  # somebody else was quicker
        is_followed = 0 < ahead_ms <= self._max_step_ms
        self._steps.append(Step(stamp + ahead_ms, is_followed))
        if is_followed:
            self._follow(ahead_ms)
        else:
            self._ahead_ms = ahead_ms

    def _follow(self, ahead_ms: int) -> None:
        self._epoch_ms += ahead_ms
        self._ahead_ms = 0
