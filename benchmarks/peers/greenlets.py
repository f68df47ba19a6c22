"""gevent's timers, on a loop of their own and without a hub."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from gevent.core import loop as new_loop

from .base import Callback, Handles, Peer, set_aside


class GeventPeer(Peer):
    """`loop.timer(delay)` and `start(callback)`: two calls a timer, and `stop` to cancel."""

    name = "gevent"

    def __init__(self) -> None:
        self._loop = new_loop(default=False)
        self._timers: list[Any] = []
        self._done: list[bool] = []

    @staticmethod
    def version() -> str:
        """The installed package's."""
        return version("gevent")

    def add(self, delay: float, callback: Callback, *args: object) -> Any:
        """For the few timers outside the timed loops."""
        timer = self._loop.timer(delay)
        timer.start(callback, *args)
        return timer

    def fill(self, handles: Handles, delays: Sequence[Any], callback: Callback) -> None:
        """Two calls each, inlined: a function around them would be our cost, not gevent's."""
        new_timer = self._loop.timer
        for i, delay in enumerate(delays):
            handles[i] = timer = new_timer(delay)
            timer.start(callback)

    def cancel(self, handles: Handles) -> None:
        """Stopped, which takes it out of the loop."""
        for handle in handles:
            handle.stop()

    def extend(self, handles: Handles, delays: Sequence[Any], callback: Callback) -> None:
        """Stopped, and a new one started: the delay of a timer is fixed."""
        new_timer = self._loop.timer
        for i, handle in enumerate(handles):
            handle.stop()
            handles[i] = timer = new_timer(delays[i])
            timer.start(callback)

    def churn(self, delays: Sequence[Any], callback: Callback) -> None:
        """Inlined as in `fill`."""
        new_timer = self._loop.timer
        for delay in delays:
            timer = new_timer(delay)
            timer.start(callback)
            timer.stop()

    def replace(self, handles: Handles, places: Sequence[int], delays: Sequence[Any], callback: Callback) -> None:
        """Inlined as in `fill`."""
        new_timer = self._loop.timer
        for place, delay in zip(places, delays, strict=True):
            handles[place].stop()
            handles[place] = timer = new_timer(delay)
            timer.start(callback)

    def turn(self) -> None:
        """One iteration of the loop."""
        self._loop.run(nowait=True)

    def last(self, delay: Any) -> None:
        """The last timer leaves a mark."""
        self._timers.append(self.add(delay, self._done.append, True))

    def drain(self) -> None:
        """Iterations until the mark is there."""
        while not self._done:
            self._loop.run(nowait=True)

    def close(self) -> None:
        """Destroyed; a loop that is only dropped would leak, and so do the timers that are still started."""
        self._timers.clear()
        self._loop.destroy()
        del self._loop
        set_aside()
