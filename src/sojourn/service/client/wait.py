"""A wait that a service holds: what was last heard of it, and who is to be told of its end."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from ...durable.state.wait import DONE, Told, handing
from ...hub._ending import add_callback, await_outcome, call_all, future_of, not_by_hand, plain_future
from ...rules import Outcome
from ...rules.duration import Duration

if TYPE_CHECKING:
    import asyncio

    from ...rules.outcome import Standing


class Owner(Protocol):
    """What a handle asks of its client."""

    def extend(self, wait: RemoteWait, within: Duration) -> Any: ...
    def cancel(self, wait: RemoteWait) -> Any: ...
    def explain(self, wait: RemoteWait) -> Any: ...
    def _hears(self, wait: RemoteWait) -> bool: ...
    def _look(self, wait: RemoteWait) -> None: ...
    def _missed(self) -> None: ...
    def _follow(self, wait: RemoteWait) -> None: ...
    def _await_told(self, wait: RemoteWait, timeout: float | None) -> None: ...
    def _hold(self, wait: RemoteWait, is_held: bool) -> None: ...
    def _call(self, tell: Callable[[], object]) -> None: ...
    def _failed(self, wait: Any, exception: BaseException) -> None: ...
    def _returned(self, wait: Any, returned: Any) -> None: ...


class RemoteWait:
    """One wait: pending until its condition is met, its deadline passes or it is cancelled; the service says which.

    `deadline` is the one last heard of: others may have moved it.
    """

    __slots__ = (
        "__weakref__",
        "_callbacks",
        "_is_live",
        "_owner",
        "_told",
        "deadline",
        "id",
        "keys",
        "opened_at",
        "payload",
        "rule",
        "within_ms",
    )

    _owner: Owner
    _told: Told | None
    _callbacks: Any
    _is_live: bool
    """Whether its end comes with the events: then nobody needs to ask."""
    id: str
    keys: tuple[str, ...]
    rule: str
    """The name of its rule; "wait" if it has none."""
    payload: Any
    opened_at: int
    deadline: int
    within_ms: int

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise not_by_hand()

    def __repr__(self) -> str:
        return f"<Wait {self.id!r} on {self.key!r}, {'pending' if self._told is None else self._told.outcome}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"{self!r} cannot be copied or pickled: its client knows only the one; its result() can be")

    # What users call

    @property
    def key(self) -> str:
        """Its key, or the first of several."""
        return self.keys[0]

    def done(self) -> bool:
        """Asks the service, unless its end comes with the events anyway."""
        if self._told is None and not self._owner._hears(self):
            self._owner._look(self)
        return self._told is not None

    @property
    def outcome(self) -> Standing | None:
        """completed, expired or cancelled; None while it is pending."""
        return self._told.outcome if self.done() and self._told else None

    @property
    def at(self) -> int | None:
        """When it ended; None while it is pending."""
        return self._told.at if self.done() and self._told else None

    @property
    def decided_by(self) -> str | None:
        """What ended it: the kind of a signal, "deadline" or "cancel"; None while it is pending."""
        return self._told.decided_by if self.done() and self._told else None

    def result(self, timeout: float | None = None) -> Told:
        """The outcome, once it has been told; waits for it at most `timeout` seconds, then raises `TimeoutError`."""
        if self._told is None:
            self._owner._await_told(self, timeout)
        return self._conclude()

    def cancel(self) -> Any:
        """End it as cancelled. True exactly for the caller that did; to be awaited if the client is asynchronous."""
        return self._owner.cancel(self)

    def extend(self, within: Duration) -> Any:
        """Move the deadline to `within` from now, either way. False if it has ended."""
        return self._owner.extend(self, within)

    def explain(self) -> Any:
        """A sentence: how it ended, or what it still waits for."""
        return self._owner.explain(self)

    def add_done_callback(self, callback: Callable[[RemoteWait], object]) -> None:
        """Call `callback(wait)` when it has ended: at once, if it has."""
        add_callback(cast(Any, self), cast(Any, callback))
        self._owner._follow(self)

    def future(self) -> asyncio.Future[Outcome]:
        """The outcome as a future of the running asyncio loop."""
        future = future_of(cast(Any, self))
        self._owner._follow(self)
        return future

    def __await__(self) -> Generator[Any, None, Told]:
        self._owner._follow(self)
        return cast(Generator[Any, None, Told], await_outcome(cast(Any, self)))

    # Inside

    @property
    def _waits(self) -> Owner:
        """Where `hub/_ending.py` reports what callbacks return and raise."""
        return self._owner

    def _plain_future(self) -> asyncio.Future[Outcome]:
        return plain_future(cast(Any, self))

    def _hang(self, callback: Any) -> bool:
        """Add a callback, or a future; False if it is too late for that."""
        with handing:
            held = self._callbacks
            if held is DONE:
                return False
            self._callbacks = [callback] if held is None else [*held, callback]
        self._owner._hold(self, True)
        return True

    def _unhang(self, callback: Any) -> None:
        """Take a callback off again, unless it has been called."""
        with handing:
            if self._callbacks is None or self._callbacks is DONE or callback not in self._callbacks:
                return
            left = [other for other in self._callbacks if other is not callback]
            self._callbacks = left or None
        if not left:
            self._owner._hold(self, False)

    def _end(self, told: Told) -> None:
        """From now on it has ended; whoever hangs on it is told, once."""
        with handing:
            held, self._callbacks, self._told = self._callbacks, DONE, self._told or told
        if held is not None and held is not DONE:
            self._owner._hold(self, False)
            self._owner._call(lambda: call_all(cast(Any, self), iter(held)))

    def _take_all(self) -> list[Any]:
        """Everybody who hangs on it; they are not called any more."""
        with handing:
            if self._callbacks is None or self._callbacks is DONE:
                return []
            held, self._callbacks = self._callbacks, None
            return list(held)

    def _conclude(self) -> Told:
        assert self._told is not None
        return self._told
