"""`Hub` and `AsyncHub` with a URL: the verbs of a durable hub, carried out by a service."""

from __future__ import annotations

import builtins
import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, Self, SupportsIndex, cast

from ..._arguments import check_name, check_on_error, not_to_be_copied
from ...durable.callbacks import Callbacks
from ...durable.hub import DurableStats
from ...durable.outcomes import check_cursor
from ...durable.sleep import Sleeper
from ...durable.state.wait import Told
from ...errors import ConfigError, PurgatoryClosedError, SojournError
from ...hub._coroutines import Coroutines
from ...hub._ending import check_callback
from ...hub.hub import Hub
from ...purgatory.purgatory import OnError, log_error
from ...rules import Condition, Event, Rule
from ...rules.duration import Duration, duration_ms
from .transport import Transport
from .verbs import POLL_MS, RemoteVerbs, check_not_everybodys
from .wait import Owner, RemoteWait

if TYPE_CHECKING:
    from ...rules.event import Number, Source


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
        self._verbs = RemoteVerbs(self._transport, cast(Owner, self))

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
        """Tell whoever waits for it why they wait in vain. Callbacks are not called, as it has not ended."""
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
            raise TimeoutError(f"{wait!r} is still pending after {timeout} s; its own deadline is another matter")


class Stranded(Sleeper):
    """A thread that waits for an outcome, and may be told that it waits in vain."""

    error: SojournError | None = None


class RemoteHub(RemoteFace, Hub):  # type: ignore[misc]
    """Waits and signals across machines: `Hub(name, url=...)`, or `sojourn.connect(url)`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def register(self, rule: Rule) -> None:
        """Make a rule known under its name. Registered again with other words, it is for the waits that follow."""
        self._verbs.register(rule)

    def wait(  # type: ignore[override]
        self,
        key: str | builtins.list[str],
        until: str | Condition | None = None,
        within: Duration | None = None,
        *,
        rule: Rule | str | None = None,
        id: str | None = None,
        payload: Any = None,
        callback: Callable[[RemoteWait], object] | None = None,
    ) -> RemoteWait:
        """Wait on a key (or a list of keys) until a condition is met, at most `within`; or as a rule says.

        The wait is on the service's disk when this returns. The same wait again, with the same `id`, is the same wait;
        another one under its id is an `IdTakenError`. `callback(wait)` is called when it has ended, if this process
        lives to see it.
        """
        if callback is not None:
            check_callback(callback)
        (wait,) = self._verbs.wait_many([key], until, within, rule, [id], [payload], is_followed=callback is not None)
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
    ) -> builtins.list[RemoteWait]:
        """A wait for each key, all under the same condition or rule, in as few requests as may be."""
        return self._verbs.wait_many(keys, until, within, rule, ids, payloads)

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

        The same `id` again counts once, and then says 0.
        """
        return self._verbs.signal_many([(key, kind, source, value)], [id], [at])

    def signal_many(
        self,
        signals: Iterable[Event | tuple[Any, ...]],
        *,
        ids: Iterable[str | None] | None = None,
        ats: Iterable[int | None] | None = None,
    ) -> int:
        """Signal each `(key, kind)`, `(key, kind, source)` or `(key, kind, source, value)`, in few requests."""
        return self._verbs.signal_many(signals, ids, ats)

    def extend(self, wait: RemoteWait | str, within: Duration) -> bool:  # type: ignore[override]
        """Move the deadline to `within` from now. False if it has ended, or there is no such wait."""
        return self._verbs.extend(wait, within)

    def cancel(self, wait: RemoteWait | str) -> bool:  # type: ignore[override]
        """End a wait as cancelled. True exactly for the caller that ended it.

        If an answer was lost, so that nobody knows who ended it, that is an `UnreachableError`.
        """
        return self._verbs.cancel(wait)

    def cancel_where(self, *, rule: str | None = None, key_prefix: str | None = None, dry_run: bool = False) -> int:
        """Cancel all waits of a rule, or on keys that start so; return how many."""
        return self._verbs.cancel_where(rule, key_prefix, dry_run)

    def shift(
        self, *, rule: str | None = None, key_prefix: str | None = None, by: Duration, dry_run: bool = False
    ) -> int:
        """Give all waits of a rule, or on keys that start so, that much more time; return how many."""
        return self._verbs.shift(rule, key_prefix, by, dry_run)

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

    def outcomes(self, after: int = 0, *, timeout: float | None = 0) -> Iterator[Told]:
        """The outcomes after that number, in order and without gaps.

        Ends when there is none for `timeout` seconds: by default with the last one there is. None waits for ever, or
        until the client is closed.
        """
        check_cursor(after)
        return self._outcomes(after, timeout)

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

    def advance(self, by: Duration) -> int:
        """Let time pass in a service under `--clock manual`; return its time then."""
        return self._verbs.advance(by)


def poll_ms(until_s: float | None) -> int:
    """How long the next question may take, in a long wait of that end."""
    return POLL_MS if until_s is None else max(0, min(POLL_MS, round((until_s - monotonic()) * 1000)))


def _fail(future: Any, error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
