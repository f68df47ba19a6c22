"""Clocks, and the only rounding in Sojourn: from a clock to milliseconds to ticks, always up.

A clock shows two times. *Monotonic* time only moves forward and stands still while the machine is suspended: delays run
on it. *Wall* time is the calendar's; it may be set forward or back. Both are integer nanoseconds, because a clock cut
to milliseconds cannot tell whether a delay has passed: that is how a timer fires early.
"""

from __future__ import annotations

import time
from _thread import allocate_lock
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from ._arguments import MAX_MS, check_whole, milliseconds_in_ns
from .errors import DelayError, LivelockError

NS_PER_MS = 1_000_000
LIVELOCK_ROUNDS = 100_000


def ms_at_or_after(ns: int) -> int:
    """The first whole millisecond that is not before `ns`."""
    return -(-ns // NS_PER_MS)


def tick_at_or_after(ms: int, tick_ms: int) -> int:
    """The first tick that is not before `ms`."""
    return -(-ms // tick_ms)


class Alarm:
    """Wakes one sleeper. Set before anybody sleeps, it wakes the next one at once; waking up unsets it.

    A lock that sleepers take and nobody keeps: half the price of a `threading.Event`, which a timer pays every tick.
    """

    __slots__ = ("_unset",)

    def __init__(self) -> None:
        self._unset = allocate_lock()
        self._unset.acquire()

    def set(self) -> None:
        with suppress(RuntimeError):  # it is set already
            self._unset.release()

    def wait(self, seconds: float) -> None:
        self._unset.acquire(timeout=seconds)


class Clock(Protocol):
    """What a timer asks of a clock."""

    def now_ns(self) -> int:
        """Monotonic time; never goes back."""

    def wall_ns(self) -> int:
        """Time since the epoch; may be stepped either way."""

    def wait(self, alarm: Alarm, ns: int) -> None:
        """Let up to `ns` of monotonic time pass; return sooner if the alarm is set."""


class SystemClock:
    """The machine's clocks."""

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def wall_ns(self) -> int:
        return time.time_ns()

    def wait(self, alarm: Alarm, ns: int) -> None:
        alarm.wait(ns / 1e9)


class Drivable(Protocol):
    """What a `ManualClock` needs of a timer in order to drive it."""

    def nap_ns(self) -> int | None: ...

    def _run_due(self) -> int: ...


class ManualClock:
    """Virtual time that moves only when told to, and takes along every timer started on it.

    `advance` stops at each instant at which a timer has something due, so a task sees exactly the time it asked for,
    and a task armed by another one runs in its turn. Everything happens in the calling thread.
    """

    def __init__(self, start_ms: int = 0, *, wall_ms: int = 0) -> None:
        check_whole("start_ms", start_ms, -MAX_MS, MAX_MS)
        check_whole("wall_ms", wall_ms, -MAX_MS, MAX_MS)
        self._now_ns = start_ms * NS_PER_MS
        self._wall_ns = wall_ms * NS_PER_MS
        self._timers: list[Drivable] = []

    def __repr__(self) -> str:
        return f"ManualClock(now_ms={self.now_ms}, wall_ms={self._wall_ns // NS_PER_MS})"

    def now_ns(self) -> int:
        return self._now_ns

    def wall_ns(self) -> int:
        return self._wall_ns

    @property
    def now_ms(self) -> int:
        return self._now_ns // NS_PER_MS

    def advance(self, ms: float) -> int:
        """Let `ms` milliseconds pass and return how many tasks ran; fractions are allowed."""
        ns = milliseconds_in_ns("ms", ms)
        if ns < 0:
            raise ValueError(f"advance({ms}): time never goes back; use step_wall() to set the wall clock back")
        self._check_shows(max(self._now_ns, self._wall_ns) + ns)
        return self._advance_ns(ns)

    def step_wall(self, ms: float) -> int:
        """Set the wall clock forward (or back, if negative), as an operator or NTP would; return how many tasks ran."""
        ns = milliseconds_in_ns("ms", ms)
        self._check_shows(self._wall_ns + ns)
        self._wall_ns += ns
        return self._advance_ns(0)

    suspend = (
        step_wall  # to a timer, waking from suspend looks just like that: wall time jumped, monotonic time did not
    )

    def wait(self, alarm: Alarm, ns: int) -> None:
        """Waiting on a clock that is moved by hand moves it."""
        self._advance_ns(ns)

    def attach(self, timer: Drivable) -> None:
        """Drive this timer from now on."""
        self._timers.append(timer)

    def detach(self, timer: Drivable) -> None:
        self._timers = [other for other in self._timers if other is not timer]

    def _check_shows(self, ns: int) -> None:
        if abs(ns) > MAX_MS * NS_PER_MS:
            raise DelayError(
                f"the clock would show {ns // NS_PER_MS} ms, and 64-bit nanoseconds end at {MAX_MS}; move it less"
            )

    def _advance_ns(self, ns: int) -> int:
        target = self._now_ns + ns
        ran = rounds = 0
        while (nap := self._next_nap_ns()) is not None and self._now_ns + nap <= target:
            rounds = 0 if nap else rounds + 1
            if rounds > LIVELOCK_ROUNDS:
                raise LivelockError(
                    f"time stands still at {self.now_ms} ms: after {rounds:,} rounds tasks still arm themselves "
                    "with delay_ms=0; give them a delay of at least one tick"
                )
            self._pass(nap)
            ran += sum(timer._run_due() for timer in self._timers)
        self._pass(target - self._now_ns)
        return ran

    def _advance_until(self, is_over: Callable[[], bool], timeout: float | None) -> None:
        """Move from one due instant to the next until `is_over` or nothing is due, at most by `timeout` seconds."""
        until_ns = None if timeout is None else self._now_ns + round(timeout * 1e9)
        while not is_over() and (nap := self._next_nap_ns()) is not None:
            if until_ns is not None and self._now_ns + nap > until_ns:
                self._advance_ns(until_ns - self._now_ns)
                return
            self._advance_ns(nap)

    def _next_nap_ns(self) -> int | None:
        return min((nap for timer in self._timers if (nap := timer.nap_ns()) is not None), default=None)

    def _pass(self, ns: int) -> None:
        if ns > 0:  # a task may itself have moved the clock further than we meant to
            self._now_ns += ns
            self._wall_ns += ns
