"""`Hub` and `AsyncHub` with a URL: the verbs of a durable hub, carried out by a service."""

from __future__ import annotations

import builtins
import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import monotonic
from typing import Any, NoReturn, SupportsIndex, cast

from ..._arguments import check_name, check_on_error, not_to_be_copied
from ...durable.callbacks import Callbacks
from ...durable.faces import StoredHub, T
from ...durable.hub import DurableStats
from ...durable.sleep import Sleeper
from ...durable.state.wait import Told
from ...errors import ConfigError, PurgatoryClosedError, SojournError
from ...hub._coroutines import Coroutines
from ...purgatory.purgatory import OnError, log_error
from ...rules.duration import Duration, duration_ms
from .transport import Transport
from .verbs import POLL_MS, RemoteVerbs, check_not_everybodys
from .wait import Owner, RemoteWait


class RemoteFace(Callbacks):
    """What both clients have in common.

    `url`          where the service is, as in "http://127.0.0.1:7420".
    `token`        what it asks for, if it does.
    `timeout`      how long one answer may take.
    `retry`        how long a request is repeated while the service is away or busy. Everything has an id, so that
                   saying it twice is saying it once; `shift`, `cancel_where` and `advance`, which have none, are
                   repeated only if they cannot have arrived.
    `ssl_context`  for https, if the system's certificates will not do.
    `on_error`     told the wait and what one of its callbacks raised.

    Keys and ids are texts, payloads JSON up to 64 KiB. A wait without an id gets one here. Callbacks, `result()` and
    futures need the stream of outcomes, which all of a client share; it begins with the first of them.
    """

    name: str
    _follows_all = False

    def __init__(
        self,
        name: str = "hub",
        *,
        url: str,
        token: str | None = None,
        timeout: Duration = "10s",
        retry: Duration = "30s",
        ssl_context: ssl.SSLContext | None = None,
        on_error: OnError = log_error,
    ) -> None:
        check_name(name)
        check_on_error(on_error)
        self.name = name
        self._on_error = on_error
        self._coroutines: Coroutines | None = None
        self._transport = Transport(
            url,
            token,
            timeout_s=duration_ms(timeout) / 1000,
            retry_s=duration_ms(retry) / 1000,
            ssl_context=ssl_context,
        )
        self._verbs = RemoteVerbs(self._transport, cast(Owner, self), follows_all=self._follows_all)

    def __repr__(self) -> str:
        is_open = "closed" if self._transport.closing.is_set() else "open"
        return f"<{type(self).__name__} {self.name!r} {is_open}, at {self._transport.wire.url}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise not_to_be_copied(self)

    @property
    def timer(self) -> NoReturn:
        raise ConfigError(f"{self!r} has no timer of its own: the service has it")

    def close(self, *, cancel_pending: bool = False) -> builtins.list[RemoteWait]:
        """Stop. The waits stay in the service; whoever waits for one of them here is told so, with an error.

        Returns those that somebody waited for.
        """
        check_not_everybodys(cancel_pending)
        self._transport.close()
        self._verbs.events.join()
        left = self._verbs.known.held()
        for wait in left:
            self._strand(wait, PurgatoryClosedError(f"the client was closed; {wait!r} goes on in the service"))
        return left

    # What waits and events ask

    def _hears(self, wait: RemoteWait) -> bool:
        """Whether its end comes with the events; not in a forked child, nor when these have ended."""
        return wait._is_live and self._verbs.events.is_following

    def _look(self, wait: RemoteWait) -> None:
        self._verbs.get(wait)

    def _follow(self, wait: RemoteWait) -> None:
        self._verbs.follow(wait)

    def _hold(self, wait: RemoteWait, is_held: bool) -> None:
        self._verbs.known.hold(wait, is_held)

    def _missed(self) -> None:
        """Events were missed, or come no more: whoever waits is told what became of it, or why nobody knows."""
        held, failure = self._verbs.known.forget_liveness(), self._verbs.events.failure
        for wait in held:
            try:
                if failure is not None:
                    raise failure
                self._verbs.follow(wait)
            except SojournError as error:
                self._strand(wait, error)

    def _strand(self, wait: RemoteWait, error: SojournError) -> None:
        """Tell those who wait for it that they will not hear of its end. Callbacks are not called: it has not ended."""
        for one in wait._take_all():
            if isinstance(one, Stranded):
                one.error = error
                one(wait)  # type: ignore[arg-type]
            elif not callable(one):
                with suppress(RuntimeError):  # its loop is closed
                    one.get_loop().call_soon_threadsafe(_fail, one, error)
        self._hold(wait, False)

    def _await_told(self, wait: RemoteWait, timeout: float | None) -> None:
        self._transport.check_open()
        self._follow(wait)
        sleeper = Stranded()
        if wait._hang(sleeper):
            sleeper.sleep(timeout)
            wait._unhang(sleeper)
        if sleeper.error is not None:
            raise sleeper.error
        if wait._told is None:
            raise TimeoutError(f"{wait!r} is still pending after {timeout} s: only result() gives up, the wait goes on")


class Stranded(Sleeper):
    """A thread that waits for an outcome, and may be told that it will not hear of it."""

    error: SojournError | None = None


class RemoteHub(RemoteFace, StoredHub[RemoteWait]):  # type: ignore[misc]
    """Waits and signals across machines: `Hub(name, url=...)`, or `sojourn.connect(url)`."""

    def get(self, id: RemoteWait | str) -> RemoteWait | None:  # type: ignore[override]
        """The wait of that id, pending or, while its id is remembered, ended; None if there is none."""
        return self._verbs.get(id)

    def list(  # type: ignore[override]
        self, key: str | None = None, *, rule: str | None = None, due_before: int | None = None
    ) -> builtins.list[RemoteWait]:
        """The pending waits, soonest deadline first: on a key, of a rule, due before a time (epoch milliseconds)."""
        return self._verbs.pending(key, rule, due_before)

    def explain(self, id: RemoteWait | str) -> str:  # type: ignore[override]
        """A sentence: how the wait ended, or what it still waits for."""
        return self._verbs.explain(id)

    @property
    def pending(self) -> int:
        """How many waits are pending, of all clients."""
        return self._verbs.stats().pending

    def now_ms(self) -> int:
        """The service's time."""
        return self._verbs.now_ms()

    def stats(self) -> DurableStats:  # type: ignore[override]
        return self._verbs.stats()

    def _outcomes(self, after: int, timeout: float | None) -> Iterator[Told]:
        until_s = None if timeout is None else monotonic() + timeout
        while True:
            found = self._verbs.outcomes(after, poll_ms(until_s))
            for outcome in found:
                yield outcome
                after = outcome.number
            if found:
                until_s = None if timeout is None else monotonic() + timeout
            elif until_s is not None and monotonic() >= until_s:
                return

    def _ask(self, verb: Callable[..., T], *args: Any) -> T:
        return verb(*args)

    def _will_follow(self) -> None:
        self._verbs.events.start()

    def advance(self, by: Duration) -> int:
        """Let time pass in a service under `--clock manual`; return its time then."""
        return self._verbs.advance(by)


def poll_ms(until_s: float | None) -> int:
    """How long the next question may take, in a long wait of that end."""
    return POLL_MS if until_s is None else max(0, min(POLL_MS, round((until_s - monotonic()) * 1000)))


def _fail(future: Any, error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
