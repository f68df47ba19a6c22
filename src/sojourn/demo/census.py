"""How full each bucket is, counted a few at a time."""

from __future__ import annotations

from ..timer import Timer

FINE_LEVELS = 2  # these hold what is due within 400 ms: always few, unless a herd is about to fall due
BUDGET = 4_000  # tasks counted at a look, at most one bucket more

Levels = tuple[tuple[int, ...], ...]


class Census:
    """The occupancy of a timer's wheels, kept up to date at a cost of O(BUDGET) per look: counting all is O(pending).

    The finest wheels are counted at every look, and so is each bucket that a hand has passed since the last one. The
    others take turns, so that they are shown as they were a moment ago.
    """

    def __init__(self, timer: Timer) -> None:
        self.levels: list[list[int]] = []
        self._timer = timer
        self._now_ms = 0
        self._next = 0

    def look(self, now_ms: int) -> Levels:
        self._add_levels()
        for level in range(len(self.levels)):
            for bucket in self._passed(level, now_ms):
                self._count(level, bucket)
        self._now_ms = now_ms
        self._count_in_turn()
        return tuple(map(tuple, self.levels))

    def count_all(self) -> None:
        """Once, when so much has changed that nobody should wait for it."""
        self.levels = [list(counts) for counts in self._timer.occupancy()]

    def _add_levels(self) -> None:
        missing = self._timer.stats().levels - len(self.levels)
        self.levels += [[0] * self._timer.wheel_size for _ in range(missing)]

    def _passed(self, level: int, now_ms: int) -> range | set[int]:
        """The buckets of that level over which its hand has come since the last look."""
        size = self._timer.wheel_size
        tick_ms = self._timer.tick_ms * size**level
        before, after = self._now_ms // tick_ms, now_ms // tick_ms
        if level < FINE_LEVELS or after - before >= size:
            return range(size)
        return {turn % size for turn in range(before, after + 1)}

    def _count(self, level: int, bucket: int) -> int:
        count = self.levels[level][bucket] = self._timer.bucket_size(level, bucket)
        return count

    def _count_in_turn(self) -> None:
        size = self._timer.wheel_size
        coarse = max(0, len(self.levels) - FINE_LEVELS) * size
        counted = 0
        for _ in range(coarse):
            self._next = (self._next + 1) % coarse
            level, bucket = divmod(self._next, size)
            counted += self._count(level + FINE_LEVELS, bucket)
            if counted > BUDGET:
                break
