"""`AsyncHub` with a data folder: the loop never waits for the disk.

A verb takes its turn at once and returns a future of its answer; the group is written by a thread of the hub's own. On
a `ManualClock` everything happens in the calling thread.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ..clock import ManualClock
from ..hub._coroutines import Coroutines
from ..hub._ending import check_callback
from ..hub.hub import AsyncHub
from ..rules import Condition, Event, Rule
from ..rules.duration import Duration
from .acts import check_note
from .commit import Request
from .hub import DurableFace
from .outcomes import check_cursor
from .state.incidents import Incident
from .state.wait import Told, Wait

if TYPE_CHECKING:
    from ..rules.event import Number, Source

T = TypeVar("T")


class Opening:
    """A wait that is being written. `await` gives its outcome, `await opening.opened()` the wait, once it is safe."""

    def __init__(self, answer: asyncio.Future[list[Wait]]) -> None:
        self._answer = answer

    async def opened(self) -> Wait:
        (wait,) = await asyncio.shield(self._answer)
        return wait

    def __await__(self) -> Generator[Any, None, Told]:
        wait = yield from self.opened().__await__()
        return (yield from wait.__await__())


class AsyncDurableHub(DurableFace, AsyncHub):  # type: ignore[misc]
    """Waits and signals on the running asyncio loop, in a folder: `AsyncHub(name, data=folder)`.

    Verbs that write return futures: `await hub.signal(...)` is answered when it is on the disk, and is carried out
    whether anybody awaits it or not. `outcome = await hub.wait(...)` is as ever.
    """

    def __init__(self, name: str = "hub", **options: Any) -> None:
        super().__init__(name, **options)
        self._coroutines = Coroutines()
        self._writer = ThreadPoolExecutor(1, f"sojourn-log-{name}")

    async def __aenter__(self) -> Self:
        self._loop()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def close(self, *, cancel_pending: bool = False) -> builtins.list[Wait]:  # type: ignore[override]
        left = super().close(cancel_pending=cancel_pending)
        self._writer.shutdown()
        return left

    def register(self, rule: Rule) -> asyncio.Future[None]:
        return self._do(self._verbs.register(rule))

    def wait(  # type: ignore[override]
        self,
        key: str | builtins.list[str],
        until: str | Condition | None = None,
        within: Duration | None = None,
        *,
        rule: Rule | str | None = None,
        id: str | None = None,
        payload: Any = None,
        callback: Callable[[Wait], object] | None = None,
    ) -> Opening:
        if callback is not None:
            check_callback(callback)
        answer = self._do(self._verbs.wait_many([key], until, within, rule, [id], [payload]))
        if callback is not None:
            answer.add_done_callback(lambda done: hang(done, callback))
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
    ) -> asyncio.Future[builtins.list[Wait]]:
        return self._do(self._verbs.wait_many(keys, until, within, rule, ids, payloads))

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
        return self._do(self._verbs.signal_many(signals, ids, ats))

    def extend(self, wait: Wait | str, within: Duration) -> asyncio.Future[bool]:  # type: ignore[override]
        return self._do(self._verbs.extend(wait, within))

    def cancel(self, wait: Wait | str) -> asyncio.Future[bool]:  # type: ignore[override]
        return self._do(self._verbs.cancel(wait))

    def cancel_where(
        self, *, rule: str | None = None, key_prefix: str | None = None, dry_run: bool = False
    ) -> asyncio.Future[int]:
        return self._do(self._verbs.cancel_where(rule, key_prefix, dry_run))

    def shift(
        self,
        *,
        rule: str | None = None,
        key_prefix: str | None = None,
        by: Duration,
        dry_run: bool = False,
        note: str | None = None,
    ) -> asyncio.Future[int]:
        return self._do(self._verbs.shift(rule, key_prefix, by, dry_run, note))

    def stop_clock(self, rule: str, note: str | None = None) -> asyncio.Future[Incident]:
        return self._do(self._verbs.acts.stop(rule, check_note(note)))

    def resume_clock(self, rule: str, note: str | None = None) -> asyncio.Future[Incident]:
        return self._do(self._verbs.acts.resume(rule, check_note(note)))

    def undo(self, number: int, note: str | None = None) -> asyncio.Future[Incident]:
        return self._do(self._verbs.acts.undo(number, check_note(note)))

    def outcomes(self, after: int = 0, *, timeout: float | None = 0) -> AsyncIterator[Told]:
        """The outcomes after that number, in order and without gaps, for `async for`; see `Hub.outcomes`."""
        check_cursor(after)
        return self._outcomes(after, timeout)

    async def _outcomes(self, after: int, timeout: float | None) -> AsyncIterator[Told]:
        told, loop = self._engine.outcomes, asyncio.get_running_loop()
        while True:
            if told.last <= after and not (timeout != 0 and await told.arrival(loop, after, timeout)):
                return
            for outcome in await loop.run_in_executor(None, told.after, after):
                yield outcome
                after = outcome.number

    # How it waits

    def _do(self, perform: Callable[[int], T]) -> asyncio.Future[T]:
        loop = self._loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._engine.check_open()
        if isinstance(self._timer.clock, ManualClock):
            request = Request(perform)
            self._engine.committer.carry_out(request)
            _settle(answer, request)
            return answer
        request = Request(perform, settle_on(answer))
        if self._engine.committer.enqueue(request):
            self._writer.submit(self._engine.committer.lead)
        return answer

    def _loop(self) -> asyncio.AbstractEventLoop:
        assert self._coroutines is not None
        self._coroutines.loop = loop = asyncio.get_running_loop()
        return loop


def settle_on(answer: asyncio.Future[T]) -> Callable[[Request[T]], object]:
    """Give a future the answer of a request on its own loop, if that is still there."""

    def settle(request: Request[T]) -> None:
        with suppress(RuntimeError):
            answer.get_loop().call_soon_threadsafe(_settle, answer, request)

    return settle


def _settle(answer: asyncio.Future[T], request: Request[T]) -> None:
    if answer.done():
        return  # whoever asked has gone; it was carried out all the same
    try:
        answer.set_result(request.answer())
    except Exception as error:
        answer.set_exception(error)


def hang(answer: asyncio.Future[list[Any]], callback: Callable[[Any], object]) -> None:
    """Have each wait of an answer call back, once it has come."""
    if not answer.cancelled() and answer.exception() is None:
        for wait in answer.result():
            wait.add_done_callback(callback)
