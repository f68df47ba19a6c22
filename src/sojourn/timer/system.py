"""`SystemTimer` and `AsyncTimer`: wheels with a name, a driver, an error handler and an end, over either build."""

from __future__ import annotations

import os
from _thread import allocate_lock
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import CoroutineType
from typing import TYPE_CHECKING, Any, NoReturn, Self, SupportsIndex

from .._arguments import MAX_MS, check_name, check_on_error, not_to_be_copied
from ..clock import NS_PER_MS, Alarm, Clock, ManualClock, ms_at_or_after
from ..errors import ReaperDiedError, TimerClosedError
from . import _fork
from ._build import Timer, TimerTask
from ._state import TaskState, too_far, whole_ms
from .drivers import ClockDriver, Driver, LoopDriver, ReaperThread

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Executor

    from ._timer import Timer as Wheels
else:
    Wheels = object  # mixed in below, so that tests can put the same face on either build

OnError = Callable[[TimerTask, BaseException], object]

WALL_CHECK_NS = 10**9
"""How often to look at the wall clock while a task waits for it: a sleeper is not told that the clock was set."""

LONGEST_SLEEP_NS = 24 * 3_600 * 10**9


starting = allocate_lock()
"""A timer is started once, however many start it. Held across a fork, so that no child finds it locked for good."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=starting.acquire, after_in_parent=starting.release, after_in_child=starting.release)


def log_error(task: TimerTask, exception: BaseException) -> None:
    """The default `on_error`: the `sojourn.timer` logger."""
    import logging  # noqa: PLC0415  (only a program that fails pays for it)

    logging.getLogger("sojourn.timer").error("%r failed", task, exc_info=exception, extra={"task": task})


class Driven(Wheels):
    """What every timer with a driver has: a name, an error handler, a start and an end."""

    _driver_type: Callable[[Driven], Driver]
    _parent_pid: int | None = None
    """In a forked child, the process in which the timer runs."""

    def __init__(
        self,
        name: str = "timer",
        *,
        tick_ms: int = 1,
        wheel_size: int = 20,
        clock: Clock | None = None,
        executor: Executor | None = None,
        on_error: OnError = log_error,
    ) -> None:
        check_name(name)
        check_on_error(on_error)
        super().__init__(tick_ms=tick_ms, wheel_size=wheel_size, clock=clock, executor=executor)
        self.name = name
        self._on_error = on_error
        self._interrupted: list[TimerTask] = []  # what a close() that ran into an exit did not run
        self._alarm = Alarm()
        self._driver: Driver | None = None
        self._death: BaseException | None = None
        _fork.timers.add(self)

    def __repr__(self) -> str:
        state = "dead" if self._death else "open" if self._is_open else "closed"
        if self._parent_pid is not None:
            state = f"left in process {self._parent_pid}, which forked this one"
        return f"<{type(self).__name__} {self.name!r} {state}, {self.size} pending>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise not_to_be_copied(self)

    def start(self) -> Self:
        """Give the timer its driver (on a `ManualClock`, the clock). Idempotent."""
        with starting:
            if not self._is_open:
                self._refuse()
            if self._driver is None:
                is_manual = isinstance(self.clock, ManualClock)
                self._driver = ClockDriver(self) if is_manual else type(self)._driver_type(self)
                self._driver.start()
        return self

    def advance_clock(self, timeout_ms: int = 0) -> int:
        """Run what is due, waiting at most `timeout_ms` for the next bucket; return how many tasks ran."""
        timeout_ms = whole_ms(timeout_ms, "timeout_ms")
        until_ns = self.clock.now_ns() + timeout_ms * NS_PER_MS
        if until_ns > MAX_MS * NS_PER_MS:
            raise too_far(timeout_ms, MAX_MS - ms_at_or_after(self.clock.now_ns()), "timeout_ms")
        if not self._is_open:
            self._refuse()
        has_slept = False
        try:
            while not (ran := self._run_due()):
                left_ns = until_ns - self.clock.now_ns()
                if left_ns <= 0:
                    break
                has_slept = True
                if not self._sleep(min(left_ns, LONGEST_SLEEP_NS)):
                    break
            return ran
        finally:
            if has_slept:
                self._alarm.set()  # we may have taken the one that was meant for the reaper

    def close(self, *, run_pending: bool = False) -> list[TimerTask]:
        """Stop, and return the tasks left undone, soonest first; or run them here and now. Idempotent.

        A task that is running meanwhile is waited for, unless it is the one that closes. When Ctrl-C or an exit in a
        task interrupts the running here and now, closing again goes on with the rest. In a forked child this does
        nothing: the tasks are the parent's.
        """
        if self._parent_pid is not None:
            return []
        left = deque(self._take_all(TaskState.EXPIRED if run_pending else TaskState.IDLE))
        self._alarm.set()
        if self._driver is not None:
            self._driver.stop()
        with suppress(IndexError):
            while True:
                left.appendleft(self._interrupted.pop())
        if not run_pending:
            return list(left)
        try:
            while left:
                self._run_task(left.popleft())
        finally:
            self._interrupted.extend(left)
        return []

    def _sleep(self, longest_ns: int = LONGEST_SLEEP_NS) -> bool:
        """Let time pass until something is due, the alarm is set or the timer is closed; False if closed."""
        nap_ns = self._driver_nap_ns()
        if nap_ns != 0:  # if it is closed by now the alarm is set
            self.clock.wait(self._alarm, longest_ns if nap_ns is None or nap_ns > longest_ns else nap_ns)
        return self._is_open

    def _driver_nap_ns(self) -> int | None:
        nap_ns = self.nap_ns()
        return min(nap_ns, WALL_CHECK_NS) if nap_ns is not None and self._watches_wall else nap_ns

    def _wake(self) -> None:
        self._alarm.set()
        if self._driver is not None:
            self._driver.wake()

    def _die(self, cause: BaseException) -> None:
        """The driver cannot go on: say so in the log now, and to every caller from now on."""
        import logging  # noqa: PLC0415

        self._death = cause
        self._is_open = False
        logger = logging.getLogger("sojourn.timer")
        logger.critical("the driver of %r died", self, exc_info=cause, extra={"timer": self})

    def _submit(self, task: TimerTask) -> None:
        assert self.executor is not None
        try:
            self.executor.submit(self._run_task, task)
        except Exception as exception:
            self._failed(task, exception)

    def _failed(self, task: TimerTask, exception: BaseException) -> None:
        try:
            self._on_error(task, exception)
        except Exception as broken:
            log_error(task, exception)
            log_error(task, broken)
        if not isinstance(exception, Exception) and not (self._driver and self._driver.is_current()):
            raise exception  # Ctrl-C and sys.exit() belong to whoever moves the timer by hand

    def _leave_behind(self, parent_pid: int) -> None:
        """This is a forked child now: whatever thread or loop drives the timer is not in it."""
        is_driven = self._driver is not None and not isinstance(self._driver, ClockDriver)
        if is_driven and (self._is_open or self._death is not None):
            self._parent_pid = parent_pid
            self._is_open = False

    def _check_process(self) -> None:
        if self._parent_pid is not None:
            _fork.refuse_in_child(f"timer {self.name!r}", self._parent_pid)

    def _refuse_to_extend(self) -> bool:
        self._check_process()
        if self._death is not None:
            self._refuse()
        return False

    def _refuse(self) -> NoReturn:
        self._check_process()
        if self._death is not None:
            raise ReaperDiedError(
                f"the driver of timer {self.name!r} died of {self._death!r}; "
                f"close() it to get its {self.size} pending tasks back"
            ) from self._death
        raise TimerClosedError(f"timer {self.name!r} is closed and would never run this; make a new one")


class SystemTimerFace(Driven):
    _driver_type = ReaperThread

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class AsyncTimerFace(Driven):
    _driver_type = LoopDriver
    _takes_results = True

    def __init__(self, name: str = "timer", **options: Any) -> None:
        super().__init__(name, **options)
        self._awaiting: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        return self.start()

    async def __aexit__(self, *exc_info: object) -> None:
        self.close()

    def _returned(self, task: TimerTask, result: object) -> None:
        """A coroutine becomes an asyncio task; what it raises goes to `on_error` like anything else."""
        if not isinstance(result, CoroutineType):
            return
        import asyncio  # noqa: PLC0415

        running = asyncio.get_running_loop().create_task(result)
        self._awaiting.add(running)  # the loop itself keeps only a weak reference

        def done(running: asyncio.Task[Any]) -> None:
            self._awaiting.discard(running)
            if not running.cancelled() and (exception := running.exception()) is not None:
                self._failed(task, exception)

        running.add_done_callback(done)


class SystemTimer(SystemTimerFace, Timer):
    """A timer with a reaper thread of its own; unstarted, the caller moves it with `advance_clock`."""


class AsyncTimer(AsyncTimerFace, Timer):
    """A timer on the running asyncio loop, without a thread. Callbacks may be coroutine functions."""
