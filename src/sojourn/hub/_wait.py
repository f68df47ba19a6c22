"""Waits and signals, in plain Python. `_core.pyx` is the same, in C.

A wait is a delayed operation whose condition is a rule's. A signal goes into the inbox of every wait that watches its
key, and then the wait is tried: it reads its inbox, one thread at a time, whoever else comes leaving word.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from ..clock import NS_PER_MS
from ..errors import ConfigError, HubFullError
from ..purgatory._keys import distinct
from ..purgatory._operation import DelayedOperation
from ..purgatory._watchers import Watchers
from ..rules import Event
from ..timer._state import whole_ms
from ..timer._timer import NO_LIMIT, Timer, TimerTask, lock
from ._ending import add_callback, await_outcome, explanation, future_of, outcome_of, run_callbacks, wait_for

if TYPE_CHECKING:
    import asyncio

    from ..rules import Condition, Duration, Outcome, Rule, Waiting
    from ..rules.event import Number, Source
    from ._memory import Memory
    from ._plan import Plan


DONE: Any = object()
"""In place of callbacks: they have been called."""


class Wait(DelayedOperation):
    """One wait: pending until its condition is met, its deadline passes or it is cancelled."""

    __slots__ = (
        "_callbacks",
        "_cancellation",
        "_decision",
        "_hub",
        "_id",
        "_inbox",
        "_plan",
        "_progress",
        "_until",
        "at",
        "deadline",
        "decided_by",
        "opened_at",
    )

    _hub: Signals
    _plan: Plan
    _id: Hashable
    _inbox: list[Event]
    _progress: Waiting | None
    _callbacks: Any
    _decision: tuple[int, str] | None
    """When and by what its condition was met; it completes, unless somebody ends it first."""
    _cancellation: tuple[int, str] | None
    """When and by what it was cancelled; it ends when that instant is over, unless it completes within."""
    _until: int
    """The last instant at which signals count."""
    opened_at: int
    deadline: int
    at: int | None
    decided_by: str | None

    # What users call

    def result(self, timeout: float | None = None) -> Outcome:
        """The outcome, once there is one; waits for it at most `timeout` seconds, then raises `TimeoutError`."""
        wait_for(self, timeout)
        return outcome_of(self)

    def done(self) -> bool:
        return self._outcome is not None

    def explain(self) -> str:
        """A sentence: how it ended, or what it still waits for."""
        return explanation(self)

    def add_done_callback(self, callback: Callable[[Wait], object]) -> None:
        """Call `callback(wait)` when it has ended: at once, if it has."""
        add_callback(self, callback)

    def future(self) -> asyncio.Future[Outcome]:
        """The outcome as a future of the running asyncio loop."""
        return future_of(self)

    def __await__(self) -> Generator[Any, None, Outcome]:
        return await_outcome(self)

    @property
    def id(self) -> Hashable:
        return self._id

    @property
    def key(self) -> Hashable:
        """Its key, or the first of several."""
        return self._keys[0]

    @property
    def rule(self) -> str:
        """The name of its rule."""
        return self._plan.rule.name

    # What the purgatory calls

    def try_complete(self) -> bool:
        """Read the inbox; True once the condition is met."""
        while self._inbox:
            event = self._inbox.pop(0)
            if event.at <= self._until and self._reads(event):
                self._decision = (event.at, event.kind)
                return True
        return False

    def on_complete(self) -> None:
        run_callbacks(self)

    on_cancellation = on_complete

    def run(self) -> None:
        """Its deadline has passed; or the instant of its cancellation, in which it could still complete."""
        self._settle("expired" if self._cancellation is None else "cancelled")

    def _note_outcome(self) -> None:
        """When and by what it ended, in one step with the outcome."""
        noted = {"completed": self._decision, "cancelled": self._cancellation}.get(str(self._outcome))
        if noted is not None:
            self.at, self.decided_by = noted
        else:
            self.at = self.deadline if self._outcome == "expired" else self._hub.now_ms()

    # Inside

    def _reads(self, event: Event) -> bool:
        """Let the event count; True if the condition holds now."""
        if self._plan.single is not None:
            return event.kind == self._plan.single
        return self._plan.read(self, event)

    def extend(self, delay_ms: SupportsIndex) -> bool:
        """Move the deadline to `delay_ms` from now. False if it has ended, or is being cancelled."""
        delay_ms = whole_ms(delay_ms)
        return self._postpone(self._hub.now_ms() + delay_ms, delay_ms)

    def _postpone(self, deadline: int, delay_ms: int) -> bool:
        """Move the deadline; the timer comes one millisecond after it, as a signal stamped like it still counts."""
        with lock:
            if self._cancellation is not None or not super().extend(delay_ms + 1):
                return False
            self.deadline = self._until = deadline
            return True

    def _keep_alive(self, at: int, within_ms: int) -> None:
        """A sign of life moves the deadline; one of the instant of a cancellation, no more than that."""
        self.deadline = at + within_ms
        if self._cancellation is None:
            self._until = self.deadline
            super().extend(within_ms + 1)

    def _cancel_at(self, event: Event) -> None:
        """From now on only signals of this very instant count: completed goes before cancelled."""
        self._cancellation, self._until = (event.at, event.kind), event.at
        super().extend(1)

    def _hang(self, callback: Any) -> bool:
        """Add a callback; False if it is too late for that."""
        with lock:
            if self._callbacks is DONE:
                return False
            held = self._callbacks
            self._callbacks = (
                callback if held is None else [*held, callback] if type(held) is list else [held, callback]
            )
            return True

    def _take_callbacks(self) -> Any:
        with lock:
            held, self._callbacks = self._callbacks, DONE
            return held


class Signals(Watchers):
    """Watch lists that carry signals to waits."""

    _wait_type = Wait

    def __init__(self, timer: Timer, shards: int) -> None:
        super().__init__(timer, shards)
        self._epoch_ms = (timer.clock.wall_ns() - timer.clock.now_ns()) // NS_PER_MS
        self._memory: Memory | None = None
        self._limit = NO_LIMIT
        self._last_id = 0

    def now_ms(self) -> int:
        """The hub's time: milliseconds since the epoch, but running on the monotonic clock."""
        return self.timer.clock.now_ns() // NS_PER_MS + self._epoch_ms

    def wait(
        self,
        key: Hashable | list[Hashable],
        until: str | Condition | None = None,
        within: Duration | None = None,
        *,
        rule: Rule | None = None,
        id: Hashable = None,
        callback: Callable[[Wait], object] | None = None,
    ) -> Wait:
        """Wait on a key (or a list of keys) until a condition is met, at most `within`; or as a rule says.

        The wait's `result()` is its outcome, `await` works too, and `callback(wait)` is called when it has ended.
        Waiting twice with the same `id` is the same wait.
        """
        plan = self._plan(until, within, rule)
        keys = distinct(key) if isinstance(key, list) else (key,)
        if id is not None:
            return self._open_once(plan, keys, id, callback)
        self._last_id += 1
        return self._open(plan, keys, self._last_id, callback)

    def signal(self, key: Hashable, kind: str, source: Source = None, value: Number | None = None) -> int:
        """Tell every wait on the key that something of this kind has happened; return how many that completed."""
        event = Event(key, kind, self.now_ms(), source, value)  # type: ignore[arg-type]
        with lock:
            waits: list[Any] = [wait for wait in self._watching(key) if wait._plan.takes(event)]  # type: ignore[attr-defined]
            if self._memory is not None:
                self._memory.keep(event)
            for wait in waits:
                wait._inbox.append(event)
        return sum(self._check(wait) for wait in waits)

    def _open(self, plan: Plan, keys: tuple[Hashable, ...], wait_id: Hashable, callback: Any) -> Wait:
        """A wait of that plan, on those keys, from now on."""
        wait = self._wait_type()
        wait._hub, wait._plan, wait._id = self, plan, wait_id
        wait._inbox, wait._progress, wait._callbacks = [], None, callback
        wait.at = wait.decided_by = wait._decision = wait._cancellation = None
        if self._delayed >= self._limit:
            self._refuse_more()
        self._admit(wait)
        wait.opened_at = self.now_ms()
        wait.deadline = wait._until = wait.opened_at + plan.within_ms
        try:
            with lock:
                if self._memory is not None:
                    wait._inbox = self._memory.recall(keys, wait.opened_at, plan)
                self._watch(wait, keys)
            if not (wait._inbox and wait._try()):
                wait.delay_ms = wait._until - wait.opened_at + 1
                self.timer.add(wait)
        except BaseException:
            self._abandon(wait)
            raise
        if wait._outcome is not None:  # ended while it was being put in the timer
            TimerTask.cancel(wait)
        return wait

    # What the hub says for itself

    def _plan(self, until: str | Condition | None, within: Duration | None, rule: Rule | None) -> Plan:
        """The plan for these arguments."""
        raise ConfigError("this hub has no plans")

    def _open_once(self, plan: Plan, keys: tuple[Hashable, ...], wait_id: Hashable, callback: Any) -> Wait:
        """The wait of that id, or a new one."""
        return self._open(plan, keys, wait_id, callback)

    def _refuse_more(self) -> NoReturn:
        raise HubFullError("this hub is full")
