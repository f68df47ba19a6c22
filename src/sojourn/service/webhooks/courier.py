"""One per webhook: reads the outcomes from its cursor on, sends them in order, one at a time, and tries again what
failed. So a slow receiver holds up nobody but itself, and there are never more connections than webhooks.

A failed delivery steps aside, into the store, and the next go on; unless several have failed in a row. Then the
receiver is taken to be down: new outcomes stay in the log until something gets through, so that what is kept for it
does not grow.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from ...durable import Told
from ...errors import OutcomesGoneError
from ...timer import AsyncTimer
from .backoff import pause_ms
from .event import CONTENT_TYPE, event_body, outcome_json
from .guard import target_of
from .sender import Answer, Sends
from .signature import headers
from .store import Delivery, Store, Webhook

log = logging.getLogger("sojourn.webhooks")

DOWN_AFTER = 3
"""Failures in a row after which nothing new is tried."""
FLUSH_AFTER = 100
"""How many deliveries may be repeated after a crash."""
READ_MOST = 10_000
HISTORY = 100
TROUBLE_PAUSE_MS = 5_000
GONE = 410


class Feed(Protocol):
    """What is asked of a hub's outcomes."""

    last: int

    def after(self, number: int) -> list[Told]: ...

    async def arrival(self, loop: asyncio.AbstractEventLoop, after: int, timeout: float | None) -> bool: ...


@dataclass
class Desk:
    """What couriers share."""

    name: str
    feed: Feed
    store: Store
    timer: AsyncTimer
    now_ms: Callable[[], int]
    random: Random
    disk: Callable[..., Any]
    """Call a method of the store in the one thread that does so."""
    parked: Callable[[], object]
    """Told whenever a courier has nothing to do."""


