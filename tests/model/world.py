"""What a clock and its timers should do, said as plainly as can be: a dict of pending tasks, and a sort for every run.

`World` has the face of a `ManualClock`, `ModelTimer` that of a timer started on it.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from sojourn import TaskState, TimerClosedError
from sojourn.timer._state import WALL_ORIGIN_MS

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NS = 10**6


def up(value: int, step: int) -> int:
    return -(-value // step)


class ModelTask:
    def __init__(self, delay_ms: int, callback: Callable[..., object], *args: object) -> None:
        self.delay_ms = delay_ms
        self.deadline_ms = 0
        self.on_wall = False
        self.state = TaskState.IDLE
        self.timer: ModelTimer | None = None
        self.armed = 0
        self.holds_callback = True
        self.call = lambda: callback(*args)

    def cancel(self) -> bool:
        if self.timer is None:
            return False
        self.timer.leave(self, TaskState.CANCELLED)
        self.holds_callback = False
        return True

    def extend(self, delay_ms: int) -> bool:
        if self.timer is None:
            return False
        self.timer.arm(self, up(self.timer.clock.time_ns(self.on_wall), NS) + delay_ms, self.on_wall)
        return True

    def run(self) -> int:
        self.call()
        self.holds_callback = self.timer is not None
        return 1


class ModelBatch(list[ModelTask]):
    def cancel(self) -> int:
        return sum(task.cancel() for task in self)


class ModelTimer:
    def __init__(self, clock: World, tick_ms: int) -> None:
        self.clock = clock
        self.tick_ms = tick_ms
        self.origin_ms = clock.now_ns() // NS
        self.is_open = True
        self.due_ns: dict[ModelTask, int] = {}  # of every pending task, by its clock
        self.count: Counter[str] = Counter()
        clock.timers.append(self)

    def schedule(self, delay_ms: int, callback: Callable[..., object], *args: object) -> ModelTask:
        return self.add(ModelTask(delay_ms, callback, *args))

    def schedule_many(
        self, delays_ms: Iterable[int], callback: Callable[..., object], each: Iterable[Any]
    ) -> ModelBatch:
        return ModelBatch(
            self.schedule(delay_ms, callback, item) for delay_ms, item in zip(delays_ms, each, strict=True)
        )

    def schedule_at(self, when: datetime, callback: Callable[..., object], *args: object) -> ModelTask:
        deadline_ms = (when - EPOCH) // timedelta(milliseconds=1)
        task = ModelTask(deadline_ms - self.clock.wall_ns() // NS, callback, *args)
        self.arm(task, deadline_ms, on_wall=True)
        return task

    def add(self, task: ModelTask) -> ModelTask:
        if not task.holds_callback:
            raise TypeError("it has let go of its callback")
        self.arm(task, up(self.clock.now_ns(), NS) + task.delay_ms, on_wall=False)
        return task

    def arm(self, task: ModelTask, deadline_ms: int, on_wall: bool) -> None:
        if not self.is_open:
            raise TimerClosedError
        if task.timer is not None and task.timer is not self:
            task.timer.leave(task, TaskState.CANCELLED)
        self.count["extended" if task.timer is self else "scheduled"] += 1
        task.timer, task.state = self, TaskState.PENDING
        task.deadline_ms, task.on_wall, task.armed = deadline_ms, on_wall, next(self.clock.order)
        origin_ms = WALL_ORIGIN_MS if on_wall else self.origin_ms
        self.due_ns[task] = (origin_ms + up(deadline_ms - origin_ms, self.tick_ms) * self.tick_ms) * NS

    def leave(self, task: ModelTask, state: TaskState) -> None:
        del self.due_ns[task]
        task.timer, task.state = None, state
        self.count["undone" if state is TaskState.IDLE else state.name.lower()] += 1

    @property
    def size(self) -> int:
        return len(self.due_ns)

    def pending(self) -> Iterator[ModelTask]:
        return iter(sorted(self.due_ns, key=lambda task: (task.deadline_ms, task.on_wall, task.armed)))

    def nap_ns(self) -> int | None:
        naps = (due_ns - self.clock.time_ns(task.on_wall) for task, due_ns in self.due_ns.items())
        return min((max(0, nap) for nap in naps), default=None)

    def run_due(self) -> int:
        due = [task for task, due_ns in self.due_ns.items() if due_ns <= self.clock.time_ns(task.on_wall)]
        due.sort(key=lambda task: (task.on_wall, self.due_ns[task], task.armed))
        return sum(self.run(task, armed) for task, armed in [(task, task.armed) for task in due])

    def run(self, task: ModelTask, armed: int) -> int:
        if task.timer is not self or task.armed != armed:
            return 0  # one that ran before it cancelled, extended or moved it
        self.leave(task, TaskState.EXPIRED)
        return task.run()

    def close(self, run_pending: bool) -> list[ModelTask]:
        self.is_open = False
        self.clock.timers = [timer for timer in self.clock.timers if timer is not self]
        left = list(self.pending())
        for task in left:
            self.leave(task, TaskState.EXPIRED if run_pending else TaskState.IDLE)
        if not run_pending:
            return left
        for task in left:
            task.run()
        return []


class World:
    def __init__(self, start_ms: int, wall_ms: int) -> None:
        self._now_ns = start_ms * NS
        self._wall_ns = wall_ms * NS
        self.timers: list[ModelTimer] = []
        self.order = itertools.count()

    def now_ns(self) -> int:
        return self._now_ns

    def wall_ns(self) -> int:
        return self._wall_ns

    def time_ns(self, on_wall: bool) -> int:
        return self._wall_ns if on_wall else self._now_ns

    def step_wall(self, ms: int) -> int:
        self._wall_ns += ms * NS
        return self.advance(0)

    def advance(self, ms: float) -> int:
        ran, target_ns = 0, self._now_ns + int(ms * NS)
        while naps := [nap for timer in self.timers if (nap := timer.nap_ns()) is not None]:
            if self._now_ns + min(naps) > target_ns:
                break
            self._pass(min(naps))
            ran += sum(timer.run_due() for timer in self.timers)
        self._pass(target_ns - self._now_ns)
        return ran

    def _pass(self, ns: int) -> None:
        self._now_ns += ns
        self._wall_ns += ns
