"""What an operation is, in plain Python. `_core.pyx` is the same, in C.

An operation ends once: `_settle` is the one place where its outcome is set, and in the same step it leaves all its
keys and its timer. No lock is held while `try_complete` or a callback runs. Instead an operation knows which thread is
trying it: whoever else comes along meanwhile leaves word (`_again`) and goes on, and the thread that is at it tries
once more. So nobody waits for anybody, and an operation's own code never runs in two threads at a time.

Once more, and no longer: word that is left during that last try is a try that is owed. Whoever signals next makes it,
and should nobody come, the timer does, which is told so at once. So no signal is lost, and however many keep coming,
none of them holds a caller for longer than the tries of its own call.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Literal, Self

from ..timer._lock import lock
from ..timer._task import TimerTask
from ._failures import one_of

if TYPE_CHECKING:
    from ._watchers import Place, Watchers

OutcomeName = Literal["completed", "expired", "cancelled"]


class DelayedOperation(TimerTask):
    """Something that waits for its condition, at most `delay_ms`. Subclasses say for what, and what follows.

    `try_complete` returns whether the condition holds (or what `force_complete` returned, as in Kafka). It is called
    whenever one of the operation's keys is signalled, never in two threads at a time, and may be called in vain.
    """

    __slots__ = (
        "_again",
        "_has_told",
        "_has_waited",
        "_has_won",
        "_is_owed",
        "_keys",
        "_outcome",
        "_owner",
        "_places",
        "_watchers",
    )

    _outcome: OutcomeName | None
    _owner: int | None
    """The thread that is trying it."""
    _again: bool
    """Somebody left word: it must be tried again."""
    _is_owed: bool
    """The timer has been told to try it again, and has not come yet."""
    _has_waited: bool
    """It ended in a purgatory, so it is not watched another time."""
    _has_won: bool
    """It was ended by the thread that was trying it."""
    _has_told: bool
    _keys: tuple[Hashable, ...]
    """They stay when it leaves, for people to read."""
    _places: tuple[Place, ...]
    """Where it is listed: one for each key while it is watched, else none."""
    _watchers: Watchers | None
    """Whose it is, from the moment it is admitted until it ends or is handed back."""

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        self = super().__new__(cls)
        self._outcome = self._owner = self._watchers = None
        self._again = self._is_owed = self._has_waited = self._has_won = self._has_told = False
        self._keys = self._places = ()
        return self

    def __init__(self, delay_ms: int = 0) -> None:
        super().__init__(delay_ms)

    # What subclasses say

    def try_complete(self) -> bool:
        """Whether the condition holds now."""
        return False

    def on_complete(self) -> None:
        """It ended, by its condition or by its deadline. Runs once."""

    def on_expiration(self) -> None:
        """It ended by its deadline. Runs once, after `on_complete`."""

    def on_cancellation(self) -> None:
        """It was cancelled. Runs once, and neither of the others does."""

    # What users call

    @property
    def outcome(self) -> OutcomeName | None:
        """None while it is pending."""
        return self._outcome

    @property
    def is_completed(self) -> bool:
        """It has an outcome, whichever."""
        return self._outcome is not None

    @property
    def is_cancelled(self) -> bool:
        return self._outcome == "cancelled"

    def force_complete(self) -> bool:
        """Complete it now. True exactly for the caller that ended it.

        `on_complete` has run by then, unless another thread is trying the operation: that one runs it after its try.
        """
        return self._settle("completed")

    def cancel(self) -> bool:
        """End it as cancelled. True exactly for the caller that ended it."""
        return self._settle("cancelled")

    def run(self) -> None:
        """The deadline has come."""
        watchers = self._watchers
        try:
            self._settle("expired")
        except Exception as exception:
            if watchers is None:
                raise
            watchers._failed(self, exception)

    def __repr__(self) -> str:
        return f"<{type(self).__qualname__} {self._outcome or 'pending'} delay_ms={self.delay_ms} keys={self._keys}>"

    # Inside

    def _settle(self, outcome: OutcomeName) -> bool:
        """Leave pending for `outcome`. True only for the caller that moved it."""
        with lock:
            if self._outcome is not None:
                return False
            if self._watchers is not None and not self._watchers._is_open:
                self._watchers._check_process()
            self._outcome = outcome
            self._note_outcome()
            if self._watchers is not None:
                self._watchers._leave(self)
            super().cancel()  # out of the timer
            is_tried_elsewhere = self._owner not in (None, get_ident())
            self._has_won = self._owner == get_ident()
        if not is_tried_elsewhere:
            self._tell()
        return True  # where another thread is trying it just now, that one tells

    def _note_outcome(self) -> None:
        """What the hub's subclass writes down in the same step."""

    def _tell(self) -> None:
        """Run what follows from the outcome, once."""
        with lock:
            if self._has_told:
                return
            self._has_told = True
        if self._outcome == "cancelled":
            self.on_cancellation()
            return
        try:
            self.on_complete()
        finally:
            if self._outcome == "expired":
                self.on_expiration()

    def _try(self) -> bool:
        """Try it once, and raise what that raises. True if this call completed it."""
        watchers = self._watchers
        completed, failure = (False, None) if watchers is None else self._attempt(watchers, 1)
        if failure is not None:
            raise failure
        return completed

    def _attempt(self, watchers: Watchers, tries: int) -> tuple[bool, BaseException | None]:
        """Try it, unless somebody is at it, and again if word is left meanwhile, in at most `tries` tries.

        Whether this completed it, and what it raised. Word left during the last try stays: `_again` says so.
        """
        with lock:
            if self._watchers is not watchers:
                return False, None  # it has ended, or been handed back
            self._again = self._owner is not None
            if self._again:
                return False, None
            self._owner = get_ident()
        failures: list[BaseException | None] = []
        while True:
            failures.append(failure_of(self._try_once))
            with lock:
                if self._outcome is not None or not self._again or len(failures) == tries:
                    self._owner = None
                    completed = self._has_won and self._outcome == "completed"
                    break
                self._again = False  # somebody left word
        if self._outcome is not None and (failure := failure_of(self._tell)) is not None:
            failures.append(failure)  # somebody else ended it meanwhile: otherwise it has been told already
        return completed, one_of(failures, partial(watchers._failed, self))

    def _try_once(self) -> None:
        if self.try_complete():
            self._settle("completed")


def failure_of(act: Callable[[], object]) -> BaseException | None:
    """What it raises, if it does."""
    try:
        act()
    except BaseException as exception:
        return exception
    return None
