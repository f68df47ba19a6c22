"""`Hub` and `AsyncHub`: what people type. `_wait.py` says what is behind it, `_law.py` what decides."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Hashable, Iterable, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self, SupportsIndex

from .._arguments import check_whole, not_to_be_copied
from ..clock import ManualClock
from ..errors import ConfigError
from ..purgatory._keys import distinct
from ..purgatory.purgatory import OnError, log_error
from ..rules import Condition, Event, Rule
from ..rules.duration import Duration, duration_ms
from ..timer import AsyncTimer, LatenessHistogram, SystemTimer
from ._build import QuickVerbs, Wait
from ._coroutines import Coroutines
from ._ending import check_callback, tell_all
from ._plan import WaitPlan, check_several, parts_of, plan_for
from ._waits import Waits, WaitsFace

if TYPE_CHECKING:
    from ..clock import Clock
    from ..rules.event import Number, Source
    from ..timer import Timer

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


class HubFace:
    """Holds waits until their condition is met, their deadline passes or they are cancelled. Signals from any thread.

    `remember`     how long to keep signals for waits that have not come yet, as in "10s"; by default not at all.
    `max_pending`  refuse further waits beyond that many, with `HubFullError`.
    `clock`        for tests: a `ManualClock` runs everything in virtual time.
    `timer`        a timer to share; it goes on when the hub is closed.
    `on_error`     told the wait and what one of its callbacks raised, or which early signal it could not use.

    Keys and ids may be anything hashable. No lock of the hub is held while they are compared, nor while a callback
    runs.

    A hub obeys the law, but is eager: a wait completes with the first signal that meets its condition, whatever else
    comes within the same millisecond. So where the law would name the kind that the rule mentions first, `decided_by`
    may name another one of that instant. Outcome and time are the law's.
    """

    _keeps_in_memory = True
    """Whether waits are kept in memory; if not, they are on a disk, here or in a service."""
    _own_timer_type: Callable[..., SystemTimer | AsyncTimer]
    _waits_type: type[WaitsFace] = Waits
    _waits: WaitsFace
    name: str

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
        data: None = None,
        url: None = None,
        **others: Any,
    ) -> None:
        check_no_others(others)
        if data is not None:
            raise ConfigError(f"data={data!r}: only Hub and AsyncHub themselves have a data folder, not {type(self)!r}")
        if url is not None:
            raise ConfigError(f"url={url!r}: only Hub and AsyncHub themselves can be elsewhere, not {type(self)!r}")
        if timer is not None and clock is not None:
            raise ConfigError("timer and clock: a timer has a clock of its own; give one of the two")
        check_whole("remember_most", remember_most, 0, NO_LIMIT)
        if max_pending is not None:
            check_whole("max_pending", max_pending, 0, NO_LIMIT)
        keep_ms = None if remember is None else duration_ms(remember)
        own = type(self)._own_timer_type(name, clock=clock) if timer is None else None
        self.name = name
        self._own_timer = own
        self._plans: dict[tuple[object, ...], WaitPlan] = {}
        self._waits = type(self)._waits_type(
            name,
            timer=own or timer,  # type: ignore[arg-type]
            shards=shards,
            on_error=on_error,
            remember_ms=keep_ms,
            remember_most=remember_most,
            max_pending=max_pending,
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} {self._waits._state()}, {self.pending} pending>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise not_to_be_copied(self)

    # The two that `_core.pyx` has in a quicker form: what stands here is what they mean

    def wait(
        self,
        key: Hashable | builtins.list[Hashable],
        until: str | Condition | None = None,
        within: Duration | None = None,
        *,
        rule: Rule | None = None,
        id: Hashable = None,
        callback: Callable[[Wait], object] | None = None,
    ) -> Wait:
        """Wait on a key (or a list of keys) until a condition is met, at most `within`; or as a rule says.

        The wait's `result()` is its outcome, `await` works too, and `callback(wait)` is called when it has ended.
        Waiting twice with the same `id` is the same wait; under the id of another wait it is an `IdTakenError`. A rule
        says itself until what and within what time: give either a rule or these.
        """
        if callback is not None:
            check_callback(callback)
        plan = self._plan(until, within, rule)
        keys = distinct(key) if isinstance(key, builtins.list) else (key,)
        waits = self._waits
        wait = waits._open(plan, keys, id, callback, waits.now_ms())
        if waits._memory is not None:
            waits._has_recalled()
            wait._tell()  # what was recalled may have ended it
        return wait

    def signal(self, key: Hashable, kind: str, source: Source = None, value: Number | None = None) -> int:
        """Tell every wait on the key that something of this kind has happened; return how many that completed."""
        return self._waits._spread(Event(key, kind, self.now_ms(), source, value))  # type: ignore[arg-type]

    # The others

    def signal_many(self, signals: Iterable[Event | tuple[Any, ...]]) -> int:
        """Signal each `(key, kind)`, `(key, kind, source)` or `(key, kind, source, value)`; return how many completed.

        An `Event` will do too. Like any signal it is stamped with the time of the call, whatever its own says.
        """
        return sum(
            self.signal(*signal) if type(signal) is tuple and 2 <= len(signal) <= 4 else self._signal_other(signal)
            for signal in signals
        )

    def _signal_other(self, signal: object) -> int:
        """An event, or what is no signal."""
        if isinstance(signal, Event):
            return self._waits._spread(signal._replace(at=self.now_ms()))
        return self.signal(*parts_of(signal))

    def wait_many(
        self,
        keys: Iterable[Hashable | builtins.list[Hashable]],
        until: str | Condition | None = None,
        within: Duration | None = None,
        *,
        rule: Rule | None = None,
        ids: Iterable[Hashable] | None = None,
    ) -> builtins.list[Wait]:
        """A wait for each key, all under the same condition or rule, with its own id if there are `ids`."""
        check_several(keys)
        if ids is None:
            return [self.wait(key, until, within, rule=rule) for key in keys]
        return [self.wait(key, until, within, rule=rule, id=id) for key, id in zip(keys, ids, strict=True)]

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
        if isinstance(id, self._waits._wait_type):
            return id
        pending: Iterable[Any] = self._waits._pending() if (given := self._waits._by_id(id)) is None else ()
        return given or next((wait for wait in pending if wait.id == id), None)

    def list(self, key: Hashable = None, *, rule: str | None = None, due_before: int | None = None) -> list[Wait]:
        """The pending waits, soonest deadline first: on a key, of a rule, due before a time (epoch milliseconds)."""
        found: Iterable[Any] = self._waits._pending() if key is None else self._waits._watching(key)
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
        return f"there is no wait {id!r}, or no longer" if found is None else found.explain()

    @property
    def pending(self) -> int:
        """How many waits are pending. Exact, O(1)."""
        return self._waits.delayed

    @property
    def timer(self) -> Timer:
        return self._waits.timer

    def now_ms(self) -> int:
        """The hub's time: milliseconds since the epoch, but running on the monotonic clock."""
        return self._waits.now_ms()

    def stats(self) -> HubStats:
        waits = self._waits
        remembered = 0 if waits._memory is None else len(waits._memory)
        return HubStats(waits.delayed, *waits._ended_counts(), remembered, waits.timer.stats().lateness)

    def close(self, *, cancel_pending: bool = True) -> builtins.list[Wait]:
        """Stop. Pending waits end as cancelled, so that nobody waits for them for ever, or as expired if they are
        overdue; without `cancel_pending` they stay as they are. Returns those that were pending."""
        if self._waits._parent_pid is not None:
            return []  # this is a forked child: what is pending is the parent's
        try:
            return self._cancel_all() if cancel_pending else self._waits.close()  # type: ignore[return-value]
        finally:
            with self._waits._lock:
                self._waits._ids.forget_all()
            if self._own_timer is not None:
                self._own_timer.close()

    def _cancel_all(self) -> builtins.list[Wait]:
        with self._waits._lock:
            self._waits._is_open = False
            left: builtins.list[Any] = self._waits._pending()
        now_ms = self.now_ms()  # nobody in there was opened later
        for wait in left:
            wait._cancel_untold(now_ms)
        tell_all(iter(left))
        return left

    def _plan(self, until: str | Condition | None, within: Duration | None, rule: Rule | None) -> WaitPlan:
        """The plan for these arguments, made once. Equal is not enough: 1 is a duration, and True is not.

        Takes no lock, as it compares what people chose.
        """
        asked = (until, within, type(within), rule)
        plans = self._plans
        try:
            plan = plans.get(asked)
        except TypeError:  # not hashable, so not kept
            return plan_for(until, within, rule)
        if plan is None:
            plan = plans[asked] = plan_for(until, within, rule)
            if len(plans) > PLANS_KEPT:
                self._plans = {}
        return plan


