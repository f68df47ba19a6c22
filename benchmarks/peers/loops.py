"""`call_later` of asyncio and of the event loops that replace it."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.metadata import version
from typing import Any

from .base import Peer, set_aside


def in_turns(loop: asyncio.AbstractEventLoop, pieces: Iterable[Callable[[], None]]) -> None:
    """Run the loop, with one of the pieces in each of its iterations, until there are no more."""
    left = iter(pieces)

    def step() -> None:
        piece = next(left, None)
        if piece is None:
            loop.stop()
        else:
            piece()
            loop.call_soon(step)

    loop.call_soon(step)
    loop.run_forever()


class AsyncioPeer(Peer):
    """asyncio's own loop: a heap of handles, rebuilt by a turn that finds more than half of them cancelled."""

    name = "asyncio"
    has_real_clock = True

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop = import_module(self.name).new_event_loop()
        self.add = self._loop.call_later

    @staticmethod
    def version() -> str:
        """Part of the standard library."""
        return platform.python_version()

    def turn(self) -> None:
        """One iteration of the loop."""
        self._loop.call_soon(self._loop.stop)
        self._loop.run_forever()

    def in_turns(self, pieces: Iterable[Callable[[], None]]) -> None:
        """Inside the running loop: a turn is one of its iterations, without the cost of starting and stopping it."""
        in_turns(self._loop, pieces)

    def last(self, delay: Any) -> None:
        """The last timer stops the loop."""
        self._loop.call_later(delay, self._loop.stop)

    def drain(self) -> None:
        """The loop, until it is stopped."""
        self._loop.run_forever()

    def close(self) -> None:
        """Closed; the bound method goes too, because it keeps the loop alive."""
        self._loop.close()
        del self._loop, self.add


class UvloopPeer(AsyncioPeer):
    """libuv's timers; a cancelled one is closed in the next turn."""

    name = "uvloop"

    @staticmethod
    def version() -> str:
        """The installed package's."""
        return version("uvloop")


class RloopPeer(AsyncioPeer):
    """A loop written in Rust."""

    name = "rloop"

    @staticmethod
    def version() -> str:
        """The installed package's."""
        return version("rloop")

    def close(self) -> None:
        """A closed rloop keeps its timers."""
        super().close()
        set_aside()
