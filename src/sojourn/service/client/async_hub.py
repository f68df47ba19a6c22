"""`AsyncHub` with a URL: the loop never waits for the network. Requests are made by threads, some at a time."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ...durable.faces import AsyncStoredHub
from ...durable.hub import DurableStats
from ...durable.state.wait import Told
from ...errors import ConfigError
from ...hub._coroutines import Coroutines
from ...rules.duration import Duration
from .hub import RemoteFace, poll_ms
from .wait import RemoteWait

if TYPE_CHECKING:
    pass

T = TypeVar("T")

THREADS = 16


class AsyncRemoteHub(RemoteFace, AsyncStoredHub[RemoteWait]):
    """Waits and signals on the running asyncio loop, in a service: `AsyncHub(name, url=...)`.

    All verbs are awaited, those that only ask as well.
    """

    _follows_all = True  # asking again would stop the loop

    def __init__(self, name: str = "hub", **options: Any) -> None:
        super().__init__(name, **options)
        self._coroutines: Coroutines = Coroutines()
        self._threads = ThreadPoolExecutor(THREADS, f"sojourn-client-{name}")

    def close(self, *, cancel_pending: bool = False) -> builtins.list[RemoteWait]:  # type: ignore[override]
        left = super().close(cancel_pending=cancel_pending)
        self._threads.shutdown()
        return left

    def get(self, id: RemoteWait | str) -> asyncio.Future[RemoteWait | None]:  # type: ignore[override]
        return self._ask(self._followed, self._verbs.get, id)

    def list(  # type: ignore[override]
        self, key: str | None = None, *, rule: str | None = None, due_before: int | None = None
    ) -> asyncio.Future[builtins.list[RemoteWait]]:
        return self._ask(self._followed, self._verbs.pending, key, rule, due_before)

    def explain(self, id: RemoteWait | str) -> asyncio.Future[str]:  # type: ignore[override]
        return self._ask(self._verbs.explain, id)

    def stats(self) -> asyncio.Future[DurableStats]:  # type: ignore[override]
        return self._ask(self._verbs.stats)

    def now_ms(self) -> asyncio.Future[int]:  # type: ignore[override]
        return self._ask(self._verbs.now_ms)

    def advance(self, by: Duration) -> asyncio.Future[int]:
        """Let time pass in a service under `--clock manual`; return its time then."""
        return self._ask(self._verbs.advance, by)

    @property
    def pending(self) -> NoReturn:
        raise ConfigError("pending has to be asked for, and a property cannot be awaited: (await hub.stats()).pending")

    async def _outcomes(self, after: int, timeout: float | None) -> AsyncIterator[Told]:
        until_s = None if timeout is None else monotonic() + timeout
        while True:
            found = await self._ask(self._verbs.outcomes, after, poll_ms(until_s))
            for outcome in found:
                yield outcome
                after = outcome.number
            if found:
                until_s = None if timeout is None else monotonic() + timeout
            elif until_s is not None and monotonic() >= until_s:
                return

    # How it waits

    def _ask(self, ask: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        """Not `run_in_executor`: there, whoever is cancelled takes back what was asked."""
        answer: asyncio.Future[T] = self._loop().create_future()
        self._transport.check_open()
        self._threads.submit(carry_out, answer, ask, args)
        return answer

    def _followed(self, ask: Callable[..., T], *args: Any) -> T:
        """Handles that come back hear of their end: asking again would stop the loop."""
        self._verbs.events.start()
        return ask(*args)

    def _look(self, wait: RemoteWait) -> None:
        """It hears of its end with the events; if these were missed, that is being found out."""

    def _follow(self, wait: RemoteWait) -> None:
        if not self._verbs.events.is_here() and not wait._is_live and wait._told is None:
            self._threads.submit(self._follow_or_strand, wait)

    def _follow_or_strand(self, wait: RemoteWait) -> None:
        try:
            self._verbs.follow(wait)
        except Exception as error:
            self._strand(wait, error)  # type: ignore[arg-type]


def carry_out(answer: asyncio.Future[T], ask: Callable[..., T], args: tuple[Any, ...]) -> None:
    try:
        settle: Callable[[], object] = partial(answer.set_result, ask(*args))
    except Exception as error:
        settle = partial(answer.set_exception, error)
    with suppress(RuntimeError):  # its loop is closed
        answer.get_loop().call_soon_threadsafe(lambda: None if answer.done() else settle())
