"""`Hub` and `AsyncHub`: what people type."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

from .._arguments import check_whole
from ..errors import ConfigError, HubFullError, PurgatoryClosedError
from ..purgatory.purgatory import OnError, PurgatoryFace, log_error
from ..rules import Condition, Event, Rule
from ..rules.duration import Duration, duration_ms
from ..timer import AsyncTimer, LatenessHistogram, SystemTimer
from ._build import Signals, Wait
from ._ending import tell_all
from ._ids import Ids
from ._memory import Memory
from ._plan import Plan

if TYPE_CHECKING:
    from ..clock import Clock
    from ..timer import Timer
    from ._wait import Signals as Lists
else:
    Lists = object  # mixed in below, so that tests can put the same face on either build

NO_LIMIT = 2**62

PLANS_KEPT = 1_000
"""Beyond that all plans go, and are made again when needed."""


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
    `on_error`     told the wait and what one of its callbacks raised, or which early signal it could not use.

    A hub obeys the law, but is eager: a wait completes with the first signal that meets its condition, whatever else
    comes within the same millisecond. So where the law would name the kind that the rule mentions first, `decided_by`
    may name another one of that instant. Outcome and time are the law's.
    """

    _own_timer_type: Callable[..., SystemTimer | AsyncTimer]
    _noun = "hub"

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
        check_whole("remember_most", remember_most, 0, NO_LIMIT)
        if max_pending is not None:
            check_whole("max_pending", max_pending, 0, NO_LIMIT)
        keep_ms = None if remember is None else duration_ms(remember)
        own = type(self)._own_timer_type(name, clock=clock) if timer is None else None
        super().__init__(name, timer=own or timer, shards=shards, on_error=on_error)
        self._own_timer = own
        if keep_ms is not None:
            self._memory = Memory(keep_ms, remember_most)
        if max_pending is not None:
            self._limit = max_pending
        self._plans: dict[tuple[object, ...], Plan] = {}
        self._ids = Ids(keep_ms)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} {self._state()}, {self.delayed} pending>"

    def signal_many(self, signals: Iterable[Event | tuple[Any, ...]]) -> int:
        """Signal each `(key, kind)`, `(key, kind, source)` or `(key, kind, source, value)`; return how many ended.

        An `Event` will do too. Like any signal it is stamped with the time of the call, whatever its own says.
        """
        return sum(
            self._spread(signal._replace(at=self.now_ms())) if isinstance(signal, Event) else self.signal(*signal)
            for signal in signals
        )

    def try_complete_else_watch(self, operation: object, keys: object) -> NoReturn:
        raise TypeError(f"{operation!r}: a hub holds waits of its own making; a Purgatory takes operations")

    def extend(self, wait: Wait | Hashable, within: Duration) -> bool:
        """Move the deadline to `within` from now. False if it has ended, or there is no such wait."""
        found = self.get(wait)
        ms = duration_ms(within)
        return found is not None and found.extend(ms)

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
        now_ms = self.now_ms()
        with self._lock:
            found = self._ids.get(id, now_ms)
        pending: Iterable[Any] = () if found is not None else self._pending()
        return found or next((wait for wait in pending if wait.id == id), None)

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
        """Stop. Pending waits end as cancelled, so that nobody waits for them for ever, or as expired if they are
        overdue; without `cancel_pending` they stay as they are. Returns those that were pending."""
        if not cancel_pending or self._parent_pid is not None:
            return super().close()  # type: ignore[return-value]
        with self._lock:
            self._is_open = False
            left: builtins.list[Any] = self._pending()
        now_ms = self.now_ms()  # nobody in there was opened later
        for wait in left:
            wait._cancel_untold(now_ms)
        try:
            tell_all(iter(left))
        finally:
            if self._own_timer is not None:
                self._own_timer.close()
        return left

    def _plan(self, until: str | Condition | None, within: Duration | None, rule: Rule | None) -> Plan:
        """The plan for these arguments, made once. Equal is not enough: 1 is a duration, and True is not."""
        asked = (until, within, type(within), rule)
        try:
            found = self._plans.get(asked)
        except TypeError:  # not hashable, so not kept
            return new_plan(until, within, rule)
        if found is None:
            found = new_plan(until, within, rule)
            with self._lock:
                if len(self._plans) >= PLANS_KEPT:
                    self._plans.clear()
                self._plans[asked] = found
        return found

    def _open_once(self, plan: Plan, keys: tuple[Hashable, ...], wait_id: Hashable, callback: Any, now_ms: int) -> Wait:
        with self._lock:
            known = self._ids.get(wait_id, now_ms)
            if known is None:
                wait = self._open(plan, keys, wait_id, callback, now_ms)
                self._ids.put(wait)
                return wait
        if callback is not None:
            known.add_done_callback(callback)
        return known

    def _has_ended(self, wait: Wait) -> None:
        try:
            now_ms = self.now_ms()
            with self._lock:
                self._ids.has_ended(wait, now_ms)
        except Exception as exception:  # an id that cannot be compared any more
            self._failed(wait, exception)

    def _has_recalled(self) -> None:
        assert self._memory is not None
        for wait, error in self._memory.passed_over():
            self._failed(wait, error)

    def _refuse_more(self) -> NoReturn:
        raise HubFullError(
            f"hub {self.name!r} holds {self.delayed:,} pending waits, as many as max_pending allows; "
            "let some end, or allow more"
        )

    def _refuse(self) -> NoReturn:
        self._check_process()
        raise PurgatoryClosedError(f"hub {self.name!r} is closed and would never end this; make a new one")


def new_plan(until: str | Condition | None, within: Duration | None, rule: Rule | None) -> Plan:
    return Plan(Rule("wait", "wait", until, within) if rule is None else rule)


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
