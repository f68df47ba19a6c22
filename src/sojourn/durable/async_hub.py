"""`AsyncHub` with a data folder: the loop never waits for the disk.

A verb takes its turn at once and returns a future of its answer; the group is written by a thread of the hub's own. On
a `ManualClock` everything happens in the calling thread.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import groupby
from typing import Any, TypeVar

from ..clock import ManualClock
from ..hub._coroutines import Coroutines
from .acts import check_note
from .commit import Request
from .faces import AsyncStoredHub
from .hub import DurableFace
from .state.incidents import Incident
from .state.wait import Told, Wait

T = TypeVar("T")


class AsyncDurableHub(DurableFace, AsyncStoredHub[Wait]):  # type: ignore[misc]
    """Waits and signals on the running asyncio loop, in a folder: `AsyncHub(name, data=folder)`."""

    def __init__(self, name: str = "hub", **options: Any) -> None:
        super().__init__(name, **options)
        self._coroutines = Coroutines()
        self._writer = ThreadPoolExecutor(1, f"sojourn-log-{name}")

    def close(self, *, cancel_pending: bool = False) -> Sequence[Wait]:  # type: ignore[override]
        left = super().close(cancel_pending=cancel_pending)
        self._writer.shutdown()
        return left

    def stop_clock(self, rule: str, note: str | None = None) -> asyncio.Future[Incident]:
        return self._ask(self._verbs.acts.stop, rule, check_note(note))

    def resume_clock(self, rule: str, note: str | None = None) -> asyncio.Future[Incident]:
        return self._ask(self._verbs.acts.resume, rule, check_note(note))

    def undo(self, number: int, note: str | None = None) -> asyncio.Future[Incident]:
        return self._ask(self._verbs.acts.undo, number, check_note(note))

    async def _outcomes(self, after: int, timeout: float | None) -> AsyncIterator[Told]:
        told, loop = self._engine.outcomes, asyncio.get_running_loop()
        while True:
            if told.last <= after and not (timeout != 0 and await told.arrival(loop, after, timeout)):
                return
            for outcome in await loop.run_in_executor(None, told.after, after):
                yield outcome
                after = outcome.number

    # How it waits

    def _ask(self, verb: Callable[..., Callable[[int], T]], *args: Any) -> asyncio.Future[T]:
        return self._submit(verb(*args))

    def _submit(self, perform: Callable[[int], T]) -> asyncio.Future[T]:
        answer: asyncio.Future[T] = self._loop().create_future()
        self._engine.check_open()
        if isinstance(self._timer.clock, ManualClock):
            request = Request(perform)
            self._engine.committer.carry_out(request)
            _settle(answer, request)
            return answer
        if self._engine.committer.enqueue(FutureRequest(perform, answer)):
            self._writer.submit(self._engine.committer.lead)
        return answer


class FutureRequest(Request[T]):
    """One whose answer a loop waits for."""

    __slots__ = ("future",)

    def __init__(self, perform: Callable[[int], T], future: asyncio.Future[T]) -> None:
        super().__init__(perform, settle_all)
        self.future = future


def settle_all(requests: builtins.list[FutureRequest[Any]]) -> None:
    """Give futures the answers of their requests, on their own loops, if these are still there: each is told once."""
    for loop, some in groupby(requests, key=lambda request: request.future.get_loop()):
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle_each, list(some))


def _settle_each(requests: builtins.list[FutureRequest[Any]]) -> None:
    for request in requests:
        _settle(request.future, request)


def _settle(answer: asyncio.Future[T], request: Request[T]) -> None:
    if answer.done():
        return  # the caller has been cancelled; the request was carried out all the same
    try:
        answer.set_result(request.answer())
    except Exception as error:
        answer.set_exception(error)
