"""The service: a durable hub, its settings, and the parts that live beside it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from starlette.routing import BaseRoute

from ..clock import ManualClock
from ..durable.async_hub import AsyncDurableHub
from ..errors import DiskError
from .access.door import Door
from .api.problems import Problem
from .api.shapes import Asked, histogram_shape
from .counters import Counters
from .feed import Feed
from .settings import Settings
from .turns.acts import Opened, opening, reading
from .turns.gather import Gatherer
from .turns.waits_by_rule import WaitsByRule

if TYPE_CHECKING:
    from ..durable.state.state import State
    from ..durable.verbs import Verbs
    from .insight.insight import Insight

T = TypeVar("T")

logger = logging.getLogger("sojourn.service")


class Part(Protocol):
    """Something with a life of its own, such as the delivery of webhooks: it starts when the hub is open."""

    @property
    def routes(self) -> list[BaseRoute]: ...
    async def start(self) -> None: ...
    async def stop(self) -> None: ...


class Service:
    """Opens its hub in the background, so that it can answer meanwhile; `is_ready` once it is open.

    `clock` is a ManualClock if time is moved by hand. Other parts are added to `parts` before it starts.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.door = Door(settings)
        self.parts: list[Part] = []
        self.clock: ManualClock | None = None
        self.failure: BaseException | None = None
        """Why the folder could not be opened."""
        self.draining = asyncio.Event()
        """Set when the service is about to stop: whoever waits for something goes without."""
        self.moving = asyncio.Lock()
        """Held by whoever moves a manual clock."""
        self.waits_by_rule = WaitsByRule()
        self.counters = Counters()
        self.gatherer = Gatherer(self)
        self._hub: AsyncDurableHub | None = None
        self._feed: Feed | None = None
        self._insight: Insight | None = None
        self._opening: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()

    @property
    def is_ready(self) -> bool:
        return self._ready.is_set() and not self.draining.is_set()

    @property
    def hub(self) -> AsyncDurableHub:
        if self._hub is None:
            raise self.not_ready()
        return self._hub

    @property
    def feed(self) -> Feed:
        if self._feed is None:
            raise self.not_ready()
        return self._feed

    @property
    def insight(self) -> Insight:
        if self._insight is None:
            raise self.not_ready()
        return self._insight

    def add_insight(self) -> None:
        """The part that counts and reads history; an app adds it."""
        from .insight.insight import Insight  # noqa: PLC0415  (it asks for this module)

        if self._insight is None:
            self._insight = Insight(self)
            self.parts.append(self._insight)

    def not_ready(self) -> Problem:
        why = f"the data folder cannot be opened: {self.failure}" if self.failure else "the data folder is being read"
        return Problem(503, "not ready", f"{why}; see /readyz", headers={"retry-after": "1"})

    def now_ms(self) -> int:
        return self.hub.now_ms()

    # Its life

    async def start(self) -> None:
        """Begin to open the folder; returns at once."""
        self._opening = asyncio.create_task(self._open())

    async def opened(self) -> None:
        """Return when the folder is open; raise what keeps it closed."""
        assert self._opening is not None
        await asyncio.shield(self._opening)
        if self.failure is not None:
            raise self.failure

    async def _open(self) -> None:
        began = time.perf_counter()
        try:
            with ThreadPoolExecutor(1, "sojourn-recovery") as thread:
                self._hub = hub = await asyncio.get_running_loop().run_in_executor(thread, self._make_hub)
            hub._loop()
            self._feed = Feed(hub, self.draining)
            await self._feed.start()
            for part in self.parts:
                await part.start()
        except Exception as error:
            self.failure = error
            logger.error("the data folder cannot be opened: %s", error)
            return
        self._ready.set()
        took_ms = round((time.perf_counter() - began) * 1000)
        logger.info("ready", extra={"fields": {"pending": hub.pending, "took_ms": took_ms}})

    def _make_hub(self) -> AsyncDurableHub:
        settings = self.settings
        if settings.clock == "manual":
            self.clock = ManualClock(wall_ms=time.time_ns() // 1_000_000)
        hub = AsyncDurableHub(
            settings.name,
            data=settings.data,
            sync=settings.sync,
            memory=settings.memory,
            remember=settings.remember,
            remember_ids=settings.remember_ids,
            max_pending=settings.limits.pending,
            recover_grace=settings.recover_grace,
            max_step=settings.max_step,
            keep=settings.keep,
            keep_bytes=settings.keep_bytes,
            archive=settings.archive,
            clock=self.clock,
        )
        engine = hub._engine
        with engine._lock:
            self.waits_by_rule.begin(engine.state)
            engine.outcomes.on_told = self.waits_by_rule.told
        return hub

    def drain(self) -> None:
        """From now on, requests that wait for something are answered at once."""
        self.draining.set()
        if self._feed is not None:
            self._feed.wake()

    async def stop(self) -> None:
        """Let go of the folder."""
        self.drain()
        if self._opening is not None:
            await asyncio.wait([self._opening])
        for part in reversed(self.parts):
            if self._ready.is_set():
                await part.stop()
        if self._feed is not None:
            await self._feed.stop()
        if self._hub is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._hub.close)

    # What handlers ask

    def act(self, perform: Callable[[int], T]) -> asyncio.Future[T]:
        """Have the hub do something in its turn; answered once that is on the disk."""
        return self.hub._submit(perform)

    def opening(self, asked: Sequence[Asked]) -> Callable[[int], list[Opened]]:
        """For `act`: open waits of the same condition or rule."""
        return opening(self.verbs, self.waits_by_rule, asked)

    async def read(self, at: Callable[[State], T]) -> T:
        """Look at the state as it is on the disk; even if the disk takes nothing any more."""
        hub = self.hub
        try:
            return await self.act(reading(hub._verbs, at))
        except DiskError:
            return await asyncio.get_running_loop().run_in_executor(None, hub._engine.look, at)

    async def stats(self) -> dict[str, Any]:
        """`DurableStats`, and the counts of each rule."""
        by_rule = await self.read(self.waits_by_rule.by_rule)
        loop = asyncio.get_running_loop()
        stats = (await loop.run_in_executor(None, self.hub.stats))._asdict()  # it waits for the disk, the loop must not
        overdue = stats.pop("overdue")
        return {
            **stats,
            "overdue": None if overdue is None else histogram_shape(overdue),
            "now_ms": self.now_ms(),
            "rules": by_rule,
        }

    def metrics(self) -> bytes:
        """All metrics, as Prometheus reads them."""
        from .meters import exposition  # noqa: PLC0415  (only who asks for them needs the client)

        return exposition(self)

    @property
    def verbs(self) -> Verbs:
        return self.hub._verbs
