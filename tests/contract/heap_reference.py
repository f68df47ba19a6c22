"""The reference that both wheels must agree with: the same timer over a heap with lazy deletion, and no wheel."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from typing import Any

from sojourn.timer import _timer
from sojourn.timer._wheel import NEVER, TimerTaskList
from sojourn.timer.system import AsyncTimerFace, SystemTimerFace
from support import Build


class HeapQueue:
    """What `DelayQueue` promises, by a heap of (due tick, order of arming, place).

    A place is a list of at most one task. Whoever takes the task out leaves the place empty, to be skipped later.
    """

    cascaded = 0

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, TimerTaskList]] = []
        self._order = itertools.count()
        self.now = 0
        self.earliest = NEVER

    def wheels(self) -> tuple[()]:
        return ()

    def add(self, task: Any, now: int) -> bool:
        place = TimerTaskList()
        place.append(task)
        heapq.heappush(self._heap, (task._due, next(self._order), place))
        is_first = task._due < self.earliest
        self.earliest = min(task._due, self.earliest)
        return is_first

    def peek(self) -> tuple[int, TimerTaskList] | None:
        while self._heap and not self._heap[0][2]:
            heapq.heappop(self._heap)
        return (self._heap[0][0], self._heap[0][2]) if self._heap else None

    def look(self) -> int | None:
        first = self.peek()
        self.earliest = NEVER if first is None else first[0]
        return None if first is None else first[0]

    def advance(self, target: int, due: TimerTaskList, limit: int) -> bool:
        while (first := self.peek()) is not None and first[0] <= target:
            due.take_all(first[1])
        self.now, self.earliest = target, NEVER if first is None else first[0]
        return True

    def rewind(self, now: int) -> None:
        self.now = now  # a heap does not care what time it is

    def __iter__(self) -> Iterator[Any]:
        for _, _, place in sorted(self._heap):
            yield from place


class HeapTimer(_timer.Timer):
    """The pure timer with a heap in the place of each wheel."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._queue = HeapQueue()
        self._wall_queue = HeapQueue()


HEAP = Build(
    "heap",
    _timer.TimerTask,
    HeapTimer,
    type("SystemTimer", (SystemTimerFace, HeapTimer), {}),
    type("AsyncTimer", (AsyncTimerFace, HeapTimer), {}),
)
