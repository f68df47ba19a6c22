"""Who calls `_run_due` on a started timer: a reaper thread, an asyncio loop or a clock that is moved by hand."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from ..clock import ManualClock

if TYPE_CHECKING:
    import asyncio

    from .system import Driven

LOOP_SLICE = 1_000
"""Tasks that may run before the event loop gets its turn."""


class Driver(Protocol):
    """Calls the timer back when something is due."""

    def start(self) -> None:
        """Begin; the timer knows its driver already."""

    def wake(self) -> None:
        """Something is due sooner than the timer last said. Called from any thread."""

    def stop(self) -> None:
        """Return once the driver is done with the timer; idempotent, and harmless from inside a task."""

    def is_current(self) -> bool:
        """Whether the caller is in a thread of the driver's own, where an exit would go unnoticed."""


class ReaperThread:
    """A thread that sleeps until the next bucket is due, however far that is, and runs it."""

    def __init__(self, timer: Driven) -> None:
        self._timer = timer
        # A daemon, so that a timer which nobody closed does not keep the interpreter from ending.
        self._thread = threading.Thread(target=self._reap, name=f"sojourn-reaper-{timer.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """The timer's alarm, on which the thread sleeps, has been set already."""

    def stop(self) -> None:
        if not self.is_current():
            self._thread.join()

    def is_current(self) -> bool:
        return threading.current_thread() is self._thread

    def _reap(self) -> None:
        timer = self._timer
        try:
            while timer._sleep():
                timer._is_napping = False  # until it naps again, nobody needs to wake it
                timer._run_due()
        except BaseException as cause:
            timer._die(cause)


class LoopDriver:
    """The running asyncio loop: one `call_later` for the next bucket, re-armed when that changes."""

    def __init__(self, timer: Driven) -> None:
        import asyncio  # noqa: PLC0415  (`import sojourn` stays quick without it)

        self._timer = timer
        self._loop = asyncio.get_running_loop()
        self._thread_id = threading.get_ident()
        self._handle: asyncio.Handle | None = None
        self._is_running = False

    def start(self) -> None:
        self._rearm()

    def wake(self) -> None:
        try:
            if threading.get_ident() == self._thread_id:
                self._rearm()
            else:
                self._loop.call_soon_threadsafe(self._rearm)
        except RuntimeError as cause:  # the loop is closed
            self._timer._die(cause)
            self._timer._refuse()

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def is_current(self) -> bool:
        return False  # as from any callback, Ctrl-C and sys.exit() go to the loop

    def is_on_its_loop(self) -> bool:
        """Whether the caller runs on the loop that drives the timer, which stands still meanwhile."""
        import asyncio  # noqa: PLC0415

        return asyncio._get_running_loop() is self._loop

    def _rearm(self) -> None:
        if self._is_running or not self._timer._is_open:
            return  # _tick re-arms once, at its end
        self.stop()
        nap_ns = self._timer._driver_nap_ns()
        if nap_ns is not None:
            self._handle = self._loop.call_later(nap_ns / 1e9, self._tick)

    def _tick(self) -> None:
        self._is_running = True
        try:
            self._timer._run_due(LOOP_SLICE)
        except Exception as cause:  # not a task's: those have been dealt with
            self._timer._die(cause)
        finally:
            self._is_running = False
            self._rearm()


class ClockDriver:
    """A `ManualClock`: it calls `advance_clock` itself whenever it is moved."""

    def __init__(self, timer: Driven) -> None:
        assert isinstance(timer.clock, ManualClock)
        self._timer = timer
        self._clock = timer.clock

    def start(self) -> None:
        self._clock.attach(self._timer)

    def wake(self) -> None:
        """The clock asks before every step it takes."""

    def stop(self) -> None:
        self._clock.detach(self._timer)

    def is_current(self) -> bool:
        return False
