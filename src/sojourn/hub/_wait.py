"""Waits and signals, in plain Python. `_core.pyx` is the same, in C.

A wait ends in one place, `_end`, whoever gets there: a signal, the timer, a canceller, the hub that closes. Whatever
leads there (reading a signal, noticing that the deadline has passed) is one step under the lock. Clocks are asked and
keys are compared before that step, callbacks are called after it: no code but ours runs inside. So a stamp may be a
little older than the step that uses it, which the law does not mind. What a step decides is for `_law.py` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from ..clock import NS_PER_MS
from ..errors import HubFullError, RuleError
from ..purgatory._operation import DelayedOperation, OutcomeName
from ..purgatory._watchers import Place, Watchers, place_of
from ..rules import Event
from ..timer._state import whole_ms
from ..timer._timer import NO_LIMIT, Timer, TimerTask, lock
from ._blocking import wait_for
from ._ending import (
    add_callback,
    await_outcome,
    call_all,
    decided_by,
    explanation,
    future_of,
    not_by_hand,
    outcome_of,
    plain_future,
    refuse_to_copy,
    tell_all,
)
from ._law import hear, last_instant, unmet
from ._plan import plain_event, refused

if TYPE_CHECKING:
    import asyncio

    from ..purgatory._watchers import Look as KeysLook
    from ..rules import Outcome, Waiting
    from ._ids import IdEntry, IdLook, Ids
    from ._memory import Kept, Memory
    from ._plan import Plan
    from ._table import Look
    from ._waits import WaitsFace


DONE: Any = object()
"""In place of callbacks: they have been called."""


class Wait(DelayedOperation):
    """One wait: pending until its condition is met, its deadline passes or it is cancelled."""

    __slots__ = (
        "_by",
        "_callbacks",
        "_cancelled_at",
        "_id",
        "_number",
        "_plan",
        "_progress",
        "_waits",
        "at",
        "deadline",
        "opened_at",
    )

    _waits: WaitsFace
    """The hub's, of which this is one."""
    _plan: Plan
    _id: IdEntry | None
    """The entry of the id that it was given; None where the hub made one up: then it is the number."""
    _number: int
    _progress: Waiting | None
    """The evidence for its condition, from the first signal on; none for a single signal."""
    _callbacks: Any
    """None, a callback or a future, several of these in a dict, or DONE."""
    _cancelled_at: int | None
    """When a signal cancelled it: it ends when that instant is over, unless it completes within."""
    opened_at: int
    deadline: int
    at: int | None
    _by: str | None
    """What ended it; None while it is pending, and where that can be read from its progress."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise not_by_hand()

    # What users call

    def result(self, timeout: float | None = None) -> Outcome:
        """The outcome, once there is one; waits for it at most `timeout` seconds, then raises `TimeoutError`.

        Where waiting would be for ever (in a callback on the hub's own thread, on the loop of an `AsyncHub`) it raises
        `DeadlockError`. On a `ManualClock`, waiting in the thread that made the hub moves the clock.
        """
        wait_for(self, timeout)
        return self._conclude()

    def done(self) -> bool:
        return self._outcome is not None

    def cancel(self) -> bool:
        """End it as cancelled. True exactly for the caller that did; what is overdue expires instead."""
        is_cancelled = self._cancel_untold(self._waits.now_ms())
        self._tell()
        return is_cancelled

    def force_complete(self) -> bool:
        """Complete it, whatever its condition says. True exactly for the caller that did."""
        now_ms = self._waits.now_ms()
        with lock:
            is_completed = not self._is_over(now_ms) and self._end("completed", now_ms, "force_complete")
        self._tell()
        return is_completed

    def extend(self, delay_ms: SupportsIndex) -> bool:
        """Move the deadline to `delay_ms` from now, either way. False if it has ended, or is being cancelled."""
        delay_ms = whole_ms(delay_ms)
        now_ms = self._waits.now_ms()
        self._waits._check_fits(delay_ms, now_ms)
        with lock:
            is_extended = not self._is_over(now_ms) and self._cancelled_at is None and self._waits._has_timer()
            if is_extended:
                self._extend_to(now_ms + delay_ms, now_ms)
        self._tell()
        return is_extended

    def explain(self) -> str:
        """A sentence: how it ended, or what it still waits for."""
        return explanation(self)

    def add_done_callback(self, callback: Callable[[Wait], object]) -> None:
        """Call `callback(wait)` when it has ended: at once, if it has. For an `AsyncHub` it may be `async`."""
        add_callback(self, callback)

    def future(self) -> asyncio.Future[Outcome]:
        """The outcome as a future of the running asyncio loop."""
        return future_of(self)

    def _plain_future(self) -> asyncio.Future[Outcome]:
        return plain_future(self)

    def __await__(self) -> Generator[Any, None, Outcome]:
        return await_outcome(self)

    @property
    def id(self) -> Hashable:
        return self._number if self._id is None else self._id.key

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

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        refuse_to_copy(self)

    # What the timer calls

    def run(self) -> None:
        """The timer has come: too early if the deadline has just moved, and then it comes again."""
        now_ms = self._waits.now_ms()
        with lock:
            if not self._is_over(now_ms):
                self._waits._arm(self, last_instant(self), now_ms)
        self._tell()

    # Inside, with the lock held

    def _is_over(self, now_ms: int) -> bool:
        """Whether it has ended; what should have by now does so here, late or not."""
        if self._outcome is None and now_ms > last_instant(self):
            self._end(*unmet(self))
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
        """Let an event of a kind that its plan reads count; True if that completed it."""
        return self._outcome is None and hear(self, event)

    def _complete(self, at: int) -> bool:
        """Its condition was met then, in time."""
        return self._end("completed", at, self._plan.single)

    def _extend_to(self, deadline: int, now_ms: int) -> None:
        self.deadline = deadline
        self._waits._arm(self, last_instant(self), now_ms)

    def _cancel_after(self, at: int) -> None:
        """From now on only signals up to this very instant count: completed goes before cancelled."""
        self._cancelled_at = at
        self._waits._arm(self, at, at)

    # Inside

    def _cancel_untold(self, now_ms: int) -> bool:
        with lock:
            if self._is_over(now_ms):
                return False
            return self._end("cancelled", now_ms, "cancel") if self._cancelled_at is None else self._end(*unmet(self))

    def _tell(self) -> None:
        """Call its callbacks, once it has ended, and once only. Its id is free by then."""
        if self._outcome is None or (held := self._take_callbacks()) is DONE:
            return
        if self._id is not None:
            self._waits._has_ended(self)
        if held is not None:
            call_all(self, iter(held.values() if type(held) is dict else (held,)))

    def _conclude(self) -> Outcome:
        return outcome_of(self)

    def _hang(self, callback: Any) -> bool:
        """Add a callback, or a future; False if it is too late for that."""
        with lock:
            if self._callbacks is DONE:
                return False
            if not self._waits._is_open:
                self._waits._check_process()
            held = self._callbacks
            if held is None:
                self._callbacks = callback
                return True
            if type(held) is not dict:
                held = self._callbacks = {id(held): held}
            held[object() if id(callback) in held else id(callback)] = callback  # the same one may come twice
            return True

    def _unhang(self, callback: Any) -> None:
        """Take a callback off again, unless it has been called. O(1)."""
        with lock:
            if self._callbacks is callback:
                self._callbacks = None
            elif type(self._callbacks) is dict:
                self._callbacks.pop(id(callback), None)

    def _take_callbacks(self) -> Any:
        """None, one, several, or DONE for whoever comes second."""
        with lock:
            held, self._callbacks = self._callbacks, DONE
            return held


class Signals(Watchers):
    """Watch lists that carry signals to waits."""

    _memory: Memory | None = None
    _limit = NO_LIMIT
    _ids: Ids
    _wait_type = Wait

    def __init__(self, timer: Timer, shards: int) -> None:
        super().__init__(timer, shards)
        self._epoch_ms = (timer.clock.wall_ns() - timer.clock.now_ns()) // NS_PER_MS
        self._last_number = 0

    @property
    def _lock(self) -> AbstractContextManager[object]:
        """Reentrant. Held while waits read, never while keys are compared or callbacks called."""
        return lock

    def now_ms(self) -> int:
        if not self._is_open:
            self._check_process()  # here, as whatever is done with a hub or a wait begins with the time
        return self.timer.clock.now_ns() // NS_PER_MS + self._epoch_ms

    # A signal

    def _spread(self, event: Event) -> int:
        """Let an event count for all who wait on its key; return how many that completed."""
        event = plain_event(event)
        hashed = hash(event.key)
        completed: list[Wait] = []
        try:
            while not self._try_to_spread(event, hashed, completed):
                pass  # others came or went while keys were compared
        except RuleError as refusal:
            raise refused(event, str(refusal)) from None
        finally:
            tell_all(iter(completed))
        return len(completed)

    def _try_to_spread(self, event: Event, hashed: int, completed: list[Wait]) -> bool:
        """Look for those who wait on the key, then let them hear; False if they may not be the ones any more."""
        places = self._places_at(hashed)
        place = place_of(event.key, places)
        early = None if self._memory is None else self._memory.look(event.key)
        with lock:
            if self._places_at(hashed) is not places or (early is not None and not self._remembers(early)):
                return False
            waits: list[Any] = [] if place is None else list(place.operations.values())
            waits = [wait for wait in waits if event.kind in wait._plan.kinds]
            for wait in waits:
                if (reason := wait._plan.refusal(event)) is not None:
                    raise RuleError(reason)  # before anybody has heard of it
            if self._memory is not None and early is not None:
                self._memory.keep(event, early)
            for wait in waits:
                if wait._hears(event):
                    completed.append(wait)
            return True

    def _remembers(self, *looks: Look[Kept]) -> bool:
        """Whether the memory is as it was when these keys were looked for."""
        return all(self._memory is not None and self._memory.stands(look) for look in looks)

    # A wait

    def _open(self, plan: Plan, keys: tuple[Hashable, ...], wait_id: Hashable, callback: Any, now_ms: int) -> Wait:
        """A wait of that plan, on those keys, from then on; or the one that has this id.

        If early signals have ended it, the caller lets it tell.
        """
        self._check_fits(plan.within_ms, now_ms)
        wait = self._new(plan, callback, now_ms)
        own = [Place(key) for key in keys]
        while True:
            of_id = None if wait_id is None else self._ids.look(wait_id)
            of_keys = self._look(own)
            early = [] if self._memory is None else [self._memory.look(key) for key in keys]
            with lock:
                if not self._remembers(*early) or (of_id is not None and not self._ids.stands(of_id)):
                    continue  # others came or went while keys were compared
                if of_id is not None and (known := self._ids.get(of_id, now_ms)) is not None:
                    break
                if self._begin(wait, of_id, keys, of_keys, early):
                    return wait
        if callback is not None:
            known.add_done_callback(callback)
        return known

    def _new(self, plan: Plan, callback: Any, now_ms: int) -> Wait:
        wait = self._wait_type.__new__(self._wait_type)
        wait._waits, wait._plan, wait._callbacks = self, plan, callback  # type: ignore[assignment]
        wait.at = wait._by = wait._id = wait._progress = wait._cancelled_at = None
        wait.opened_at, wait.deadline = now_ms, now_ms + plan.within_ms
        wait.delay_ms = plan.within_ms + 1
        return wait

    def _begin(
        self,
        wait: Wait,
        of_id: IdLook | None,
        keys: tuple[Hashable, ...],
        of_keys: KeysLook,
        early: list[Look[Kept]],
    ) -> bool:
        """Take it in, with the lock held, and let it hear the signals that came early.

        False if others came or went while keys were compared, or in a garbage collection since: none starts between
        the look at that and the lists.
        """
        if self._delayed >= self._limit:
            self._refuse_more()
        try:
            if of_id is not None:
                wait._id = self._ids.put(of_id, wait)
            if not self._stands(of_keys):
                self._forget_id(wait)
                return False
            self._admit(wait)
            self.timer._check_open()
            self._last_number += 1
            wait._number = self._last_number
            self._enter(wait, keys, of_keys.places, of_keys.after)
            recalled = [] if self._memory is None else self._memory.recall(early, wait.opened_at, wait)
            if not any(wait._hears(event) for event in recalled):
                self._arm(wait, last_instant(wait), wait.opened_at)
        except BaseException:
            self._forget_id(wait)
            self._abandon(wait)
            raise
        return True

    def _forget_id(self, wait: Wait) -> None:
        if wait._id is not None:
            self._ids.drop(wait._id)
            wait._id = None

    def _check_fits(self, delay_ms: int, now_ms: int) -> None:
        self.timer._check_fits(delay_ms, now_ms + 1 - self._epoch_ms)  # one more, as the timer comes when it is over

    def _has_timer(self) -> bool:
        """Whether the timer still comes; an error if it died."""
        return self.timer._is_open or self.timer._refuse_to_extend()

    def _arm(self, wait: Wait, until: int, now_ms: int) -> None:
        """Have the timer come when `until` is over, as a signal stamped like it still counts."""
        if self.timer._is_open:
            self.timer._add_all((wait,), (until + 1 - now_ms,), (now_ms - self._epoch_ms) * NS_PER_MS)
            if wait._outcome is not None:
                TimerTask.cancel(wait)  # a garbage collection in the midst of that has ended it

    # What `WaitsFace` says

    def _refuse_more(self) -> NoReturn:
        raise HubFullError("this hub is full")


class QuickVerbs:
    """The compiled build has quicker forms of `Hub.wait` and `Hub.signal` here; this one has none."""

    _waits: WaitsFace
