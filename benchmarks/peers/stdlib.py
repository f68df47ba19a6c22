"""`sched` and `threading.Timer`: the standard library's timers for few timers."""

from __future__ import annotations

import platform
import sched
import threading
import time
from collections.abc import Sequence
from typing import Any

from .base import Callback, Handles, Peer


def _sleep(seconds: float) -> None:
    """After every event sched sleeps for 0 seconds, some 70 microseconds by default on Linux: not the heap's doing."""
    if seconds > 0:
        time.sleep(seconds)


class SchedPeer(Peer):
    """`sched.scheduler`. Its cancel searches and rebuilds the whole heap, hence a sample."""

    name = "sched"
    sample = 20

    def __init__(self) -> None:
        self._scheduler = sched.scheduler(delayfunc=_sleep)
        self._done: list[bool] = []

    @staticmethod
    def version() -> str:
        """Part of the standard library."""
        return platform.python_version()

    def add(self, delay: float, callback: Callback, *args: object) -> Any:
        """For the few timers outside the timed loops."""
        return self._scheduler.enter(delay, 0, callback, args)

    def fill(self, handles: Handles, delays: Sequence[Any], callback: Callback) -> None:
        """The priority comes between delay and callback."""
        enter = self._scheduler.enter
        handles[:] = [enter(delay, 0, callback) for delay in delays]

    def cancel(self, handles: Handles) -> None:
        """The scheduler cancels, not the event."""
        cancel = self._scheduler.cancel
        for handle in handles:
            cancel(handle)

    def extend(self, handles: Handles, delays: Sequence[Any], callback: Callback) -> None:
        """Cancelled and entered again."""
        enter, cancel = self._scheduler.enter, self._scheduler.cancel
        for i, handle in enumerate(handles):
            cancel(handle)
            handles[i] = enter(delays[i], 0, callback)

    def churn(self, delays: Sequence[Any], callback: Callback) -> None:
        """Entered and cancelled."""
        enter, cancel = self._scheduler.enter, self._scheduler.cancel
        for delay in delays:
            cancel(enter(delay, 0, callback))

    def replace(self, handles: Handles, places: Sequence[int], delays: Sequence[Any], callback: Callback) -> None:
        """Cancelled, and another entered."""
        enter, cancel = self._scheduler.enter, self._scheduler.cancel
        for place, delay in zip(places, delays, strict=True):
            cancel(handles[place])
            handles[place] = enter(delay, 0, callback)

    def turn(self) -> None:
        """Run what is due."""
        self._scheduler.run(blocking=False)

    def last(self, delay: Any) -> None:
        """The last timer leaves a mark."""
        self.add(delay, self._done.append, True)

    def drain(self) -> None:
        """Run what is due until the mark is there."""
        while not self._done:
            self._scheduler.run(blocking=False)

    def close(self) -> None:
        """Dropped."""
        del self._scheduler


class ThreadingPeer(Peer):
    """`threading.Timer`: a thread each. It runs by itself, so there is a real clock but nothing to drain."""

    name = "threading"
    has_expire = False
    has_real_clock = True

    def __init__(self) -> None:
        self._done = threading.Event()

    @staticmethod
    def version() -> str:
        """Part of the standard library."""
        return platform.python_version()

    def add(self, delay: float, callback: Callback, *args: object) -> threading.Timer:
        """A thread that sleeps, then calls."""
        timer = threading.Timer(delay, callback, args)
        timer.daemon = True
        timer.start()
        return timer

    def turn(self) -> None:
        """Nothing to do: each thread looks after itself."""

    def last(self, delay: Any) -> None:
        """The last thread says so."""
        self.add(delay, self._done.set)

    def drain(self) -> None:
        """The threads do the work."""
        self._done.wait()

    def left(self, n: int) -> int:
        """One thread each, beside ours."""
        return threading.active_count() - 1

    def close(self) -> None:
        """Wait until the threads have gone: the next section would share the processor with them."""
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.cancel()
                thread.join()
