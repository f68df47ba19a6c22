"""What every Python peer offers to the workloads."""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

Callback = Callable[..., object]
Handles = list[Any]


def set_aside() -> None:
    """Hide from the collector what a closed peer never lets go, or the next section would pay for walking over it."""
    gc.collect()
    gc.freeze()


class Peer(ABC):
    """One fresh timer. Its loops below are what is timed: local names, one call a timer, nothing else.

    A subclass overrides a loop only where the peer's own call has another shape, never to do less work.
    """

    name: ClassVar[str]
    in_ms: ClassVar[bool] = False
    """Delays are whole milliseconds; otherwise seconds."""
    sample: ClassVar[int | None] = None
    """Cancel only this many, where one costs O(n)."""
    has_expire: ClassVar[bool] = True
    """What is due runs when `drain` says so; False where it runs by itself."""
    has_real_clock: ClassVar[bool] = False
    has_bulk: ClassVar[bool] = False

    add: Callable[..., Any]
    """`add(delay, callback, *args)` gives a handle. An instance's bound method, so that looking it up costs nothing."""

    @staticmethod
    @abstractmethod
    def version() -> str:
        """Version of the package that is measured."""

    def delays(self, delays_ms: Sequence[int]) -> list[Any]:
        """The same delays in the peer's unit, made beforehand."""
        return list(delays_ms) if self.in_ms else [delay / 1000 for delay in delays_ms]

    def fill(self, handles: Handles, delays: Sequence[Any], callback: Callback) -> None:
        """Add a timer for each delay and keep the handles."""
        add = self.add
        handles[:] = [add(delay, callback) for delay in delays]

    def cancel(self, handles: Handles) -> None:
        """Cancel each, in the order given."""
        for handle in handles:
            handle.cancel()

    def extend(self, handles: Handles, delays: Sequence[Any], callback: Callback) -> None:
        """Give each timer a new delay: cancelled and added again where the peer cannot move it."""
        add = self.add
        for i, handle in enumerate(handles):
            handle.cancel()
            handles[i] = add(delays[i], callback)

    def churn(self, delays: Sequence[Any], callback: Callback) -> None:
        """Add and cancel at once."""
        add = self.add
        for delay in delays:
            add(delay, callback).cancel()

    def replace(self, handles: Handles, places: Sequence[int], delays: Sequence[Any], callback: Callback) -> None:
        """Cancel the timer at each place and put a new one there."""
        add = self.add
        for place, delay in zip(places, delays, strict=True):
            handles[place].cancel()
            handles[place] = add(delay, callback)

    def in_turns(self, pieces: Iterable[Callable[[], None]]) -> None:
        """Do the pieces of work with a turn of the timer after each, as a program in service has them."""
        for piece in pieces:
            piece()
            self.turn()

    def bulk_delays(self, delays_ms: Sequence[int]) -> Any:
        """The delays as one array (`has_bulk` only)."""
        raise NotImplementedError

    def bulk_add(self, delays_ms: Any, callback: Callback) -> Any:
        """Add all in one call (`has_bulk` only); the batch."""
        raise NotImplementedError

    def bulk_cancel(self, batch: Any) -> None:
        """Cancel the batch in one call (`has_bulk` only)."""
        raise NotImplementedError

    @abstractmethod
    def turn(self) -> None:
        """One pass that does not wait: run what is due, tidy up what the peer tidies."""

    @abstractmethod
    def last(self, delay: Any) -> None:
        """Add the timer that ends `drain` or `wait`; nothing else may be due later."""

    @abstractmethod
    def drain(self) -> None:
        """Run what is due until the last timer has run."""

    def start(self) -> None:
        """Let the timer run on the real clock, by its own means where it has some."""
        if not self.has_real_clock:
            raise NotImplementedError(f"{self.name} is only moved by hand")

    def left(self, n: int) -> int:
        """How many of n timers just added have not run yet: all, unless something runs them meanwhile."""
        return n

    def wait(self) -> None:
        """Return when the last timer has run on the real clock (`has_real_clock` only)."""
        self.drain()

    @abstractmethod
    def close(self) -> None:
        """Let everything go."""
