"""asyncio's own ways to await something at most so long, a task for each, with a dict to find it by its key."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from .base import Told
from .loop import LoopWaits


class Tasks(LoopWaits):
    """A task for each wait. What it waits for holds it, so it need not be kept and goes when it has ended."""

    @abstractmethod
    async def waiter(self, key: str, within: Any) -> None:
        """The task's body."""

    def start_some(self, keys: Sequence[str], withins: Sequence[Any]) -> None:
        """The tasks begin in the next iteration."""
        create_task, waiter = self.loop.create_task, self.waiter
        for key, within in zip(keys, withins, strict=True):
            create_task(waiter(key, within))


class WaitForFuture(Tasks):
    """`asyncio.wait_for` on a future."""

    def __init__(self, told: Told) -> None:
        super().__init__(told)
        self._waiting: dict[str, asyncio.Future[bool]] = {}

    async def waiter(self, key: str, within: float) -> None:
        """Whoever signals takes the future out of the dict; one that has timed out takes itself out."""
        future = self._waiting[key] = self.loop.create_future()
        try:
            self.told(await asyncio.wait_for(future, within))
        except TimeoutError:
            del self._waiting[key]
            self.told(False)

    def signal_some(self, keys: Sequence[str]) -> None:
        """The tasks go on in a later iteration."""
        take = self._waiting.pop
        for key in keys:
            take(key).set_result(True)

    def pending(self) -> int:
        """As many as the dict has."""
        return len(self._waiting)


class TimeoutFuture(WaitForFuture):
    """`asyncio.timeout` around a future."""

    async def waiter(self, key: str, within: float) -> None:
        """As above."""
        future = self._waiting[key] = self.loop.create_future()
        try:
            async with asyncio.timeout(within):
                self.told(await future)
        except TimeoutError:
            del self._waiting[key]
            self.told(False)


class WaitForEvent(Tasks):
    """`asyncio.wait_for` on an event's `wait()`."""

    def __init__(self, told: Told) -> None:
        super().__init__(told)
        self._waiting: dict[str, asyncio.Event] = {}

    async def waiter(self, key: str, within: float) -> None:
        """As above."""
        event = self._waiting[key] = asyncio.Event()
        try:
            self.told(await asyncio.wait_for(event.wait(), within))
        except TimeoutError:
            del self._waiting[key]
            self.told(False)

    def signal_some(self, keys: Sequence[str]) -> None:
        """The tasks go on in a later iteration."""
        take = self._waiting.pop
        for key in keys:
            take(key).set()

    def pending(self) -> int:
        """As many as the dict has."""
        return len(self._waiting)


class UvloopWaitForFuture(WaitForFuture):
    """The same on uvloop."""

    loop_module = "uvloop"


class UvloopTimeoutFuture(TimeoutFuture):
    """The same on uvloop."""

    loop_module = "uvloop"


class UvloopWaitForEvent(WaitForEvent):
    """The same on uvloop."""

    loop_module = "uvloop"
