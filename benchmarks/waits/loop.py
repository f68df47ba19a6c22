"""Waits that live on an event loop: the loop turns after every thousand of them, as it does in a program in service."""

from __future__ import annotations

import asyncio
import platform
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import version
from itertools import repeat
from typing import Any, ClassVar

from ..peers.loops import in_turns
from .base import Told, Waits

CHUNK = 1_000
"""Waits started or signals given between two iterations of the loop."""
SETTLE = 6
"""Iterations after the last: `wait_for(event.wait())`, the longest way, needs four until its task has gone on."""


def nothing() -> None:
    """An iteration of the loop, and no more."""


class LoopWaits(Waits):
    """On asyncio's own loop. Outside the sections the loop stands still, so `hold` has nothing to do."""

    loop_module: ClassVar[str] = "asyncio"

    def __init__(self, told: Told) -> None:
        super().__init__(told)
        self.loop: asyncio.AbstractEventLoop = import_module(self.loop_module).new_event_loop()

    @classmethod
    def version(cls) -> str:
        """Of the loop: asyncio's is the interpreter's."""
        return platform.python_version() if cls.loop_module == "asyncio" else version(cls.loop_module)

    @abstractmethod
    def start_some(self, keys: Sequence[str], withins: Sequence[Any]) -> None:
        """Inside the running loop: wait on each key."""

    @abstractmethod
    def signal_some(self, keys: Sequence[str]) -> None:
        """Inside the running loop: signal each key."""

    def start(self, keys: Sequence[str], withins: Sequence[Any]) -> None:
        """In chunks."""
        self._run(
            partial(self.start_some, keys[i : i + CHUNK], withins[i : i + CHUNK]) for i in range(0, len(keys), CHUNK)
        )

    def signal(self, keys: Sequence[str]) -> None:
        """In chunks."""
        self._run(partial(self.signal_some, keys[i : i + CHUNK]) for i in range(0, len(keys), CHUNK))

    def hold(self) -> None:
        """The loop stands still."""

    def expire(self) -> None:
        """The loop runs until none is pending."""
        self._run(iter(self._ask, None))

    def close(self) -> None:
        """Closed; all tasks have ended by then."""
        self.loop.close()

    def _ask(self) -> Callable[[], None] | None:
        return nothing if self.pending() else None

    def _run(self, pieces: Iterator[Callable[[], None]]) -> None:
        in_turns(self.loop, pieces)
        in_turns(self.loop, repeat(nothing, SETTLE))
