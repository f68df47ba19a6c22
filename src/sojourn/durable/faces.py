"""The verbs of hubs whose waits are not in memory: on the disk (`hub.py`) or in a service (`service/client`).

A face says what people type. How a verb is carried out is up to `_verbs`, and how one waits for that, to `_ask`.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from ..hub._ending import check_callback
from ..hub.hub import AsyncHub, Hub
from ..rules import Condition, Event, Rule
from ..rules.duration import Duration
from .outcomes import check_cursor
from .state.wait import Told

if TYPE_CHECKING:
    from ..hub._coroutines import Coroutines
    from ..rules.event import Number, Source

W = TypeVar("W", bound=Any)
"""The handle of a wait."""
T = TypeVar("T")


class StoredHub(Hub, Generic[W]):
    """Waits and signals across threads. A verb returns when it was carried out, and is safe."""

    _keeps_in_memory = False
    _verbs: Any

    def _ask(self, verb: Callable[..., Any], *args: Any) -> Any:
        """Carry it out and return its answer."""
        raise NotImplementedError

    def _outcomes(self, after: int, timeout: float | None) -> Iterator[Told]:
        raise NotImplementedError

    def _will_follow(self) -> None:
        """Called before a wait is asked for whose end somebody wants to be told of."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def register(self, rule: Rule) -> None:
        """Make a rule known by its name. If it replaces one of that name, pending waits keep the rule they have."""
        self._ask(self._verbs.register, rule)

    def wait(  # type: ignore[override]
        self,
        key: str | builtins.list[str],
        until: str | Condition | None = None,
        within: Duration | None = None,
        *,
        rule: Rule | str | None = None,
        id: str | None = None,
        payload: Any = None,
        callback: Callable[[W], object] | None = None,
    ) -> W:
        """Wait on a key (or a list of keys) until a condition is met, at most `within`; or as a rule says.

        The wait is on the disk when this returns. Called again with the same `id` and the same arguments it returns the
        same wait; with other arguments it raises `IdTakenError`. Without an id, each call opens a wait of its own.
        `callback(wait)` is called when the wait has ended, if this process is still running then.
        """
        if callback is not None:
            check_callback(callback)
            self._will_follow()
        wait: W
        (wait,) = self._ask(self._verbs.wait, key, until, within, rule, id, payload)
        if callback is not None:
            wait.add_done_callback(callback)
        return wait

    def wait_many(  # type: ignore[override]
        self,
        keys: Iterable[str | builtins.list[str]],
        until: str | Condition | None = None,
        within: Duration | None = None,
        *,
        rule: Rule | str | None = None,
        ids: Iterable[str | None] | None = None,
        payloads: Iterable[Any] | None = None,
    ) -> builtins.list[W]:
        """A wait for each key, all under the same condition or rule: all or none."""
        waits: builtins.list[W] = self._ask(self._verbs.wait_many, keys, until, within, rule, ids, payloads)
        return waits

    def signal(  # type: ignore[override]
        self,
        key: str,
        kind: str,
        source: Source = None,
        value: Number | None = None,
        *,
        id: str | None = None,
        at: int | None = None,
    ) -> int:
        """Tell every wait on the key that something of this kind has happened; return how many that completed.

        A signal whose `id` is known already is ignored: the answer is 0. `at` is for senders that could not deliver in
        time: while `recover_grace` lasts, a signal may bring a time before the hub was started, and counts as of that
        time. How many waits signals complete is not known before the grace ends: until then the answer is 0.
        """
        return self.signal_many([(key, kind, source, value)], ids=[id], ats=[at])

    def signal_many(
        self,
        signals: Iterable[Event | tuple[Any, ...]],
        *,
        ids: Iterable[str | None] | None = None,
        ats: Iterable[int | None] | None = None,
    ) -> int:
        """Signal each `(key, kind)`, `(key, kind, source)` or `(key, kind, source, value)`, all or none."""
        return int(self._ask(self._verbs.signal_many, signals, ids, ats))

    def extend(self, wait: W | str, within: Duration) -> bool:  # type: ignore[override]
        """Move the deadline to `within` from now. False if it has ended, or there is no such wait."""
        return bool(self._ask(self._verbs.extend, wait, within))

    def cancel(self, wait: W | str) -> bool:  # type: ignore[override]
        """End a wait as cancelled. True exactly for the caller that ended it.

        If a service's answer was lost, so that nobody knows who ended it, that is an `UnreachableError`.
        """
        return bool(self._ask(self._verbs.cancel, wait))

    def cancel_where(self, *, rule: str | None = None, key_prefix: str | None = None, dry_run: bool = False) -> int:
        """Cancel all waits of a rule, or on keys that start so; return how many. One record, however many they are."""
        return int(self._ask(self._verbs.cancel_where, rule, key_prefix, dry_run))

    def shift(
        self,
        *,
        rule: str | None = None,
        key_prefix: str | None = None,
        by: Duration,
        dry_run: bool = False,
        note: str | None = None,
    ) -> int:
        """Give all waits of a rule, or on keys that start so, that much more time; return how many. One record."""
        return int(self._ask(self._verbs.shift, rule, key_prefix, by, dry_run, note))

    def outcomes(self, after: int = 0, *, timeout: float | None = 0) -> Iterator[Told]:
        """The outcomes after that number, in order and without gaps.

        Ends when there is none for `timeout` seconds: by default with the last one there is. None waits for ever, or
        until the hub is closed.
        """
        check_cursor(after)
        return self._outcomes(after, timeout)


