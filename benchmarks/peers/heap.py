"""What a Python programmer writes by hand: `heapq` with lazy deletion, as small and as fast as it can fairly be."""

from __future__ import annotations

import platform
from heapq import heapify, heappop, heappush
from itertools import count
from time import monotonic
from typing import Any

from .base import Callback, Peer


class HeapTask:
    """A callback in the heap. Cancelling only marks it."""

    __slots__ = ("args", "callback", "timer")

    def __init__(self, timer: HeapTimer, callback: Callback, args: tuple[object, ...]) -> None:
        self.timer = timer
        self.callback: Callback | None = callback
        self.args = args

    def cancel(self) -> None:
        """Never run it; it leaves the heap when it is due or when most of the heap is cancelled."""
        if self.callback is not None:
            self.callback = None
            self.timer.cancelled += 1


class HeapTimer:
    """A heap of (deadline, sequence, task): tuples, so that comparing stays in C. Not thread-safe, unlike ours."""

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, HeapTask]] = []
        self.cancelled = 0
        self._next = count().__next__

    def call_later(self, delay: float, callback: Callback, *args: object) -> HeapTask:
        """Run `callback(*args)` in `delay` seconds."""
        task = HeapTask(self, callback, args)
        heappush(self.heap, (monotonic() + delay, self._next(), task))
        return task

    def run_due(self) -> None:
        """Run what is due; rebuild the heap without the cancelled when they are more than half, as asyncio does."""
        heap = self.heap
        if self.cancelled * 2 > len(heap):
            heap[:] = [entry for entry in heap if entry[2].callback is not None]
            heapify(heap)
            self.cancelled = 0
        now = monotonic()
        while heap and heap[0][0] <= now:
            task = heappop(heap)[2]
            callback = task.callback
            if callback is None:
                self.cancelled -= 1
            else:
                task.callback = None
                callback(*task.args)


class HeapPeer(Peer):
    """The class above."""

    name = "heapq"

    def __init__(self) -> None:
        self._timer = HeapTimer()
        self._done: list[bool] = []
        self.add = self._timer.call_later

    @staticmethod
    def version() -> str:
        """Part of the standard library."""
        return platform.python_version()

    def turn(self) -> None:
        """Run what is due."""
        self._timer.run_due()

    def last(self, delay: Any) -> None:
        """The last timer leaves a mark."""
        self.add(delay, self._done.append, True)

    def drain(self) -> None:
        """Run what is due until the mark is there."""
        while not self._done:
            self._timer.run_due()

    def close(self) -> None:
        """Tasks and timer refer to each other: cut that, for the memory to go at once."""
        self._timer.heap.clear()
        del self._timer, self.add
