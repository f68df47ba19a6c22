"""Ours: the compiled core, the same with 512 buckets a wheel, and the pure-Python wheel."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from threading import Event
from typing import Any, ClassVar

import numpy as np

from sojourn import SystemTimer
from sojourn.timer import IMPLEMENTATION

from ..child import UnavailableError
from .base import Callback, Handles, Peer


def require_build(build: str) -> None:
    """Raise UnavailableError unless this process runs the compiled, or the pure, build that is to be measured."""
    if build != IMPLEMENTATION:
        raise UnavailableError(f"the {IMPLEMENTATION} build is installed, not the {build} one")


class SojournPeer(Peer):
    """`SystemTimer` with its defaults: unstarted and moved by hand, except on the real clock."""

    name = "sojourn"
    in_ms = True
    has_real_clock = True
    has_bulk = True
    build: ClassVar[str] = "compiled"
    wheel_size: ClassVar[int] = 20

    def __init__(self) -> None:
        require_build(self.build)
        self._timer = SystemTimer("benchmark", wheel_size=self.wheel_size)
        self._done = Event()
        self.add = self._timer.schedule

    @staticmethod
    def version() -> str:
        """Version of the installed package; a bare source tree has none."""
        try:
            return version("sojourn")
        except PackageNotFoundError:
            return "source tree"

    def extend(self, handles: Handles, delays: Sequence[Any], callback: Callback) -> None:
        """Moved in place."""
        for i, handle in enumerate(handles):
            handle.extend(delays[i])

    def bulk_delays(self, delays_ms: Sequence[int]) -> Any:
        """A NumPy array."""
        return np.array(delays_ms, dtype=np.int64)

    def bulk_add(self, delays_ms: Any, callback: Callback) -> Any:
        """One call for all."""
        return self._timer.schedule_many(delays_ms, callback)

    def bulk_cancel(self, batch: Any) -> None:
        """One call for the batch."""
        batch.cancel()

    def turn(self) -> None:
        """Run what is due, without waiting."""
        self._timer.advance_clock(0)

    def last(self, delay: Any) -> None:
        """An ordinary task that says so."""
        self.add(delay, self._done.set)

    def drain(self) -> None:
        """Moved by hand until the last has run."""
        while not self._done.is_set():
            self._timer.advance_clock(0)

    def start(self) -> None:
        """Its own reaper thread."""
        self._timer.start()

    def left(self, n: int) -> int:
        """The reaper may have run some already."""
        return self._timer.size

    def wait(self) -> None:
        """The reaper does the work; this thread only sleeps."""
        self._done.wait()

    def close(self) -> None:
        """Closed; the bound method goes too, because it keeps the timer alive."""
        self._timer.close()
        del self._timer, self.add


class Sojourn512Peer(SojournPeer):
    """With 512 buckets a wheel: fewer levels, less cascading."""

    name = "sojourn-512"
    wheel_size = 512


class SojournPurePeer(SojournPeer):
    """The readable wheel, as it runs where nothing was compiled."""

    name = "sojourn-pure"
    build = "pure"
