"""A wait, in plain Python. `_core.pyx` is the same, in C.

A wait ends in one place, `_end`, whoever gets there: a signal, the timer, a canceller, the hub that closes. Whatever
leads there (reading a signal, noticing that the deadline has passed) is one step under the lock. Clocks are asked and
keys are compared before that step, callbacks are called after it: no code but ours runs inside. So a stamp may be a
little older than the step that uses it, which the law does not mind. What a step decides is for `_law.py` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from ..purgatory._operation import DelayedOperation, OutcomeName
from ..rules import Event
from ..timer._lock import lock
from ..timer._state import whole_ms
from ..timer._task import TimerTask
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
)
from ._law import hear, last_instant, unmet

if TYPE_CHECKING:
    import asyncio

    from ..rules import Outcome, Waiting
    from ._ids import IdEntry
    from ._plan import WaitPlan
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
    _plan: WaitPlan
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
