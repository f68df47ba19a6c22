"""The timer in plain Python: wheels, a clock and the lock that makes each step atomic. `_core.pyx` is the same, in C.

A timer is moved by whoever calls `_run_due`: the caller's own `advance_clock`, a reaper thread, an event loop, a
`ManualClock`. No lock is held while a task, a clock or an error handler runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NoReturn, SupportsIndex

from ..clock import NS_PER_MS, Clock, SystemClock, ms_at_or_after, tick_at_or_after
from ..errors import TimerClosedError
from ._lock import lock, undisturbed
from ._state import (
    HISTOGRAM_SIZE,
    MAX_MS,
    WALL_ORIGIN_MS,
    LatenessHistogram,
    TaskState,
    TimerStats,
    check_bucket,
    check_each,
    check_levels,
    check_settings,
    delays_in,
    lateness_bucket,
    not_callable,
    too_far,
    wall_ms,
    whole_ms,
)
from ._task import CANCELLED, EXPIRED, IDLE, PENDING, TaskBatch, TimerTask
from ._wheel import DelayQueue, TimerTaskList

if TYPE_CHECKING:
    from concurrent.futures import Executor

CHUNK = 4096
"""Steps taken under the lock before others get their turn."""

NO_LIMIT = 2**62


class Timer:
    """Wheels on a clock. add, cancel, extend: O(1). Not moved by anything yet: see `SystemTimer` and `AsyncTimer`."""

    def __init__(
        self, *, tick_ms: int = 1, wheel_size: int = 20, clock: Clock | None = None, executor: Executor | None = None
    ) -> None:
        self.clock: Clock = SystemClock() if clock is None else clock
        check_settings(tick_ms, wheel_size, self.clock, executor)
        self.tick_ms = tick_ms
        self.wheel_size = wheel_size
        self.executor = executor
        self._origin_ms = self.clock.now_ns() // NS_PER_MS
        self._queue = DelayQueue(wheel_size)
        self._wall_queue: DelayQueue | None = None
        self._due = TimerTaskList()
        self._is_open = True
        self._is_napping = False
        self._size = self._scheduled = self._cancelled = self._extended = self._expired = self._undone = 0
        self._lateness = [0] * HISTOGRAM_SIZE
        self._max_late_ns = 0

    # What users call

    def schedule(self, delay_ms: SupportsIndex, callback: Callable[..., object], *args: object) -> TimerTask:
        """Run `callback(*args)` once `delay_ms` milliseconds have passed on the monotonic clock, never earlier."""
        if not callable(callback):
            raise not_callable(callback)
        task = TimerTask(delay_ms, callback, *args)
        self._add(task, task._delay_ms)
        return task

    def add(self, task: TimerTask) -> TimerTask:
        """Arm a task for its `delay_ms` from now. One that is pending already, here or in another timer, moves."""
        if not isinstance(task, TimerTask):
            raise TypeError(f"add({task!r}): that is no TimerTask; schedule(delay_ms, callback) takes a function")
        if type(task) is TimerTask and task._callback is None:
            raise TypeError(
                f"{task!r} has let go of its callback: schedule a new task, or subclass TimerTask to add again"
            )
        self._add(task, whole_ms(task.delay_ms))
        return task

    def schedule_at(self, when: datetime | float, callback: Callable[..., object], *args: object) -> TimerTask:
        """Run `callback(*args)` once the wall clock shows `when`: an aware datetime, or epoch seconds."""
        if not callable(callback):
            raise not_callable(callback)
        task = TimerTask(0, callback, *args)
        task._deadline_ms = wall_ms(when)
        task._on_wall = True
        now_ns = self.clock.wall_ns()
        task._delay_ms = max(0, task._deadline_ms - now_ns // NS_PER_MS)
        with lock:
            self._check_open()
            if self._wall_queue is None:
                self._wall_queue = DelayQueue(self.wheel_size)
            wake = self._arm(task, self._wall_tick_of(now_ns))
        if wake:
            self._wake()
        return task

    def schedule_many(
        self,
        delays_ms: Iterable[SupportsIndex],
        callback: Callable[..., object],
        *args: object,
        each: Iterable[object] | None = None,
    ) -> TaskBatch:
        """Schedule a task for each delay, all or none; with `each`, every `callback(*args, item)` gets its own item."""
        delays = [whole_ms(delay_ms, f"delays_ms[{i}]") for i, delay_ms in enumerate(delays_in(delays_ms))]
        items = check_each(each, len(delays))
        if not callable(callback):
            raise not_callable(callback)
        if items is None:
            tasks = [TimerTask(delay_ms, callback, *args) for delay_ms in delays]
        else:
            tasks = [TimerTask(delay_ms, callback, *args, item) for delay_ms, item in zip(delays, items, strict=True)]
        now_ns = self.clock.now_ns()
        self._check_fits(max(delays, default=0), ms_at_or_after(now_ns), "max(delays_ms)")
        self._add_all(tasks, delays, now_ns)
        return TaskBatch(tasks)

    @property
    def _watches_wall(self) -> bool:
        """Whether a task waits for the wall clock, which may jump while a driver sleeps."""
        return self._wall_queue is not None and self._wall_queue.peek() is not None

    @property
    def size(self) -> int:
        """Tasks pending, exactly. O(1)."""
        return self._size

    def pending(self) -> Iterator[TimerTask]:
        """The pending tasks as of now, soonest first."""
        with lock:
            tasks: list[TimerTask] = list(self._tasks())
        return iter(sorted(tasks, key=lambda task: task._deadline_ms or 0))

    def stats(self) -> TimerStats:
        with lock:
            wheels = [wheel for queue in self._queues() for wheel in queue.wheels()]
            return TimerStats(
                pending=self._size,
                scheduled=self._scheduled,
                cancelled=self._cancelled,
                extended=self._extended,
                expired=self._expired,
                undone=self._undone,
                cascaded=sum(queue.cascaded for queue in self._queues()),
                levels=sum(1 for _ in self._queue.wheels()),
                buckets_queued=sum(wheel.occupied.bit_count() for wheel in wheels),
                lateness=LatenessHistogram(tuple(self._lateness), self._max_late_ns / NS_PER_MS),
            )

    def occupancy(self, levels: int | None = None) -> tuple[tuple[int, ...], ...]:
        """How many tasks each bucket of each wheel holds, finest first, of all wheels or the finest few. O(tasks)."""
        check_levels(levels)
        with lock:
            wheels = list(self._queue.wheels())[:levels]
            return tuple(tuple(sum(1 for _ in bucket) for bucket in wheel.buckets) for wheel in wheels)

    def bucket_size(self, level: int, bucket: int) -> int:
        """How many tasks that bucket of that wheel holds, as `occupancy` says for all; O(tasks in it)."""
        with lock:
            wheels = list(self._queue.wheels())
            check_bucket(level, bucket, len(wheels), self.wheel_size)
            return sum(1 for _ in wheels[level].buckets[bucket])

    # What drivers call

    def nap_ns(self) -> int | None:
        """How long a driver may sleep; None for ever. From here on `_wake` tells when that gets shorter."""
        now_ns, wall_ns = self.clock.now_ns(), self.clock.wall_ns()
        with lock:
            self._is_napping = True
            if self._due:
                return 0
            naps = [self._until_ns(self._queue, now_ns - self._origin_ms * NS_PER_MS)]
            if self._wall_queue is not None:
                naps.append(
                    self._until_ns(self._wall_at(self._wall_tick_of(wall_ns)), wall_ns - WALL_ORIGIN_MS * NS_PER_MS)
                )
        return min((nap for nap in naps if nap is not None), default=None)

    def _run_due(self, limit: int = NO_LIMIT) -> int:
        """Run what is due by now, in the order of deadlines, at most `limit` tasks; return how many.

        What the tasks themselves arm for this same instant waits for the next call.
        """
        now_ns, wall_ns = self.clock.now_ns(), self.clock.wall_ns()
        ran = 0
        arrived = False
        while not arrived:
            with lock:
                arrived = self._advance(now_ns, wall_ns)
            while (task := self._take()) is not None:
                ran += 1
                if self.executor is None:
                    self._run_task(task)
                else:
                    self._submit(task)
                if ran >= limit:
                    return ran
        return ran

    def _run_task(self, task: TimerTask) -> None:
        """Run one task that has been taken; whatever it raises goes to `_failed`."""
        arming = task._arming
        try:
            result = task.run()
            if result is not None and self._takes_results:
                self._returned(task, result)
        except BaseException as exception:
            self._failed(task, exception)
        finally:
            task._let_go(arming)

    def _take_all(self, state: TaskState) -> list[TimerTask]:
        """Close the door, and hand out whatever is pending, soonest first and from now on in `state`."""
        with lock:
            self._is_open = False
            tasks = [task for task in self.pending() if task._timer is self]
            for task in tasks:
                self._leave(task, state)
        return tasks

    # What drivers say for themselves

    _takes_results = False

    def _wake(self) -> None:
        """A bucket became due sooner than `nap_ns` last said."""

    def _submit(self, task: TimerTask) -> None:
        """Have `_run_task(task)` called by the executor."""
        raise TypeError(f"{type(self).__name__} has no use for an executor")

    def _returned(self, task: TimerTask, result: object) -> None:
        """A task returned something, and `_takes_results` is set."""

    def _failed(self, task: TimerTask, exception: BaseException) -> None:
        raise exception

    def _refuse(self) -> NoReturn:
        raise TimerClosedError("this timer is closed")

    def _check_process(self) -> None:
        """Raise if this is a forked child, and the timer runs in its parent."""

    def _refuse_to_extend(self) -> bool:
        """A pending task of a timer that is being closed: it is about to be handed back."""
        return False

    # Inside

    def _add(self, task: TimerTask, delay_ms: int) -> None:
        self._add_all((task,), (delay_ms,), self._now_for(delay_ms))

    def _add_all(self, tasks: Sequence[TimerTask], delays_ms: Sequence[int], now_ns: int) -> None:
        if self._put_all(tasks, delays_ms, now_ns):
            self._wake()

    def _now_for(self, delay_ms: int) -> int:
        """The time, at which a task with this delay may be put in: refused here if that is too long."""
        now_ns = self.clock.now_ns()
        self._check_fits(delay_ms, ms_at_or_after(now_ns))
        return now_ns

    def _put_all(self, tasks: Sequence[TimerTask], delays_ms: Sequence[int], now_ns: int) -> bool:
        """Arm the tasks in one step; True if that calls for waking the driver."""
        now_ms, now_tick = ms_at_or_after(now_ns), self._tick_of(now_ns)
        wake = False
        with lock:
            self._check_open()
            for task, delay_ms in zip(tasks, delays_ms, strict=True):
                if task._timer is not None and task._timer is not self:
                    task._timer._leave(task, CANCELLED)
                task._deadline_ms = now_ms + delay_ms
                task._on_wall = False
                wake |= self._arm(task, now_tick)
        return wake

    def _extend(self, task: TimerTask, delay_ms: int) -> bool:
        now_ns, wall_ns = self.clock.now_ns(), self.clock.wall_ns()
        with lock, undisturbed:
            if task._timer is not self:
                return False  # it has moved, or ended
            if not self._is_open:
                return self._refuse_to_extend()
            now_ms = ms_at_or_after(wall_ns if task._on_wall else now_ns)
            self._check_fits(delay_ms, now_ms)
            task._deadline_ms = now_ms + delay_ms
            wake = self._arm(task, self._wall_tick_of(wall_ns) if task._on_wall else self._tick_of(now_ns))
        if wake:
            self._wake()
        return True

    def _check_fits(self, delay_ms: int, now_ms: int, name: str = "delay_ms") -> None:
        longest_ms = MAX_MS - self.tick_ms - now_ms - max(0, -self._origin_ms)
        if delay_ms > longest_ms:
            raise too_far(delay_ms, longest_ms, name)

    def _tick_of(self, now_ns: int) -> int:
        return (now_ns // NS_PER_MS - self._origin_ms) // self.tick_ms

    def _wall_tick_of(self, wall_ns: int) -> int:
        return max(0, (wall_ns // NS_PER_MS - WALL_ORIGIN_MS) // self.tick_ms)

    # Inside, with the lock held

    def _check_open(self) -> None:
        if not self._is_open:
            self._refuse()

    def _arm(self, task: TimerTask, now_tick: int) -> bool:
        """Put the task (back) in its queue for its deadline; True if that calls for waking the driver."""
        is_first = self._move(task, now_tick) if task._timer is self else None
        if is_first is None:
            is_first = self._enqueue(task, now_tick)  # only now is there something to take out again
            task._timer, task._state = self, PENDING
            task._arming += 1
            self._scheduled += 1
            self._size += 1
        wake = is_first and self._is_napping
        self._is_napping &= not wake
        return wake

    def _move(self, task: TimerTask, now_tick: int) -> bool | None:
        """Put a pending task into another bucket, as `_enqueue`; None if a finaliser has just cancelled it."""
        with undisturbed:
            if task._timer is not self:
                return None
            TimerTaskList.remove(task)
            self._extended += 1
            return self._enqueue(task, now_tick)

    def _enqueue(self, task: TimerTask, now_tick: int) -> bool:
        assert task._deadline_ms is not None
        if task._on_wall:
            task._due = tick_at_or_after(task._deadline_ms - WALL_ORIGIN_MS, self.tick_ms)
            return self._wall_at(now_tick).add(task, now_tick)
        task._due = tick_at_or_after(task._deadline_ms - self._origin_ms, self.tick_ms)
        return self._queue.add(task, now_tick)

    def _leave(self, task: TimerTask, state: TaskState) -> None:
        """Take a pending task out."""
        TimerTaskList.remove(task)
        task._timer, task._state = None, state
        self._size -= 1
        self._cancelled += state is CANCELLED
        self._expired += state is EXPIRED
        self._undone += state is IDLE

    def _advance(self, now_ns: int, wall_ns: int) -> bool:
        arrived = self._queue.advance(self._tick_of(now_ns), self._due, CHUNK)
        if self._wall_queue is not None:
            tick = self._wall_tick_of(wall_ns)
            arrived &= self._wall_at(tick).advance(tick, self._due, CHUNK)
        return arrived

    def _take(self) -> TimerTask | None:
        """The next due task, out of the wheel and ours to run."""
        now_ns = self.clock.now_ns()
        wall_ns = 0 if self._wall_queue is None else self.clock.wall_ns()
        with lock:
            task = self._due._next
            if not isinstance(task, TimerTask):
                return None
            self._leave(task, EXPIRED)
            assert task._deadline_ms is not None
            late_ns = max(0, (wall_ns if task._on_wall else now_ns) - task._deadline_ms * NS_PER_MS)
            self._lateness[lateness_bucket(late_ns)] += 1
            self._max_late_ns = max(self._max_late_ns, late_ns)
            return task

    def _wall_at(self, tick: int) -> DelayQueue:
        """The wall clock's queue, put right if that clock was set back."""
        assert self._wall_queue is not None
        if tick < self._wall_queue.now:
            with undisturbed:  # while it puts every task in again
                self._wall_queue.rewind(tick)
        return self._wall_queue

    def _until_ns(self, queue: DelayQueue, now_ns: int) -> int | None:
        first = queue.look()
        return None if first is None else max(0, first * self.tick_ms * NS_PER_MS - now_ns)

    def _queues(self) -> Iterator[DelayQueue]:
        yield self._queue
        if self._wall_queue is not None:
            yield self._wall_queue

    def _tasks(self) -> Iterator[TimerTask]:
        yield from self._due
        for queue in self._queues():
            yield from queue

    def _check(self) -> None:
        """Prove the invariants that the docstrings promise."""
        with lock:
            tasks = list(self._tasks())
            assert len(tasks) == len(set(map(id, tasks))) == self._size, "size is exact"
            assert all(task._timer is self and task._state is PENDING for task in tasks), (
                "who is linked is pending here"
            )
            assert self._scheduled == self._size + self._cancelled + self._expired + self._undone, (
                "none lost, none twice"
            )
            assert self._expired >= sum(self._lateness), "none ran twice"
            for queue in self._queues():
                check_queue(queue)


def check_queue(queue: DelayQueue) -> None:
    for wheel in queue.wheels():
        assert wheel.position == queue.now // wheel.tick, "all wheels show the same time"
        for bucket in wheel.buckets:
            assert bool(bucket) == bool(wheel.occupied >> bucket.index & 1), "a bucket is queued iff it is non-empty"
            for task in bucket:
                turn = max(task._due // wheel.tick, wheel.position)
                assert turn % wheel.size == bucket.index, "every task is in its bucket"
                assert task._due <= wheel.last, "and on the finest wheel that reaches so far"
                assert task._prev._next is task is task._next._prev, "the list is linked both ways"
    first = queue.peek()
    assert first is None or first[0] >= queue.earliest, "nothing expires before earliest"
