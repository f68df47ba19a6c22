"""A durable wait: what the state keeps of it, which the law judges, and the handle that people hold."""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from ...errors import StorageError
from ...hub._ending import add_callback, await_outcome, future_of, not_by_hand, plain_future, progress_of
from ...rules import Outcome
from ...rules.account import missing_text, words
from ...rules.duration import Duration, duration_text

if TYPE_CHECKING:
    import asyncio

    from ...hub._plan import WaitPlan
    from ...rules import Waiting
    from ...rules.outcome import Ending
    from .roster import Roster

Row = Sequence[Any]
"""An outcome as a record has it (`row_of`), or a wait as a snapshot has it (`wait_row`)."""

DONE: Any = object()
"""In place of callbacks: they have been called."""


class Told(Outcome):
    """An outcome as it was told: with its `number`, from 1 on without gaps, and the `payload` of its wait.

    `operation_id` is the id of the wait.
    """

    __slots__ = ()

    @property
    def number(self) -> int:
        return cast(int, tuple.__getitem__(self, 12))

    @property
    def payload(self) -> Any:
        return tuple.__getitem__(self, 13)

    def __repr__(self) -> str:
        return f"Told(number={self.number}, {', '.join(f'{k}={v!r}' for k, v in self._asdict().items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        """By hand: a named tuple would copy the fields of an `Outcome` only, and has more here."""
        return _told, (tuple(self),)


def _told(values: tuple[Any, ...]) -> Told:
    return tuple.__new__(Told, values)


def told_of(number: int, row: Row) -> Told:
    """The outcome in a row of a record of outcomes."""
    _, id_, rule, key, opened_at, deadline, ending, at, by, missing, seen, payload = row
    met_at = at if ending == "completed" else None
    return tuple.__new__(
        Told,
        (id_, rule, key, opened_at, deadline, ending, at, at - opened_at, met_at, by, missing, seen, number, payload),
    )


class Owner(Protocol):
    """What a handle asks of the hub that it came from."""

    def extend(self, wait: Wait, within: Duration) -> Any: ...
    def cancel(self, wait: Wait) -> Any: ...
    def explain(self, wait: Wait) -> str: ...
    def _await_told(self, wait: Wait, timeout: float | None) -> None: ...
    def _failed(self, wait: Any, exception: BaseException) -> None: ...
    def _returned(self, wait: Any, returned: Any) -> None: ...


handing = allocate_lock()
"""Held for the moment in which a callback is hung on a wait, or all are taken to be called."""


class Wait:
    """One wait: pending until its condition is met, its deadline passes or it is cancelled.

    It has ended for whoever holds it once the outcome is on the disk, and has its number.
    """

    __slots__ = (
        "__weakref__",
        "_by",
        "_callbacks",
        "_cancelled_at",
        "_due",
        "_ended_at",
        "_ending",
        "_is_told",
        "_number",
        "_plan",
        "_plan_number",
        "_progress",
        "_row",
        "_state",
        "deadline",
        "given_id",
        "keys",
        "opened_at",
        "payload",
        "seq",
        "within_ms",
    )

    _state: Roster
    _plan: WaitPlan
    _plan_number: int
    _progress: Waiting | None
    _cancelled_at: int | None
    _due: int
    """The instant under which the state expects its end."""
    _ending: Ending | None
    """How it ended, as far as the state knows: nobody is told before that is on the disk."""
    _ended_at: int
    _by: str | None
    _number: int
    _row: Row | None
    """Its outcome, as a record has it."""
    _is_told: bool
    _callbacks: Any
    seq: int
    """From 1 on, in the order of opening."""
    given_id: str | None
    keys: tuple[str, ...]
    payload: Any
    opened_at: int
    deadline: int
    within_ms: int

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise not_by_hand()

    def __repr__(self) -> str:
        return f"<Wait {self.id!r} on {self.key!r}, {self.outcome or 'pending'}>"

    # What users call

    @property
    def id(self) -> str:
        """The id that it was given, or else `#` and its number."""
        return f"#{self.seq}" if self.given_id is None else self.given_id

    @property
    def key(self) -> str:
        """Its key, or the first of several."""
        return self.keys[0]

    @property
    def rule(self) -> str:
        """The name of its rule."""
        return self._plan.rule.name

    def done(self) -> bool:
        return self._is_told

    @property
    def outcome(self) -> Ending | None:
        """completed, expired or cancelled; None while it is pending."""
        return self._ending if self._is_told else None

    @property
    def at(self) -> int | None:
        """When it ended; None while it is pending."""
        return self._ended_at if self._is_told else None

    @property
    def decided_by(self) -> str | None:
        """What ended it: the kind of a signal, "deadline" or "cancel"; None while it is pending."""
        return self._conclude().decided_by if self._is_told else None

    def result(self, timeout: float | None = None) -> Told:
        """The outcome, once it has been told; waits for it at most `timeout` seconds, then raises `TimeoutError`."""
        if not self._is_told:
            self._owner._await_told(self, timeout)
        return self._conclude()

    def cancel(self) -> Any:
        """End it as cancelled. True exactly for the caller that did; to be awaited if the hub is an `AsyncHub`."""
        return self._owner.cancel(self)

    def extend(self, within: Duration) -> Any:
        """Move the deadline to `within` from now, either way. False if it has ended, or is being cancelled."""
        return self._owner.extend(self, within)

    def explain(self) -> str:
        """A sentence: how it ended, or what it still waits for."""
        return self._conclude().explain() if self._is_told else self._owner.explain(self)

    def add_done_callback(self, callback: Callable[[Wait], object]) -> None:
        """Call `callback(wait)` when it has ended: at once, if it has. It lives as long as the process does."""
        add_callback(cast(Any, self), cast(Any, callback))

    def future(self) -> asyncio.Future[Outcome]:
        """The outcome as a future of the running asyncio loop."""
        return future_of(cast(Any, self))

    def _plain_future(self) -> asyncio.Future[Outcome]:
        return plain_future(cast(Any, self))

    def __await__(self) -> Generator[Any, None, Told]:
        return cast(Generator[Any, None, Told], await_outcome(cast(Any, self)))

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"{self!r} cannot be copied or pickled: its hub knows only the one; its result() can be")

    # What the law asks: see `hub/_law.py`

    def _complete(self, at: int) -> bool:
        self._state.end(self, "completed", at, self._plan.single)
        return True

    def _extend_to(self, deadline: int, now_ms: int) -> None:
        self.deadline = deadline
        self._state.expect_end(self)

    def _cancel_after(self, at: int) -> None:
        self._cancelled_at = at
        self._state.expect_end(self)

    # Inside

    @property
    def _owner(self) -> Owner:
        owner = self._state.owner
        if owner is None:
            raise StorageError(f"{self!r} was read from a folder and is only to be looked at; ask the hub that owns it")
        return owner

    @property
    def _waits(self) -> Owner:
        """Where `hub/_ending.py` reports what callbacks return and raise."""
        return self._owner

    def _hang(self, callback: Any) -> bool:
        """Add a callback, or a future; False if it is too late for that."""
        with handing:
            held = self._callbacks
            if held is DONE:
                return False
            if held is None:
                self._callbacks = callback
            elif type(held) is list:
                held.append(callback)
            else:
                self._callbacks = [held, callback]
            return True

    def _unhang(self, callback: Any) -> None:
        """Take a callback off again, unless it has been called."""
        with handing:
            held = self._callbacks
            if held is callback:
                self._callbacks = None
            elif type(held) is list and callback in held:
                held.remove(callback)

    def _conclude(self) -> Told:
        assert self._row is not None
        return told_of(self._number, self._row)


def row_of(wait: Wait) -> Row:
    """The outcome of a wait that has ended, as a record has it: complete, so that a reader needs nothing else.

    A tuple of texts and numbers: lists, while a herd is told, would have the garbage collector look at all waits.
    """
    plan, ending, by, seq, given_id = wait._plan, wait._ending, wait._by, wait.seq, wait.given_id
    assert ending is not None
    if by is None:  # as the law has it: of signals at the same instant, the one that the rule names first
        assert wait._progress is not None
        by = wait._progress.decided_by("completed")
    if plan.single is None:
        missing, seen = words(plan.rule, ending, plan.within_ms, progress_of(cast(Any, Ended(wait))))
    else:
        _, missing, seen = plan.texts[ending, by]
    return (
        seq,
        f"#{seq}" if given_id is None else given_id,
        plan.rule.name,
        wait.keys[0],
        wait.opened_at,
        wait.deadline,
        ending,
        wait._ended_at,
        by,
        missing,
        seen,
        wait.payload,
    )


class Ended:
    """A wait as `progress_of` sees it: ended, told or not."""

    def __init__(self, wait: Wait) -> None:
        self.deadline, self._progress = wait.deadline, wait._progress
        self.at = None if wait._ending is None else wait._ended_at


def publish(told: Iterable[Wait]) -> list[tuple[Wait, Any]]:
    """From now on these have ended, for everybody; return those that have callbacks, with them, to be called once."""
    calls = []
    with handing:
        for wait in told:
            held, wait._callbacks, wait._is_told = wait._callbacks, DONE, True
            if held is not None and held is not DONE:
                calls.append((wait, held))
    return calls


def explanation(wait: Wait, now_ms: int) -> str:
    left = duration_text(max(0, wait.deadline - now_ms))
    missing = missing_text(wait._plan.rule.until, progress_of(cast(Any, Ended(wait))))
    return f"pending, {left} left: missing {missing}"
