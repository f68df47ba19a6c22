"""A service with a little life in it: a week of the demo's requests, and then more of them as time passes.

    python -m sojourn.service.demo build/serve          (the same: make serve)

Requests go to the services of `sojourn demo` and wait for a reply; orders wait until they are paid and packed; and now
and then a herd of waits is let in that all fall due at once. Everything is drawn from one seed, and happens on a real
hub: the past in virtual time, before the service starts.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from starlette.routing import BaseRoute

from ..clock import ManualClock
from ..demo.world import GIVEN_UP, SERVICES, UNANSWERED
from ..durable.async_hub import AsyncDurableHub
from ..durable.hub import DurableHub
from ..rules import Rule, all_of, seen
from .demo_receiver import Receiver
from .server import Server, address_of, listen, make_service
from .service import Service
from .settings import Settings
from .webhooks.part import WebhooksPart

WEEK_MS = 7 * 86_400_000
PAST_EVERY_MS, LIVE_EVERY_MS = 60_000, 120
"""Between two requests, on average: in the past, and now."""
HERD, HERD_EVERY_MS, HERD_WITHIN_MS = 4_000, 480_000, 1_500_000
SLICE_S = 0.05
TYPICAL_MS = dict(zip(SERVICES, (9_000, 20_000, 240_000, 70_000, 1_200), strict=True))
"""How long each service takes to reply, in the middle."""
ALLOWED = dict(zip(SERVICES, ("45 s", "2 min", "15 min", "5 min", "5 s"), strict=True))

RULES = (
    *(Rule(f"{name}-replies", opens=f"ask-{name}", until="reply", within=ALLOWED[name]) for name in SERVICES),
    Rule("order-shipped", opens="order", until=all_of("paid", "packed"), within="30 min", cancels="void"),
    Rule("copies-kept", opens="write", until=seen("ack", times=3, distinct="source"), within="20 s"),
    Rule("invitation-answered", opens="invitation", until="answer", within=HERD_WITHIN_MS),
)


class Signal(NamedTuple):
    key: str
    kind: str
    source: str | None = None


class Opening(NamedTuple):
    key: str
    rule: str
    id: str
    payload: dict[str, Any]


Step = Signal | Opening


class Traffic:
    """What happens when, drawn from a seed: `until` gives the steps up to a time, in order."""

    def __init__(self, seed: int, start_ms: int, every_ms: int, first: int = 1) -> None:
        self._random = random.Random(seed)
        self._every_ms = every_ms
        self._next_ms = start_ms
        self._steps: list[tuple[int, int, Step]] = []
        self._order = count()
        self.number = first
        """Of the next request."""

    def until(self, now_ms: int) -> list[tuple[int, Step]]:
        while self._next_ms <= now_ms:
            self._ask(self._next_ms)
            self._next_ms += 1 + int(self._random.expovariate(1 / self._every_ms))
        found = []
        while self._steps and self._steps[0][0] <= now_ms:
            at, _, step = heappop(self._steps)
            found.append((at, step))
        return found

    def _at(self, ms: float, step: Step) -> None:
        heappush(self._steps, (int(ms), next(self._order), step))

    def _ask(self, at: int) -> None:
        kind, number = self._random.random(), self.number
        self.number += 1
        if kind < 0.3:
            self._order_something(at, number)
        elif kind < 0.4:
            self._write(at, number)
        else:
            self._request(at, number, self._random.choice(SERVICES))

    def _request(self, at: int, number: int, service: str) -> None:
        key, fate = f"{service}-{number}", self._random.random()
        self._at(at, Opening(key, f"{service}-replies", f"req-{number}", {"service": service, "try": 1}))
        if fate >= UNANSWERED:
            self._at(at + self._random.lognormvariate(0, 0.75) * TYPICAL_MS[service], Signal(key, "reply", service))

    def _order_something(self, at: int, number: int) -> None:
        draw, key = self._random, f"order-{number}"
        about = {
            "mail": f"customer{number % 997}@example.org",
            "items": 1 + number % 5,
            "total": round(9 + 300 * draw.random(), 2),
        }
        self._at(at, Opening(key, "order-shipped", key, about))
        if draw.random() < GIVEN_UP:
            self._at(at + 600_000 * draw.random(), Signal(key, "void", "shop"))
        self._at(at + draw.lognormvariate(0, 0.8) * 300_000, Signal(key, "paid", "payments"))
        if draw.random() > UNANSWERED:
            self._at(at + draw.lognormvariate(0, 0.7) * 700_000, Signal(key, "packed", "stock"))

    def _write(self, at: int, number: int) -> None:
        key = f"record-{number}"
        self._at(at, Opening(key, "copies-kept", f"write-{number}", {"size": self._random.randrange(100, 9_000)}))
        for replica in range(1, 4):
            if self._random.random() > 0.03:
                self._at(at + self._random.expovariate(1 / 2_500), Signal(key, "ack", f"replica-{replica}"))


def make_past(data: str, now_ms: int, seed: int) -> int:
    """A week of requests, up to now, in a folder; returns how many there were."""
    clock = ManualClock(wall_ms=now_ms - WEEK_MS)
    traffic = Traffic(seed, now_ms - WEEK_MS, PAST_EVERY_MS)
    with DurableHub("demo", data=data, sync="os", clock=clock) as hub:
        for rule in RULES:
            hub.register(rule)
        for at, step in traffic.until(now_ms):
            clock.advance(max(0, at - hub.now_ms()))
            if isinstance(step, Opening):
                hub.wait(step.key, rule=step.rule, id=step.id, payload=step.payload)
            else:
                hub.signal(step.key, step.kind, step.source)
        clock.advance(max(0, now_ms - 1_000 - hub.now_ms()))
    return traffic.number


class Life:
    """A part of the service: it opens waits and sends signals, as time passes."""

    def __init__(self, service: Service, webhooks: WebhooksPart, seed: int) -> None:
        self._service, self._webhooks, self._seed = service, webhooks, seed
        self._receiver = Receiver(seed)
        self._living: asyncio.Task[None] | None = None

    @property
    def routes(self) -> list[BaseRoute]:
        return []

    async def start(self) -> None:
        await self._tell(await self._receiver.start())
        self._living = asyncio.create_task(self._live())

    async def stop(self) -> None:
        if self._living is not None:
            self._living.cancel()
            await asyncio.wait([self._living])
        await self._receiver.stop()

    async def _tell(self, url: str) -> None:
        webhooks = self._webhooks.webhooks
        if webhooks.get("demo") is None:
            await webhooks.add(url, id="demo", rule="order-shipped")
        else:
            await webhooks.change("demo", url=url)

    async def _live(self) -> None:
        hub, began = self._service.hub, self._service.now_ms()
        traffic = Traffic(self._seed, began, LIVE_EVERY_MS, first=began // 1_000 % 10_000_000)
        herd_at = began + 2_000
        with suppress(asyncio.CancelledError):
            while not self._service.draining.is_set():
                now = self._service.now_ms()
                await self._do(hub, [step for _, step in traffic.until(now)])
                if now >= herd_at:
                    herd_at += HERD_EVERY_MS
                    await self._let_in_herd(hub, now)
                await asyncio.sleep(SLICE_S)

    async def _do(self, hub: AsyncDurableHub, steps: list[Step]) -> None:
        answers: list[asyncio.Future[Any]] = []
        for step in steps:
            if isinstance(step, Opening):
                opening = [step.key], None, None
                answers.append(hub.wait_many(*opening, rule=step.rule, ids=[step.id], payloads=[step.payload]))
            else:
                answers.append(hub.signal(step.key, step.kind, step.source))
        await asyncio.gather(*answers, return_exceptions=True)

    async def _let_in_herd(self, hub: AsyncDurableHub, now: int) -> None:
        keys = [f"guest-{now // 1_000}-{i}" for i in range(HERD)]
        await hub.wait_many(keys, rule="invitation-answered")


async def serve_with_life(settings: Settings, seed: int = 7) -> None:
    """Until SIGTERM or SIGINT."""
    service = make_service(settings)
    webhooks = next(part for part in service.parts if isinstance(part, WebhooksPart))
    service.parts.append(Life(service, webhooks, seed))
    server = Server(service)
    with listen(settings) as listening:
        print(f"look at {address_of(settings, listening)}/ui", flush=True)
        await server.serve([listening])


def main(data: str, port: str = "7420") -> None:
    if not Path(data, "log-00000001.sj").exists():
        print("making up a week of requests ...", flush=True)
        number = make_past(data, time.time_ns() // 1_000_000, 7)
        print(f"{number:,} of them", flush=True)
    asyncio.run(serve_with_life(Settings(data=data, port=int(port), sync="os", webhooks_to=("127.0.0.1/32",))))


if __name__ == "__main__":
    main(*sys.argv[1:])