class SyncHubFace(HubFace):
    _own_timer_type = SystemTimer

    def __init__(self, name: str = "hub", **options: Any) -> None:
        super().__init__(name, **options)
        if self._own_timer is not None:
            self._own_timer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class AsyncHubFace(HubFace):
    _own_timer_type = AsyncTimer

    def __init__(self, name: str = "hub", **options: Any) -> None:
        super().__init__(name, **options)
        self._waits._coroutines = Coroutines()

    async def __aenter__(self) -> Self:
        self._start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self.close()

    def _plan(self, until: str | Condition | None, within: Duration | None, rule: Rule | None) -> WaitPlan:
        """Every wait has a plan: so a hub that nobody has entered starts with its first wait."""
        coroutines = self._waits._coroutines
        if coroutines is not None and coroutines.loop is None and self._waits._is_open:
            self._start()
        return super()._plan(until, within, rule)

    def _start(self) -> None:
        """Begin on the running loop. On a `ManualClock` or with a timer of the caller's it can do without one."""
        import asyncio  # noqa: PLC0415  (`import sojourn` stays quick without it)

        loop = asyncio._get_running_loop()
        assert self._waits._coroutines is not None
        self._waits._coroutines.loop = loop
        timer = self._own_timer
        if timer is None:
            return
        if loop is None and timer._driver is None and not isinstance(timer.clock, ManualClock):
            raise RuntimeError(
                f"AsyncHub {self.name!r} has not started, and no asyncio loop is running here: enter it with "
                "`async with`, or wait on the loop first"
            )
        timer.start()


