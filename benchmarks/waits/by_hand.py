"""What one would write by hand for speed: no tasks, a dict by key, and `call_later` for the deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from .base import Told
from .loop import LoopWaits


class FuturesByHand(LoopWaits):
    """A future for each wait, with the callback hung on it."""

    def __init__(self, told: Told) -> None:
        super().__init__(told)
        self._waiting: dict[str, tuple[asyncio.Future[bool], asyncio.TimerHandle]] = {}

    def start_some(self, keys: Sequence[str], withins: Sequence[Any]) -> None:
        """A future and a timer each."""
        create_future, call_later, waiting = self.loop.create_future, self.loop.call_later, self._waiting
        expired, told = self._expired, self.told
        for key, within in zip(keys, withins, strict=True):
            future = create_future()
            future.add_done_callback(told)
            waiting[key] = (future, call_later(within, expired, key))

    def signal_some(self, keys: Sequence[str]) -> None:
        """The future's callback runs in the next iteration."""
        take = self._waiting.pop
        for key in keys:
            future, timer = take(key)
            timer.cancel()
            future.set_result(True)

    def _expired(self, key: str) -> None:
        self._waiting.pop(key)[0].set_result(False)

    def pending(self) -> int:
        """As many as the dict has."""
        return len(self._waiting)


class CallbacksByHand(LoopWaits):
    """Not even a future: the callback itself in the dict. Nothing to await, and an exception ends the chunk."""

    def __init__(self, told: Told) -> None:
        super().__init__(told)
        self._waiting: dict[str, tuple[Told, asyncio.TimerHandle]] = {}

    def start_some(self, keys: Sequence[str], withins: Sequence[Any]) -> None:
        """A timer each."""
        call_later, waiting, expired, told = self.loop.call_later, self._waiting, self._expired, self.told
        for key, within in zip(keys, withins, strict=True):
            waiting[key] = (told, call_later(within, expired, key))

    def signal_some(self, keys: Sequence[str]) -> None:
        """The callback runs on the spot."""
        take = self._waiting.pop
        for key in keys:
            told, timer = take(key)
            timer.cancel()
            told(True)

    def _expired(self, key: str) -> None:
        self._waiting.pop(key)[0](False)

    def pending(self) -> int:
        """As many as the dict has."""
        return len(self._waiting)


class UvloopFuturesByHand(FuturesByHand):
    """The same on uvloop."""

    loop_module = "uvloop"
