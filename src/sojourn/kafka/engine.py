"""What all parts of a cluster share: time, turns, purgatories, and the log of what waited."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

from ..clock import NS_PER_MS, Clock
from ..purgatory import Purgatory
from ..rules import Event
from ..timer import SystemTimer, TimerTask
from .meters import Meters
from .operation_log import OperationLog
from .turns import Turns

SHARDS = 16
"""Per purgatory: there are three for each broker, so a few will do."""

OnError = Callable[[BaseException], object]


def log_error(exception: BaseException) -> None:
    """The default `on_error`: the `sojourn.kafka` logger."""
    logging.getLogger("sojourn.kafka").error("something in the cluster failed", exc_info=exception)


class Engine:
    """One timer on one clock; every task of the cluster runs in a turn of its own."""

    def __init__(self, clock: Clock | None, log: OperationLog | None, on_error: OnError, name: str = "cluster") -> None:
        self.on_error = on_error
        self.turns = Turns(on_error)
        self.timer = SystemTimer(name, clock=clock, on_error=lambda _, exception: on_error(exception)).start()
        self.clock = self.timer.clock
        self.log = log
        self._epoch_ms = (self.clock.wall_ns() - self.clock.now_ns()) // NS_PER_MS
        self.waiting: Counter[str] = Counter()
        """Operations that wait, by kind."""
        self.meters = Meters()
        self._opened: Counter[str] = Counter()

    def now_ms(self) -> int:
        """Monotonic time."""
        return self.clock.now_ns() // NS_PER_MS

    def schedule(self, delay_ms: int, action: Callable[..., object], *args: Any) -> TimerTask:
        """Run `action(*args)` in a turn, that much later."""
        return self.timer.schedule(delay_ms, self._turn, action, args)

    def later(self, action: Callable[..., object], *args: Any) -> None:
        """Run it when the turn at hand is over."""
        self.turns.later(action, *args)

    def purgatory(self, name: str) -> Purgatory:
        """A new one, on this timer."""
        on_error = self.on_error
        return Purgatory(name, timer=self.timer, shards=SHARDS, on_error=lambda _, exception: on_error(exception))

    def new_key(self, kind: str) -> str:
        """The key of the next operation of this kind in the log."""
        self._opened[kind] += 1
        return f"{kind}-{self._opened[kind]}"

    def report(self, key: str, kind: str, source: str | None = None, value: int | None = None) -> None:
        """Write an event to the operation log, if there is one."""
        if self.log is not None:
            self.log.write(Event(key, kind, self.now_ms() + self._epoch_ms, source, value))

    def close(self) -> None:
        self.timer.close()

    def _turn(self, action: Callable[..., object], args: tuple[Any, ...]) -> None:
        with self.turns:
            action(*args)