class Hub(QuickVerbs, SyncHubFace):
    """Waits and signals across threads, with a reaper thread of its own.

    With `data=folder` it is a `sojourn.durable.DurableHub`, which has further settings and survives its process; with
    `url=...` a `sojourn.service.client.RemoteHub`, whose waits are in a service.
    """

    def __new__(cls, name: str = "hub", *, data: Any = None, url: Any = None, **options: Any) -> Self:
        return super().__new__(cls if cls is not Hub else kind_of(cls, data, url))


class AsyncHub(QuickVerbs, AsyncHubFace):
    """Waits and signals on the running asyncio loop, without a thread: `outcome = await hub.wait(...)`.

    `async with` starts it, or else its first wait on the loop. Callbacks may be coroutine functions.
    With `data=folder` it is a `sojourn.durable.async_hub.AsyncDurableHub`, which has further settings and survives its
    process; with `url=...` a `sojourn.service.client.async_hub.AsyncRemoteHub`, whose waits are in a service.
    """

    def __new__(cls, name: str = "hub", *, data: Any = None, url: Any = None, **options: Any) -> Self:
        return super().__new__(cls if cls is not AsyncHub else kind_of(cls, data, url))


def check_no_others(options: Mapping[str, Any]) -> None:
    """A hub in memory has no others: if another kind of hub has one, the error says what makes a hub of that kind."""
    for option in options:
        for where, kind in (("data=", kind_of(Hub, "", None)), ("url=", kind_of(Hub, None, ""))):
            if option in signature(kind.__init__).parameters:
                raise ConfigError(
                    f"{option}: only a hub with {where} has this option; give {where} too, or leave it out"
                )
        raise TypeError(f"{option}: a hub has no such option; leave it out")


def kind_of(cls: type[Any], data: Any, url: Any) -> type[Any]:
    """The hub with a data folder, or with a URL. Their rooms are above this one, so they are asked for by name, here
    and nowhere else. Only who uses them pays for their import.
    """
    if data is None and url is None:
        return cls
    if data is not None and url is not None:
        raise ConfigError(f"data={data!r} and url={url!r}: a hub is in a folder or elsewhere; give one of the two")
    from importlib import import_module  # noqa: PLC0415

    module = "hub" if cls is Hub else "async_hub"
    room, name = ("durable", "DurableHub") if url is None else ("service.client", "RemoteHub")
    found: type[Any] = getattr(import_module(f"sojourn.{room}.{module}"), name if cls is Hub else f"Async{name}")
    return found
