"""Webhooks over a durable hub on virtual time, with receivers that answer as they are told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import sojourn as sj
from sojourn.durable import DurableHub
from sojourn.service.webhooks.guard import Guard, Target
from sojourn.service.webhooks.sender import Answer
from sojourn.service.webhooks.webhooks import Webhooks
from sojourn.testing import ManualClock

WALL_MS = 1_700_000_000_000
URL = "https://example.org/hook"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OK = Answer(200)
DOWN = Answer(None, "connection refused")


class Receiver:
    """`answers` come first, then `otherwise`. `got` has what came: when, headers and body."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.otherwise = OK
        self.got: list[tuple[int, dict[str, str], dict[str, Any]]] = []
        self.bodies: list[bytes] = []
        self.is_open = asyncio.Event()
        self.is_open.set()
        self.reached = asyncio.Event()

    @property
    def numbers(self) -> list[int]:
        return [body["data"]["number"] for _, _, body in self.got]

    @property
    def times(self) -> list[int]:
        return [at for at, _, _ in self.got]


class Post:
    """A sender that needs no network."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    async def post(self, target: Target, headers: dict[str, str], body: bytes) -> Answer:
        receiver = self._scene.receiver(target.url)
        receiver.got.append((self._scene.hub.now_ms() - WALL_MS, headers, json.loads(body)))
        receiver.bodies.append(body)
        receiver.reached.set()
        await receiver.is_open.wait()
        return receiver.answers.pop(0) if receiver.answers else receiver.otherwise

    def close(self) -> None:
        pass


async def resolve_publicly(host: str, port: int) -> list[str]:
    return ["93.184.216.34"]


class Scene:
    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder, self.options = folder, options
        self.clock = ManualClock(wall_ms=WALL_MS)
        self.receivers: dict[str, Receiver] = {}

    def receiver(self, url: str = URL) -> Receiver:
        return self.receivers.setdefault(url, Receiver())

    async def open(self) -> None:
        hub = sj.Hub("orders", data=self.folder, clock=self.clock, **self.options)  # type: ignore[arg-type]
        assert isinstance(hub, DurableHub)
        self.hub = hub
        self.webhooks = Webhooks(
            "orders",
            self.folder,
            hub._engine.outcomes,
            hub.now_ms,
            self.clock,
            guard=Guard(resolve=resolve_publicly),
            make_sender=lambda guard: Post(self),
            random=Random(1),
        )
        await self.webhooks.start()

    async def close(self) -> None:
        await self.webhooks.stop()
        self.hub.close()

    async def reopen(self) -> None:
        await self.close()
        await self.open()

    async def end(self, *keys: str, rule: sj.Rule | None = None, kind: str = "paid") -> None:
        """A wait on each key, and its end; return when everything that follows has been done."""
        for key in keys:
            if rule is None:
                self.hub.wait(key, "paid", "1 h")
            else:
                self.hub.wait(key, rule=rule)
            self.hub.signal(key, kind)
        await self.webhooks.settled()

    async def advance(self, ms: int) -> None:
        """Stops at every attempt on the way, as time does."""
        target = self.clock.now_ms + ms
        while (nap := self.clock._next_nap_ns()) is not None and self.clock.now_ms + nap // 10**6 <= target:
            self.clock.advance(nap / 10**6)
            await self.turn()
        self.clock.advance(target - self.clock.now_ms)
        await self.turn()

    async def turn(self) -> None:
        """What was asked of the loop from elsewhere comes first, then what follows from it."""
        await asyncio.sleep(0)
        await self.webhooks.settled()


@asynccontextmanager
async def scene_in(folder: Path, **options: Any) -> AsyncIterator[Scene]:
    scene = Scene(folder, **options)
    await scene.open()
    try:
        yield scene
    finally:
        await scene.close()
