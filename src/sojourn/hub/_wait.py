"""Waits and signals, in plain Python. `_core.pyx` is the same, in C.

A wait ends in one place, `_end`, whoever gets there: a signal, the timer, a canceller, the hub that closes. Whatever
leads there (reading a signal, seeing that the deadline has passed) is one step under the lock. Clocks are asked before
that step and callbacks are called after it; of code that is not ours only a key's hash and comparison run inside. So a
stamp may be a little older than the step that uses it, which the law does not mind.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from ..clock import NS_PER_MS
from ..errors import ConfigError, HubFullError
from ..purgatory._keys import distinct
from ..purgatory._operation import DelayedOperation, OutcomeName
from ..purgatory._watchers import Watchers
from ..rules import Event
from ..timer._state import whole_ms
from ..timer._timer import NO_LIMIT, Timer, TimerTask, lock
from ._ending import (
    add_callback,
    await_outcome,
    call_all,
    check_callback,
    decided_by,
    explanation,
    future_of,
    not_by_hand,
    outcome_of,
    tell_all,
    wait_for,
)

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
        "_by",
        "_callbacks",
        "_cancellation",
        "_hub",
        "_id",
        "_number",
        "_plan",
        "_progress",
        "at",
        "deadline",
        "opened_at",
    )

    _hub: Signals
    _plan: Plan
    _id: Hashable
    """None where the hub made one up: then it is the number."""
    _number: int
    _progress: Waiting | None
    _callbacks: Any
    """None, one or a list of callbacks and futures, or DONE."""
    _cancellation: tuple[int, str] | None
    """When and by what kind it was cancelled; it ends when that instant is over, unless it completes within."""
    opened_at: int
    deadline: int
    at: int | None
    _by: str | None
    """What ended it; None while it is pending, and where that can be read from its progress."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise not_by_hand()

    # What users call

    def result(self, timeout: float | None = None) -> Outcome:
        """The outcome, once there is one; waits for it at most `timeout` seconds, then raises `TimeoutError`."""
        wait_for(self, timeout)
        return self._conclude()

    def done(self) -> bool:
        return self._outcome is not None

    def cancel(self) -> bool:
        """End it as cancelled. True exactly for the caller that did; what is overdue expires instead."""
        is_cancelled = self._cancel_untold(self._hub.now_ms())
        self._tell()
        return is_cancelled

    def force_complete(self) -> bool:
        """Complete it, whatever its condition says. True exactly for the caller that did."""
        now_ms = self._hub.now_ms()
        with lock:
            is_completed = not self._is_over(now_ms) and self._end("completed", now_ms, "force_complete")
        self._tell()
        return is_completed

    def extend(self, delay_ms: SupportsIndex) -> bool:
        """Move the deadline to `delay_ms` from now, either way. False if it has ended, or is being cancelled."""
        delay_ms = whole_ms(delay_ms)
        now_ms = self._hub.now_ms()
        self._hub._check_fits(delay_ms, now_ms)
        with lock:
            is_extended = not self._is_over(now_ms) and self._cancellation is None and self._hub._has_timer()
            if is_extended:
                self._move_deadline(now_ms + delay_ms, now_ms)
        self._tell()
        return is_extended

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
        return self._number if self._id is None else self._id

    @property
    def key(self) -> Hashable:
        """Its key, or the first of several."""
        return self._keys[0]

    @property
    def rule(self) -> str:
        """The name of its rule."""
        return self._plan.rule.name

    @property
    def decided_by(self) -> str | None:
        """What ended it: the kind of a signal, "deadline", "cancel" or "force_complete"; None while it is pending."""
        return decided_by(self)

    # What the timer calls

    def run(self) -> None:
        """The timer has come: too early if the deadline has just moved, and then it comes again."""
        now_ms = self._hub.now_ms()
        with lock:
            if not self._is_over(now_ms):
                self._hub._arm(self, self._until(), now_ms)
        self._tell()

    # Inside, with the lock held

    def _until(self) -> int:
        """The last instant at which signals count."""
        return self.deadline if self._cancellation is None else self._cancellation[0]

    def _is_over(self, now_ms: int) -> bool:
        """Whether it has ended; what should have by now does so here, late or not."""
        if self._outcome is None and now_ms > self._until():
            if self._cancellation is None:
                self._end("expired", self.deadline, "deadline")
            else:
                self._end("cancelled", *self._cancellation)
        return self._outcome is not None

    def _end(self, outcome: OutcomeName, at: int, by: str | None) -> bool:
        """Leave pending for `outcome`, its keys and the timer. True only for the caller that moved it, who tells."""
        if self._outcome is not None:
            return False
        self.at, self._by = at, by  # before the outcome: who sees that may read these
        self._outcome = outcome
        if self._watchers is not None:
            self._watchers._leave(self)
        TimerTask.cancel(self)
        return True

    def _hears(self, event: Event) -> bool:
        """Let an event that its plan takes count, from the opening to the last instant; True if that completed it."""
        if event.at < self.opened_at:  # it was on its way already
            event = event._replace(at=self.opened_at)
        if self._outcome is not None or event.at > self._until():
            return False
        if self._plan.single is not None:
            return self._complete(event.at, event.kind)
        return self._plan.read(self, event)

    def _complete(self, at: int, by: str | None = None) -> bool:
        """Its condition was met then; True if that is in time."""
        return at <= self._until() and self._end("completed", at, by)

    def _keep_alive(self, at: int) -> None:
        """A sign of life moves the deadline, never back; once it is being cancelled, the timer comes all the same."""
        deadline = at + self._plan.within_ms
        if deadline > self.deadline:
            self._move_deadline(deadline, at)

    def _move_deadline(self, deadline: int, now_ms: int) -> None:
        self.deadline = deadline
        self._hub._arm(self, self._until(), now_ms)

    def _cancel_at(self, at: int, by: str) -> None:
        """From now on only signals up to this very instant count: completed goes before cancelled."""
        if self._cancellation is None or at < self._cancellation[0]:
            self._cancellation = (at, by)
            self._hub._arm(self, at, at)

    # Inside

    def _cancel_untold(self, now_ms: int) -> bool:
        with lock:
            return not self._is_over(now_ms) and self._end("cancelled", *(self._cancellation or (now_ms, "cancel")))

    def _tell(self) -> None:
        """Call what was hung on it, once it has ended, and once only. Its id is free by then."""
        if self._outcome is None or (held := self._take_callbacks()) is DONE:
            return
        if self._id is not None:
            self._hub._has_ended(self)
        if held is not None:
            call_all(self, iter(held if type(held) is list else (held,)))

    def _conclude(self) -> Outcome:
        return outcome_of(self)

    def _hang(self, callback: Any) -> bool:
        """Add a callback, or a future; False if it is too late for that."""
        with lock:
            if self._callbacks is DONE:
                return False
            if not self._hub._is_open:
                self._hub._check_process()
            held = self._callbacks
            self._callbacks = (
                callback if held is None else [*held, callback] if type(held) is list else [held, callback]
            )
            return True

    def _unhang(self, callback: Any) -> None:
        """Take a callback off again, unless it has been called."""
        with lock:
            if self._callbacks is callback:
                self._callbacks = None
            elif type(self._callbacks) is list:
                self._callbacks = [held for held in self._callbacks if held is not callback]

    def _take_callbacks(self) -> Any:
        """None, one, a list, or DONE for whoever comes second."""
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
        self._last_number = 0

    @property
    def _lock(self) -> AbstractContextManager[object]:
        """Reentrant. Held while waits read, never while they tell."""
        return lock

    def now_ms(self) -> int:
        """The hub's time: milliseconds since the epoch, but running on the monotonic clock."""
        if not self._is_open:
            self._check_process()  # here, as whatever is done with a hub or a wait begins with the time
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
        if callback is not None:
            check_callback(callback)
        plan = self._plan(until, within, rule)
        keys = distinct(key) if isinstance(key, list) else (key,)
        now_ms = self.now_ms()
        if id is not None:
            wait = self._open_once(plan, keys, id, callback, now_ms)
        else:
            wait = self._open(plan, keys, None, callback, now_ms)
        if self._memory is not None:
            self._has_recalled()
            wait._tell()  # what was recalled may have ended it
        return wait

    def signal(self, key: Hashable, kind: str, source: Source = None, value: Number | None = None) -> int:
        """Tell every wait on the key that something of this kind has happened; return how many that completed."""
        return self._spread(Event(key, kind, self.now_ms(), source, value))  # type: ignore[arg-type]

    def _spread(self, event: Event) -> int:
        """Let an event count for all who wait on its key; return how many that completed."""
        completed: list[Wait] = []
        try:
            with lock:
                waits: list[Any] = [wait for wait in self._watching(event.key) if wait._plan.takes(event)]  # type: ignore[attr-defined]
                if self._memory is not None:
                    self._memory.keep(event)
                for wait in waits:
                    if wait._hears(event):
                        completed.append(wait)
        finally:
            tell_all(iter(completed))
        return len(completed)

    def _open(self, plan: Plan, keys: tuple[Hashable, ...], wait_id: Hashable, callback: Any, now_ms: int) -> Wait:
        """A wait of that plan, on those keys, from then on. If it has ended already, the caller lets it tell."""
        self._check_fits(plan.within_ms, now_ms)
        wait = self._wait_type.__new__(self._wait_type)
        wait._hub, wait._plan, wait._id, wait._callbacks = self, plan, wait_id, callback
        wait.at = wait._by = wait._progress = wait._cancellation = None
        wait.opened_at, wait.deadline = now_ms, now_ms + plan.within_ms
        wait.delay_ms = plan.within_ms + 1
        with lock:
            if self._delayed >= self._limit:
                self._refuse_more()
            self._admit(wait)
            self._last_number += 1
            wait._number = self._last_number
            try:
                self.timer._check_open()
                recalled = [] if self._memory is None else self._memory.recall(keys, now_ms, wait)
                self._watch(wait, keys)
                if not any(wait._hears(event) for event in recalled):
                    self._arm(wait, wait._until(), now_ms)
            except BaseException:
                self._abandon(wait)
                raise
        return wait

    def _check_fits(self, delay_ms: int, now_ms: int) -> None:
        self.timer._check_fits(delay_ms, now_ms + 1 - self._epoch_ms)  # one more, as the timer comes when it is over

    def _has_timer(self) -> bool:
        """Whether the timer still comes; an error if it died."""
        return self.timer._is_open or self.timer._refuse_to_extend()

    def _arm(self, wait: Wait, until: int, now_ms: int) -> None:
        """Have the timer come when `until` is over, as a signal stamped like it still counts."""
        if self.timer._is_open:
            self.timer._add_all((wait,), (until + 1 - now_ms,), (now_ms - self._epoch_ms) * NS_PER_MS)

    # What the hub says for itself

    def _plan(self, until: str | Condition | None, within: Duration | None, rule: Rule | None) -> Plan:
        """The plan for these arguments."""
        raise ConfigError("this hub has no plans")

    def _open_once(self, plan: Plan, keys: tuple[Hashable, ...], wait_id: Hashable, callback: Any, now_ms: int) -> Wait:
        """The wait of that id, or a new one."""
        return self._open(plan, keys, wait_id, callback, now_ms)

    def _has_recalled(self) -> None:
        """Early signals have been read, or passed over."""

    def _has_ended(self, wait: Wait) -> None:
        """A wait that was given an id has ended."""

    def _refuse_more(self) -> NoReturn:
        raise HubFullError("this hub is full")