class Courier:
    def __init__(self, hook: Webhook, desk: Desk, sender: Sends) -> None:
        self.hook, self._desk, self._sender = hook, desk, sender
        self.cursor = hook.cursor
        self.failures = 0
        """In a row."""
        self.history: deque[Delivery] = deque(maxlen=HISTORY)
        """The last ones that were delivered, since the service started."""
        self._stored = hook.cursor
        self._ahead: deque[Told] = deque()
        self._waiting: Delivery | None = None
        self._is_stale = True
        """Whether what is waiting has to be looked up."""
        self._is_parked = self._is_stopping = False
        self._pause_until = 0
        self._woken = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def is_down(self) -> bool:
        return self.failures >= DOWN_AFTER

    def is_settled(self) -> bool:
        """Whether it does nothing until time passes or something new comes."""
        return self._is_parked and not self._woken.is_set() and not self._has_work()

    def wake(self, *, is_stale: bool = False) -> None:
        self._is_stale = self._is_stale or is_stale
        self._woken.set()

    async def stop(self) -> None:
        """Stop, once the delivery under way has ended."""
        self._is_stopping = True
        self._woken.set()

    async def run(self) -> None:
        try:
            while not self._is_stopping:
                self._woken.clear()
                if not await self._worked():
                    await self._park()
        finally:
            self._sender.close()
            with suppress(Exception):  # what is not noted down is delivered again
                await asyncio.shield(self._flush())

    async def _worked(self) -> bool:
        """Do the next thing, if there is one; whatever goes wrong, the courier goes on."""
        try:
            return await self._step()
        except OutcomesGoneError as gone:
            await self._note_gap(gone)
        except Exception:
            log.exception("webhook %s: trouble of our own; goes on in %d s", self.hook.id, TROUBLE_PAUSE_MS // 1_000)
            self._pause_until = self._desk.now_ms() + TROUBLE_PAUSE_MS
            self._is_stale = True
            self._ahead.clear()
            return False
        return True

    async def _step(self) -> bool:
        if self._is_stale:
            self._is_stale = False
            self._waiting = await self._desk.disk(self._desk.store.first_waiting, self.hook.id)
        if not self._has_work():
            return False
        if self._is_due():
            assert self._waiting is not None
            await self._attempt(self._waiting)
            return True
        if (told := await self._next_outcome()) is None:
            return True  # it has read on, and found nothing for it
        await self._attempt(Delivery(told.number, "waiting", 0, None, None, None, None, outcome_json(told)))
        return True

    def _has_work(self) -> bool:
        if self.hook.disabled is not None or self._desk.now_ms() < self._pause_until:
            return False
        is_held = self.is_down and self._waiting is not None
        return self._is_stale or self._is_due() or (not is_held and self._desk.feed.last > self.cursor)

    def _is_due(self) -> bool:
        next_at = None if self._waiting is None else self._waiting.next_at
        return next_at is not None and next_at <= self._desk.now_ms()

    async def _next_outcome(self) -> Told | None:
        if not self._ahead:
            found = await self._loop.run_in_executor(None, self._desk.feed.after, self.cursor)
            self._ahead.extend(found[:READ_MOST])
        while self._ahead:
            told = self._ahead.popleft()
            if self.hook.wants(told.rule, told.outcome):
                return told
            await self._pass(told.number)
        return None

    async def _pass(self, number: int) -> None:
        """Everything up to that number is done with."""
        self.cursor = number
        if number - self._stored >= FLUSH_AFTER:
            await self._flush()

    async def _flush(self) -> None:
        if self._stored < self.cursor:
            cursor = self.cursor
            await self._desk.disk(self._desk.store.move, self.hook.id, cursor)
            self._stored = cursor

    async def _park(self) -> None:
        """Until something wakes it: an outcome, a person, or the time of the next attempt."""
        try:
            await self._flush()
        except Exception:
            log.exception("webhook %s: the cursor cannot be written", self.hook.id)
        alarm = self._alarm()
        self._is_parked = True
        self._desk.parked()
        try:
            await self._woken.wait()
        finally:
            self._is_parked = False
            if alarm is not None:
                alarm.cancel()

    def _alarm(self) -> Any:
        times = [] if self._waiting is None or self._waiting.next_at is None else [self._waiting.next_at]
        now_ms = self._desk.now_ms()
        if self._pause_until > now_ms:
            times = [self._pause_until]
        if not times or self.hook.disabled is not None:
            return None
        return self._desk.timer.schedule(max(0, times[0] - now_ms), self._wake_from_anywhere)

    def _wake_from_anywhere(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._woken.set)

    async def _attempt(self, delivery: Delivery) -> None:
        assert delivery.outcome is not None
        hook, now_ms = self.hook, self._desk.now_ms()
        body = event_body(self._desk.name, delivery.outcome)
        signed = headers(hook.secrets_at(now_ms), f"msg_{hook.id}_{delivery.number}", now_ms // 1_000, body)
        answer = await self._sender.post(target_of(hook.url), {"content-type": CONTENT_TYPE, **signed}, body)
        tried = delivery._replace(
            attempts=delivery.attempts + 1,
            last_at=self._desk.now_ms(),
            last_status=answer.status,
            last_error=answer.reason,
        )
        if answer.is_success:
            await self._note_success(tried)
        else:
            await self._note_failure(tried, answer)

    async def _note_success(self, tried: Delivery) -> None:
        self.failures = 0
        if tried.number > self.cursor:
            await self._pass(tried.number)
        else:  # it was waiting in the store
            await self._desk.disk(self._desk.store.delivered, self.hook.id, tried.number)
            self._is_stale = True
        self.history.append(tried._replace(status="delivered", next_at=None))

    async def _note_failure(self, tried: Delivery, answer: Answer) -> None:
        self.failures += 1
        pause = pause_ms(tried.attempts, self._desk.random, answer.retry_after_s * 1_000)
        if pause is None:
            log.warning("webhook %s: outcome %d is a dead letter: %s", self.hook.id, tried.number, tried.last_error)
            kept = tried._replace(status="dead", next_at=None)
        else:
            kept = tried._replace(status="waiting", next_at=self._desk.now_ms() + pause)
        await self._keep(kept, max(self.cursor, tried.number))
        if answer.status == GONE:
            self.hook.disabled = "the receiver answered 410 Gone"
            await self._desk.disk(self._desk.store.put, self.hook)

    async def _keep(self, kept: Delivery, cursor: int) -> None:
        dropped = await self._desk.disk(self._desk.store.keep, self.hook.id, kept, cursor)
        self.cursor = self._stored = cursor
        self._is_stale = True
        if dropped:
            log.error("webhook %s: %d dead letters had to go, there were too many", self.hook.id, dropped)

    async def _note_gap(self, gone: OutcomesGoneError) -> None:
        """Outcomes that left the log before they could be sent: one dead letter says so for all."""
        last = max(gone.resume_after, self.cursor + 1)
        error = f"outcomes {self.cursor + 1} to {last} were gone from the log before they could be sent"
        log.error("webhook %s: %s", self.hook.id, error)
        self._ahead.clear()
        await self._keep(Delivery(last, "dead", 0, None, self._desk.now_ms(), None, error, None), last)
