"""Ours: `hub.wait` and `hub.signal`, with a callback, with an asyncio future, with a task that awaits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from sojourn import SystemTimer
from sojourn.hub import AsyncHub, Hub

from ..peers.sojourn import SojournPeer, require_build
from .base import Told, Waits
from .loop import LoopWaits
from .tasks import Tasks

KIND = "done"


class HubWaits(Waits):
    """A `Hub` with its reaper thread; a callback for each wait."""

    in_ms = True
    build: ClassVar[str] = "compiled"

    def __init__(self, told: Told) -> None:
        super().__init__(told)
        require_build(self.build)
        self.hub = Hub("benchmark")

    version = staticmethod(SojournPeer.version)

    def start(self, keys: Sequence[str], withins: Sequence[Any]) -> None:
        """One call each."""
        wait, told = self.hub.wait, self.told
        for key, within in zip(keys, withins, strict=True):
            wait(key, KIND, within, callback=told)

    def signal(self, keys: Sequence[str]) -> None:
        """The callback runs inside the call."""
        signal = self.hub.signal
        for key in keys:
            signal(key, KIND)

    def hold(self) -> None:
        """Another hub, whose timer is moved by hand."""
        self.hub.close()
        self.hub = Hub("benchmark", timer=SystemTimer("benchmark"))

    def expire(self) -> None:
        """Moved by hand until all have run."""
        timer: Any = self.hub.timer
        while self.hub.pending:
            timer.advance_clock(0)

    def pending(self) -> int:
        """The hub counts."""
        return self.hub.pending

    def close(self) -> None:
        """Closed; one that was moved by hand has a timer of its own to go with it."""
        self.hub.close()


class PureHubWaits(HubWaits):
    """As it runs where nothing was compiled."""

    build = "pure"


class FutureWaits(LoopWaits):
    """An `AsyncHub`; a future for each wait, with the callback hung on that."""

    in_ms = True

    def __init__(self, told: Told) -> None:
        super().__init__(told)
        require_build("compiled")
        self.hub = AsyncHub("benchmark")
        self.loop.run_until_complete(self.hub.__aenter__())

    def start_some(self, keys: Sequence[str], withins: Sequence[Any]) -> None:
        """One call for the wait, one for its future."""
        wait, told = self.hub.wait, self.told
        for key, within in zip(keys, withins, strict=True):
            wait(key, KIND, within).future().add_done_callback(told)

    def signal_some(self, keys: Sequence[str]) -> None:
        """The future's callback runs in the next iteration."""
        signal = self.hub.signal
        for key in keys:
            signal(key, KIND)

    def pending(self) -> int:
        """The hub counts."""
        return self.hub.pending

    def close(self) -> None:
        """The hub, then the loop."""
        self.loop.run_until_complete(self.hub.__aexit__(None, None, None))
        super().close()


class TaskWaits(Tasks, FutureWaits):
    """An `AsyncHub`; a task that awaits each wait."""

    async def waiter(self, key: str, within: Any) -> None:
        """What one types."""
        self.told(await self.hub.wait(key, KIND, within))


class UvloopFutureWaits(FutureWaits):
    """The same on uvloop."""

    loop_module = "uvloop"


class UvloopTaskWaits(TaskWaits):
    """The same on uvloop."""

    loop_module = "uvloop"
