"""A make-believe server that keeps a hundred thousand deadlines pending.

Requests wait for a reply: most get one in time, so their timer is cancelled and the next request takes the slot.
Sessions are extended while they are used. Heartbeats recur. What is neither cancelled nor extended expires, and its
callback looks at the clock itself: was it early, and how late was it?
"""

from __future__ import annotations

import math
import random
import time
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from itertools import accumulate
from statistics import median

from sojourn import SystemTimer, TimerTask

NS_PER_MS = 1_000_000
SLICE = 64  # operations of a kind at a time: the reaper needs the same GIL, and must not wait long for it
FILL_SLICES = 1_000


class Lateness:
    """How late callbacks ran by their own clock, in bins of a tenth of a millisecond. Written by one thread."""

    BIN_NS = NS_PER_MS // 10
    BINS = 2_000  # the last one holds everything beyond 200 ms

    def __init__(self) -> None:
        self.bins = [0] * self.BINS
        self.early = 0
        self.max_ns = 0

    def add(self, late_ns: int) -> None:
        if late_ns < 0:
            self.early += 1
            late_ns = 0
        elif late_ns > self.max_ns:
            self.max_ns = late_ns
        self.bins[min(late_ns // self.BIN_NS, self.BINS - 1)] += 1

    def quantile_ms(self, q: float) -> float:
        """The upper edge of the bin that holds the quantile: rounded up, so never flattering."""
        running = list(accumulate(self.bins))
        at = bisect_left(running, max(1, math.ceil(q * running[-1])))
        edge_ns = (at + 1) * self.BIN_NS if at + 1 < self.BINS else self.max_ns
        return min(edge_ns, self.max_ns) / NS_PER_MS

    def __str__(self) -> str:
        p50, p99 = self.quantile_ms(0.50), self.quantile_ms(0.99)
        return f"p50 {p50:.1f}  p99 {p99:.1f}  max {self.max_ns / NS_PER_MS:.1f} ms"


class Load:
    """The make-believe server: slots, each with one pending timer, or finished and waiting to be armed again.

    The main thread schedules, cancels and extends; the reaper's thread only runs `on_deadline`. So every counter has
    one writer, and none needs a lock.
    """

    def __init__(self, timer: SystemTimer, slots: int, seed: int) -> None:
        self.timer = timer
        self.random = random.Random(seed)
        self.heartbeats = range(slots // 200)
        self.sessions = range(self.heartbeats.stop, slots * 3 // 10)
        self.requests = range(self.sessions.stop, slots)
        self.tasks: list[TimerTask] = []
        self.due_ns = array("q", bytes(8 * slots))
        self.armed = bytearray(slots)
        self.finished: deque[int] = deque()
        self.lateness = Lateness()
        self.scheduled = self.cancelled = self.extended = self.expired = 0
        self.ended_twice: list[int] = []
        self.fill_slice = max(100, slots // FILL_SLICES)
        self.costs_ns: dict[str, list[float]] = {"schedule_many": [], "schedule": [], "cancel": [], "extend": []}

    def delay_ms(self, slot: int) -> int:
        """Heartbeats under a second, sessions from seconds to minutes, requests 1 to 20 seconds."""
        if slot < self.heartbeats.stop:
            return self.random.randrange(250, 1_000)
        if slot < self.sessions.stop:
            return round(4_000 * math.pow(37.5, self.random.random()))  # up to 150 s, as many short as long
        return self.random.randrange(1_000, 20_000)

    def on_deadline(self, slot: int) -> None:
        """Every timer's callback: measure, and hand the slot to the main thread to be armed again."""
        self.lateness.add(time.monotonic_ns() - self.due_ns[slot])
        self._disarm(slot)
        self.expired += 1
        self.finished.append(slot)

    def step(self) -> None:
        """One slice of the server's day: at first it fills up, then it works."""
        if len(self.tasks) < len(self.armed):
            self._fill()
        else:
            self._work()

    def costs(self, *operations: str, recent: int = 0) -> str:
        """The median over the slices (the recent ones, or all) of what one operation took, Python's loop included."""
        medians = {name: median(self.costs_ns[name][-recent:]) for name in operations if self.costs_ns[name]}
        return "  ".join(f"{name} {ns:,.0f} ns" for name, ns in medians.items())

    def _fill(self) -> None:
        """Arm the next slots, all in one call."""
        slots = range(len(self.tasks), min(len(self.tasks) + self.fill_slice, len(self.armed)))
        delays_ms = self._arm(slots)
        began = time.perf_counter_ns()
        batch = self.timer.schedule_many(delays_ms, self.on_deadline, each=slots)
        self._note_cost("schedule_many", began, len(slots))
        self.tasks.extend(batch)

    def _work(self) -> None:
        """Replies come, what ended begins anew, sessions are used."""
        ended = self._cancel(self.random.choices(self.requests, k=SLICE))
        ended += [self.finished.popleft() for _ in range(min(len(self.finished), 4 * SLICE))]
        self._schedule(ended)
        self._extend(self.random.choices(self.sessions, k=SLICE // 4))

    def _arm(self, slots: Sequence[int]) -> list[int]:
        """Choose a delay for each slot and note when it will be due."""
        # The clock is read before the timer reads it: if a callback is early by even a nanosecond, it shows.
        now_ns = time.monotonic_ns()
        delays_ms = [self.delay_ms(slot) for slot in slots]
        for slot, delay_ms in zip(slots, delays_ms, strict=True):
            self.due_ns[slot] = now_ns + delay_ms * NS_PER_MS
            self.armed[slot] = 1
        self.scheduled += len(delays_ms)
        return delays_ms

    def _schedule(self, slots: Sequence[int]) -> None:
        plan = list(zip(self._arm(slots), slots, strict=True))
        schedule, callback = self.timer.schedule, self.on_deadline
        began = time.perf_counter_ns()
        tasks = [schedule(delay_ms, callback, slot) for delay_ms, slot in plan]
        self._note_cost("schedule", began, len(tasks))
        for slot, task in zip(slots, tasks, strict=True):
            self.tasks[slot] = task

    def _cancel(self, slots: Sequence[int]) -> list[int]:
        """Cancel those slots' timers; return the slots where that came before the deadline."""
        tasks = [self.tasks[slot] for slot in slots]
        began = time.perf_counter_ns()
        won = [task.cancel() for task in tasks]
        self._note_cost("cancel", began, len(tasks))
        freed = [slot for slot, has_won in zip(slots, won, strict=True) if has_won]
        for slot in freed:
            self._disarm(slot)
        self.cancelled += len(freed)
        return freed

    def _extend(self, slots: Sequence[int]) -> None:
        """Sessions were used: move their deadlines, unless they have just expired."""
        plan = [(slot, self.tasks[slot], self.delay_ms(slot)) for slot in slots]
        now_ns, began = time.monotonic_ns(), time.perf_counter_ns()
        moved = [task.extend(delay_ms) for _, task, delay_ms in plan]
        self._note_cost("extend", began, len(plan))
        for (slot, _, delay_ms), has_moved in zip(plan, moved, strict=True):
            if has_moved:
                self.due_ns[slot] = now_ns + delay_ms * NS_PER_MS
                self.extended += 1

    def _disarm(self, slot: int) -> None:
        """Tick the slot off, and take note if that had been done already."""
        if not self.armed[slot]:
            self.ended_twice.append(slot)
        self.armed[slot] = 0

    def _note_cost(self, operation: str, began_ns: int, count: int) -> None:
        if count:
            self.costs_ns[operation].append((time.perf_counter_ns() - began_ns) / count)