class Opening(Generic[W]):
    """A wait that is being written. `await` gives its outcome, `await opening.opened()` the wait, once it is safe."""

    def __init__(self, answer: asyncio.Future[list[W]]) -> None:
        self._answer = answer

    async def opened(self) -> W:
        answer = self._answer
        if not answer.done():
            told = answer.get_loop().create_future()  # of its own: others may wait for the same answer
            answer.add_done_callback(partial(_tell, told))
            await told
        (wait,) = answer.result()
        return wait

    def __await__(self) -> Generator[Any, None, Told]:
        wait = yield from self.opened().__await__()
        outcome: Told = yield from wait.__await__()
        return outcome


class AsyncStoredHub(AsyncHub, Generic[W]):
    """Waits and signals on the running asyncio loop, with the verbs of `StoredHub`.

    They return futures: `await hub.signal(...)` is answered when it is safe, and is carried out whether anybody awaits
    it or not. `outcome = await hub.wait(...)` works as in every hub.
    """

    _keeps_in_memory = False
    _verbs: Any
    _coroutines: Coroutines

    def _ask(self, verb: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """Have it carried out; the future has its answer."""
        raise NotImplementedError

    def _outcomes(self, after: int, timeout: float | None) -> AsyncIterator[Told]:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        self._loop()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def register(self, rule: Rule) -> asyncio.Future[None]:
        return self._ask(self._verbs.register, rule)

    def wait(  # type: ignore[override]
        self,
        key: str | builtins.list[str],
        until: str | Condition | None = None,
        within: Duration | None = None,
        *,
        rule: Rule | str | None = None,
        id: str | None = None,
        payload: Any = None,
        callback: Callable[[W], object] | None = None,
    ) -> Opening[W]:
        if callback is not None:
            check_callback(callback)
        answer = self._ask(self._verbs.wait, key, until, within, rule, id, payload)
        if callback is not None:
            answer.add_done_callback(lambda done: _hang(done, callback))
        return Opening(answer)

    def wait_many(  # type: ignore[override]
        self,
        keys: Iterable[str | builtins.list[str]],
        until: str | Condition | None = None,
        within: Duration | None = None,
        *,
        rule: Rule | str | None = None,
        ids: Iterable[str | None] | None = None,
        payloads: Iterable[Any] | None = None,
    ) -> asyncio.Future[builtins.list[W]]:
        return self._ask(self._verbs.wait_many, keys, until, within, rule, ids, payloads)

    def signal(  # type: ignore[override]
        self,
        key: str,
        kind: str,
        source: Source = None,
        value: Number | None = None,
        *,
        id: str | None = None,
        at: int | None = None,
    ) -> asyncio.Future[int]:
        return self.signal_many([(key, kind, source, value)], ids=[id], ats=[at])

    def signal_many(  # type: ignore[override]
        self,
        signals: Iterable[Event | tuple[Any, ...]],
        *,
        ids: Iterable[str | None] | None = None,
        ats: Iterable[int | None] | None = None,
    ) -> asyncio.Future[int]:
        return self._ask(self._verbs.signal_many, signals, ids, ats)

    def extend(self, wait: W | str, within: Duration) -> asyncio.Future[bool]:  # type: ignore[override]
        return self._ask(self._verbs.extend, wait, within)

    def cancel(self, wait: W | str) -> asyncio.Future[bool]:  # type: ignore[override]
        return self._ask(self._verbs.cancel, wait)

    def cancel_where(
        self, *, rule: str | None = None, key_prefix: str | None = None, dry_run: bool = False
    ) -> asyncio.Future[int]:
        return self._ask(self._verbs.cancel_where, rule, key_prefix, dry_run)

    def shift(
        self,
        *,
        rule: str | None = None,
        key_prefix: str | None = None,
        by: Duration,
        dry_run: bool = False,
        note: str | None = None,
    ) -> asyncio.Future[int]:
        return self._ask(self._verbs.shift, rule, key_prefix, by, dry_run, note)

    def outcomes(self, after: int = 0, *, timeout: float | None = 0) -> AsyncIterator[Told]:
        """The outcomes after that number, in order and without gaps, for `async for`; see `StoredHub.outcomes`."""
        check_cursor(after)
        return self._outcomes(after, timeout)

    def _loop(self) -> asyncio.AbstractEventLoop:
        self._coroutines.loop = loop = asyncio.get_running_loop()
        return loop


def _tell(told: asyncio.Future[None], answer: object) -> None:
    if not told.done():
        told.set_result(None)


def _hang(answer: asyncio.Future[list[Any]], callback: Callable[[Any], object]) -> None:
    """Have each wait of an answer call back, once it has come."""
    if not answer.cancelled() and answer.exception() is None:
        for wait in answer.result():
            wait.add_done_callback(callback)
