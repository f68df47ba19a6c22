"""All webhooks of a service, with a start and an end; what the routes call."""

from __future__ import annotations

import asyncio
import builtins
import os
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from random import Random
from secrets import token_hex
from typing import Any, TypeVar

from ...clock import Clock
from ...errors import ConfigError, IdTakenError
from ...rules.duration import Duration, duration_ms
from ...rules.outcome import ENDED
from ...timer import AsyncTimer
from .courier import Courier, Desk, Feed
from .guard import Guard, target_of
from .sender import Sender, Sends
from .signature import key_of, new_secret
from .store import Delivery, Store, Webhook

T = TypeVar("T")

MOST_WEBHOOKS = 100
"""Each has a connection of its own."""
STOP_S = 5
"""How long what is under way may take when the service stops."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Webhooks:
    """Every outcome to whoever asked for it: at least once, each under one id, in the order of their numbers as far as
    the receiver takes them.

    `folder`   where `webhooks.sqlite` is; None keeps it in memory.
    `feed`     the outcomes of the hub.
    `now_ms`   the hub's time, by which retries are planned; `clock` is what moves it.
    `allowed`  private networks that webhooks may go to.
    """

    def __init__(
        self,
        name: str,
        folder: str | os.PathLike[str] | None,
        feed: Feed,
        now_ms: Callable[[], int],
        clock: Clock,
        *,
        allowed: Iterable[str] = (),
        guard: Guard | None = None,
        make_sender: Callable[[Guard], Sends] = Sender,
        random: Random | None = None,
    ) -> None:
        self.guard = Guard(allowed) if guard is None else guard
        self._make_sender = make_sender
        self._store = Store(folder)
        self._thread = ThreadPoolExecutor(1, "sojourn-webhooks")
        self._timer = AsyncTimer("webhooks", clock=clock)
        self._desk = Desk(
            name, feed, self._store, self._timer, now_ms, random or Random(), self._on_disk, self._note_parked
        )
        self._couriers: dict[str, Courier] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changing = asyncio.Lock()
        self._following: asyncio.Task[None] | None = None
        self._settling: list[asyncio.Future[None]] = []

    async def start(self) -> None:
        self._timer.start()
        for hook in await self._on_disk(self._store.webhooks):
            if hook.cursor > self._desk.feed.last:  # the log was restored from a backup that is older than this
                hook.cursor = self._desk.feed.last
                await self._on_disk(self._store.rewind, hook.id, hook.cursor)
            self._employ(hook)
        self._following = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        """What is under way has some seconds to end; what does not is tried again at the next start."""
        if self._following is not None:
            await cancelled(self._following)
        for courier in self._couriers.values():
            await courier.stop()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks.values(), timeout=STOP_S)
            for task in late:
                await cancelled(task)
        self._timer.close()
        await self._on_disk(self._store.close)
        self._thread.shutdown()

    async def settled(self) -> None:
        """Return when nothing is left to do before time passes or something new comes: for tests in virtual time."""
        while not all(courier.is_settled() for courier in self._couriers.values()):
            parked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._settling.append(parked)
            await parked

    # What the routes call

    def list(self) -> list[Webhook]:
        return [courier.hook for courier in self._couriers.values()]

    def get(self, id: str) -> Webhook | None:
        courier = self._couriers.get(id)
        return None if courier is None else courier.hook

    async def add(
        self,
        url: str,
        *,
        id: str | None = None,
        rule: str | None = None,
        outcomes: Iterable[str] | None = None,
        secret: str | None = None,
        after: int | None = None,
    ) -> tuple[Webhook, bool]:
        """Outcomes from now on, or after a number, to that URL; and whether it is new.

        The same again under its id is the same; another one under it is refused.
        """
        hook = self._drafted(url, id, rule, outcomes, secret, after)
        await self.guard.addresses(target_of(url))
        async with self._changing:
            if (known := self.get(hook.id)) is not None:
                check_same(known, hook)
                return known, False
            if len(self._couriers) >= MOST_WEBHOOKS:
                raise ConfigError(f"there are {MOST_WEBHOOKS} webhooks, and no more are allowed; remove one")
            await self._on_disk(self._store.put, hook)
            self._employ(hook)
        return hook, True

    async def change(self, id: str, **changes: Any) -> Webhook:
        """Another url, rule or outcomes; or `enabled`."""
        courier = self._courier(id)
        if "url" in changes:
            await self.guard.addresses(target_of(changes["url"]))
        if "rule" in changes:
            check_rule_name(changes["rule"])
        if "outcomes" in changes:
            changes["outcomes"] = endings_of(changes["outcomes"])
        if (is_enabled := changes.pop("enabled", None)) is not None:
            changes["disabled"] = None if is_enabled else "by hand"
            courier.failures = 0
        return await self._put(courier, replace(courier.hook, **changes))

    async def rotate(self, id: str, secret: str | None = None, keep_old: Duration = "1 day") -> Webhook:
        """A new secret; messages are signed with the old one as well for as long as `keep_old`."""
        courier, keep_ms = self._courier(id), duration_ms(keep_old)
        new = new_secret() if secret is None else secret
        key_of(new)
        old_until = self._desk.now_ms() + keep_ms
        return await self._put(
            courier, replace(courier.hook, secret=new, old_secret=courier.hook.secret, old_until=old_until)
        )

    async def remove(self, id: str) -> None:
        async with self._changing:
            if self._couriers.pop(id, None) is not None:
                await cancelled(self._tasks.pop(id))
                await self._on_disk(self._store.remove, id)

    async def deliveries(
        self, id: str, status: str | None = None, after: int = 0, limit: int = 100
    ) -> builtins.list[Delivery]:
        """What is waiting or dead, from the store, and the last that were delivered, in the order of their numbers."""
        found: builtins.list[Delivery] = []
        if status != "delivered":
            found = await self._on_disk(self._store.deliveries, id, status, after, limit)
        if status in (None, "delivered"):
            found += [one for one in self._courier(id).history if one.number > after]
        return sorted(found, key=lambda one: one.number)[:limit]

    async def standing(self, id: str) -> dict[str, Any]:
        """How it is doing."""
        courier = self._courier(id)
        counts = await self._on_disk(self._store.counts, id)
        behind = max(0, self._desk.feed.last - courier.cursor)
        return {"after": courier.cursor, "behind": behind, "is_down": courier.is_down, **counts}

    async def retry(self, id: str, number: int | None = None) -> int:
        """Try what is waiting or dead again now: one, or all; return how many."""
        found: int = await self._on_disk(self._store.retry, id, number, self._desk.now_ms())
        self._courier(id).wake(is_stale=True)
        return found

    # Inside

    def _courier(self, id: str) -> Courier:
        courier = self._couriers.get(id)
        if courier is None:
            raise ConfigError(f"there is no webhook {id!r}, or no longer")
        return courier

    def _drafted(
        self,
        url: str,
        id: str | None,
        rule: str | None,
        outcomes: Iterable[str] | None,
        secret: str | None,
        after: int | None,
    ) -> Webhook:
        target_of(url)
        check_rule_name(rule)
        if id is not None and (not isinstance(id, str) or not _ID.fullmatch(id)):
            raise ConfigError(f"id={id!r} is not 1 to 64 letters, digits, - and _; leave it out, and one is made")
        if secret is not None:
            key_of(secret)
        last = self._desk.feed.last
        if after is not None and (type(after) is not int or not 0 <= after <= last):
            raise ConfigError(
                f"after={after!r} is not a number from 0 to {last}, that of the last outcome; leave it out"
            )
        return Webhook(
            id or f"wh_{token_hex(8)}",
            url,
            rule,
            endings_of(outcomes),
            secret or new_secret(),
            None,
            None,
            last if after is None else after,
            self._desk.now_ms(),
            None,
        )

    async def _put(self, courier: Courier, hook: Webhook) -> Webhook:
        async with self._changing:
            await self._on_disk(self._store.put, hook)
            courier.hook = hook
            courier.wake(is_stale=True)
        return hook

    def _employ(self, hook: Webhook) -> None:
        courier = self._couriers[hook.id] = Courier(hook, self._desk, self._make_sender(self.guard))
        self._tasks[hook.id] = asyncio.create_task(courier.run())

    async def _follow(self) -> None:
        """Wake couriers when outcomes have been told, until the hub is closed."""
        loop, feed = asyncio.get_running_loop(), self._desk.feed
        last = 0
        while await feed.arrival(loop, last, None):
            last = feed.last
            for courier in self._couriers.values():
                courier.wake()

    async def _on_disk(self, call: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *args)

    def _note_parked(self) -> None:
        settling, self._settling = self._settling, []
        for parked in settling:
            if not parked.done():
                parked.set_result(None)


async def cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def check_same(known: Webhook, asked: Webhook) -> None:
    if (known.url, known.rule, known.outcomes) != (asked.url, asked.rule, asked.outcomes):
        raise IdTakenError(
            f"id={known.id!r} belongs to another webhook, to {known.url}; change that one, or use another id"
        )


def check_rule_name(rule: object) -> None:
    if rule is not None and (not isinstance(rule, str) or not rule or not is_unicode(rule)):
        raise ConfigError(f"rule={rule!r} is not the name of a rule; leave it out for all")


def is_unicode(text: str) -> bool:
    """Without half a surrogate pair, which no rule has in its name."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def endings_of(outcomes: Any) -> tuple[str, ...] | None:
    if outcomes is None:
        return None
    if not isinstance(outcomes, list | tuple) or not outcomes or any(one not in ENDED for one in outcomes):
        raise ConfigError(f"outcomes={outcomes!r} is not a list of some of {', '.join(ENDED)}; leave it out for all")
    return tuple(dict.fromkeys(outcomes))
