"""`Purgatory`: watch lists with a name, a timer, an error handler and an end, over either build."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Self, SupportsIndex

from .._arguments import MOST_SHARDS, check_name, check_on_error, check_timer, check_whole, not_to_be_copied
from ..errors import PurgatoryClosedError
from ..timer import AsyncTimer, SystemTimer, Timer, _fork
from ._build import DelayedOperation, Watchers

if TYPE_CHECKING:
    from ._watchers import Watchers as Lists
else:
    Lists = object  # mixed in below, so that tests can put the same face on either build

OnError = Callable[[DelayedOperation, BaseException], object]


class PurgatoryStats(NamedTuple):
    """A frozen snapshot."""

    watched: int
    """Entries on watch lists: operations, counted once for each key."""
    delayed: int
    """Operations pending."""
    completed: int
    expired: int
    cancelled: int


def log_error(operation: DelayedOperation, exception: BaseException) -> None:
    """The default `on_error`: the `sojourn.purgatory` logger."""
    import logging  # noqa: PLC0415  (only a program that fails pays for it)

    logger = logging.getLogger("sojourn.purgatory")
    logger.error("%r failed", operation, exc_info=exception, extra={"operation": operation})


class PurgatoryFace(Lists):
    _timer_type: Callable[[str], SystemTimer] = SystemTimer
    _noun = "purgatory"
    _parent_pid: int | None = None
    """In a forked child, the process in which all this waits."""

    def __init__(
        self,
        name: str = "purgatory",
        *,
        timer: Timer | None = None,
        timer_enabled: bool = True,
        shards: int = 512,
        on_error: OnError = log_error,
    ) -> None:
        check_name(name)
        check_whole("shards", shards, 1, MOST_SHARDS)
        check_on_error(on_error)
        if timer is not None:
            check_timer(timer, self._timer_kind)
        self.name = name
        self._on_error = on_error
        self._own_timer: SystemTimer | AsyncTimer | None = None
        if timer is None:
            timer = self._own_timer = type(self)._timer_type(name).start()
        super().__init__(timer, shards)
        self._is_untimed = not timer_enabled
        _fork.resting_on_timers.add(self)

    def __repr__(self) -> str:
        return f"<Purgatory {self.name!r} {self._state()}, {self.delayed} delayed>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise not_to_be_copied(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def stats(self) -> PurgatoryStats:
        return PurgatoryStats(self.watched, self.delayed, *self._ended_counts())

    def close(self, *, cancel_pending: bool = False) -> list[DelayedOperation]:
        """Stop, and hand back what is pending; or end it as cancelled, and return what that ended. Twice is once.

        A timer that was shared goes on; one of the purgatory's own is closed. In a forked child this does nothing: what
        is pending is the parent's.
        """
        if self._parent_pid is not None:
            return []
        self._is_open = False
        if cancel_pending:
            left = [operation for operation in self._pending() if self._cancel(operation)]
        else:
            left = self._take_all()
        if self._own_timer is not None:
            self._own_timer.close()
        return left

    def _pending(self) -> list[DelayedOperation]:
        """Every operation that watches a key, each once."""
        self._check_process()
        return list({id(operation): operation for operation in self._entries()}.values())

    def _state(self) -> str:
        if self._parent_pid is not None:
            return f"left in process {self._parent_pid}, which forked this one"
        return "open" if self._is_open else "closed"

    def _leave_behind(self, parent_pid: int) -> None:
        """This is a forked child now. If nothing drives the timer here, nothing waits here either."""
        if self._is_open and getattr(self.timer, "_parent_pid", None) is not None:
            self._parent_pid = parent_pid
            self._is_open = False

    def _check_process(self) -> None:
        if self._parent_pid is not None:
            _fork.refuse_in_child(f"{self._noun} {self.name!r}", self._parent_pid)

    def _failed(self, operation: DelayedOperation, exception: BaseException) -> None:
        try:
            self._on_error(operation, exception)
        except BaseException as broken:
            log_error(operation, exception)
            if not isinstance(broken, Exception):
                raise
            log_error(operation, broken)

    def _refuse(self) -> NoReturn:
        self._check_process()
        raise PurgatoryClosedError(f"purgatory {self.name!r} is closed and would never end this; make a new one")


class Purgatory(PurgatoryFace, Watchers):
    """Holds operations until they complete, expire or are cancelled, each exactly once.

    Without a `timer` it has one of its own, with a reaper thread. What an operation's code raises goes to `on_error`,
    unless there is a caller to hear of it: of `try_complete_else_watch`, `force_complete` or `cancel`.

    With `timer_enabled=False` operations have no deadline, whatever their `delay_ms`: they complete or are cancelled.

    The rule for callers: `check_and_complete` runs the operations' own code in the caller's thread. Do not call it
    while holding a lock that this code needs; collect the keys, let go of the lock, then check them. No lock of the
    purgatory is held meanwhile, so it adds no deadlock of its own.

    What is pending is held here, where the garbage collector does not look: close a purgatory that you are done with.
    """
