"""`Hub` and `AsyncHub`: what people type."""

from __future__ import annotations

import builtins
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

from ..errors import ConfigError, HubFullError, PurgatoryClosedError
from ..purgatory.purgatory import OnError, PurgatoryFace, log_error
from ..rules import Condition, Rule
from ..rules.duration import Duration, duration_ms
from ..timer import AsyncTimer, LatenessHistogram, SystemTimer
from ._build import Signals, Wait
from ._memory import Memory
from ._plan import Plan

if TYPE_CHECKING:
    from ..clock import Clock
    from ..rules import Event
    from ..timer import Timer
    from ._wait import Signals as Lists
else:
    Lists = object  # mixed in below, so that tests can put the same face on either build

PLANS_KEPT = 1_000
"""Plans of conditions given to `wait` directly; beyond that the oldest goes, and is made again when needed."""


class HubStats(NamedTuple):
    """A frozen snapshot."""

    pending: int
    completed: int
    expired: int
    cancelled: int
    remembered: int
    """Signals kept for waits that have not come yet."""
    overdue: LatenessHistogram
    """How long after their deadline waits were told that it had passed."""


class HubFace(PurgatoryFace, Lists):
    """Holds waits until their condition is met, their deadline passes or they are cancelled. Signals from any thread.

    `remember`     how long to keep signals for waits that have not come yet, as in "10s"; by default not at all.
    `max_pending`  refuse further waits beyond that many, with `HubFullError`.
    `clock`        for tests: a `ManualClock` runs everything in virtual time.
    `timer`        a timer to share; it goes on when the hub is closed.
    """

    _own_timer_type: Callable[..., SystemTimer | AsyncTimer]

    def __init__(
        self,
        name: str = "hub",
        *,
        remember: Duration | None = None,
        remember_most: int = 100_000,
        max_pending: int | None = None,
        clock: Clock | None = None,
        timer: Timer | None = None,
        shards: int = 512,
        on_error: OnError = log_error,
    ) -> None:
        if timer is not None and clock is not None:
            raise ConfigError("timer and clock: a timer has a clock of its own; give one of the two")
        own = type(self)._own_timer_type(name, clock=clock) if timer is None else None
        super().__init__(name, timer=own or timer, shards=shards, on_error=on_error)
        self._own_timer = own
        if remember is not None:
            self._memory = Memory(duration_ms(remember), remember_most)
        if max_pending is not None:
            self._limit = max_pending
        self._plans: dict[tuple[object, object], tuple[object, Plan]] = {}
        self._by_id: dict[Hashable, Wait] = {}
        self._ended_ids: deque[tuple[int, Hashable]] = deque()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} {'open' if self._is_open else 'closed'}, {self.delayed} pending>"

    def signal_many(self, signals: Iterable[Event | tuple[Any, ...]]) -> int:
        """Signal each `(key, kind)`, `(key, kind, source)` or `(key, kind, source, value)`; return how many ended."""
        return sum(self.signal(*signal[:2], *signal[2:4]) for signal in signals)

    def extend(self, wait: Wait | Hashable, within: Duration) -> bool:
        """Move the deadline to `within` from now. False if it has ended, or there is no such wait."""
        found = self.get(wait)
        ms = duration_ms(within)
        return found is not None and not found.done() and found._postpone(self.now_ms() + ms, ms)

    def cancel(self, wait: Wait | Hashable) -> bool:
        """End a wait as cancelled. True exactly for the caller that ended it."""
        found = self.get(wait)
        return found is not None and found.cancel()

    def get(self, id: Wait | Hashable) -> Wait | None:
        """The wait of that id, pending or, while it is remembered, ended; None if there is none.

        O(1) for an id that was given to `wait`; one that the hub made up is looked for among all that are pending.
        """
        if isinstance(id, Wait):
            return id
        return self._by_id.get(id) or next((wait for wait in self.list() if wait.id == id), None)

    def list(self, key: Hashable = None, *, rule: str | None = None, due_before: int | None = None) -> list[Wait]:
        """The pending waits, soonest deadline first: on a key, of a rule, due before a time (epoch milliseconds)."""
        found: Iterable[Any] = self._pending() if key is None else self._watching(key)
        return sorted(
            (
                wait
                for wait in found
                if (rule is None or wait.rule == rule) and (due_before is None or wait.deadline < due_before)
            ),
            key=lambda wait: wait.deadline,
        )

    def explain(self, id: Wait | Hashable) -> str:
        """A sentence: how the wait ended, or what it still waits for."""
        found = self.get(id)
        return f"there is no wait {id!r}, or no more" if found is None else found.explain()

    def stats(self) -> HubStats:  # type: ignore[override]
        remembered = 0 if self._memory is None else len(self._memory)
        return HubStats(self.delayed, *self._ended_counts(), remembered, self.timer.stats().lateness)

    def close(self, *, cancel_pending: bool = True) -> builtins.list[Wait]:  # type: ignore[override]
        """Stop. Pending waits end as cancelled, so that nobody waits for them for ever; or are returned as they are."""
        return super().close(cancel_pending=cancel_pending)  # type: ignore[return-value]

    def _plan(self, until: str | Condition | None, within: Duration | None, rule: Rule | None) -> Plan:
        """The plan for these arguments, made once: conditions are known by identity, which costs no comparing."""
        asked = until if rule is None else rule
        place = (asked if isinstance(asked, str) else id(asked), within)
        found = self._plans.get(place)
        if found is not None and (found[0] is asked or isinstance(asked, str)):
            return found[1]
        plan = Plan(Rule("wait", "wait", until, within) if rule is None else rule)
        if len(self._plans) >= PLANS_KEPT:
            del self._plans[next(iter(self._plans))]
        self._plans[place] = (asked, plan)
        return plan

    def _open_once(self, plan: Plan, keys: tuple[Hashable, ...], wait_id: Hashable, callback: Any) -> Wait:
        self._forget_ids()
        known = self._by_id.get(wait_id)
        if known is not None:
            if callback is not None:
                known.add_done_callback(callback)
            return known
        wait = self._by_id[wait_id] = self._open(plan, keys, wait_id, callback)
        wait.add_done_callback(self._has_ended)
        return wait

    def _has_ended(self, wait: Wait) -> None:
        self._ended_ids.append((self.now_ms(), wait.id))
        self._forget_ids()

    def _forget_ids(self) -> None:
        keep_ms = 0 if self._memory is None else self._memory.keep_ms
        while self._ended_ids and self._ended_ids[0][0] <= self.now_ms() - keep_ms:
            self._by_id.pop(self._ended_ids.popleft()[1], None)

    def _refuse_more(self) -> NoReturn:
        raise HubFullError(
            f"hub {self.name!r} holds {self.delayed:,} pending waits, as many as max_pending allows; "
            "let some end, or allow more"
        )

    def _refuse(self) -> NoReturn:
        raise PurgatoryClosedError(f"hub {self.name!r} is closed and would never end this; make a new one")


class SyncHubFace(HubFace):
    _own_timer_type = SystemTimer

    def __init__(self, name: str = "hub", **options: Any) -> None:
        super().__init__(name, **options)
        if self._own_timer is not None:
            self._own_timer.start()


class AsyncHubFace(HubFace):
    _own_timer_type = AsyncTimer

    async def __aenter__(self) -> Self:
        if self._own_timer is not None:
            self._own_timer.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self.close()


class Hub(SyncHubFace, Signals):
    """Waits and signals across threads, with a reaper thread of its own."""


class AsyncHub(AsyncHubFace, Signals):
    """Waits and signals on the running asyncio loop, without a thread: `outcome = await hub.wait(...)`."""
