"""A real server in a thread, for a real browser: in virtual time, unless a test says otherwise."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from sojourn.service.server import Server, address_of, listen
from sojourn.service.service import Service
from sojourn.service.settings import Settings
from sojourn.service.webhooks.part import WebhooksPart


class Running:
    """`ask` is how a test does what a program would."""

    def __init__(self, address: str, token: str | None = None) -> None:
        self.address, self.token = address, token

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}{path}", data, method=method)
        if self.token is not None:
            request.add_header("authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request) as response:
                return json.loads(response.read() or b"{}")
        except HTTPError as error:
            with error:
                raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from None

    def advance(self, by: str) -> None:
        self.ask("POST", "/v1/clock/advance", {"by": by})


@contextmanager
def running(data: Path, *, token: str | None = None, **settings: Any) -> Iterator[Running]:
    chosen = replace(Settings(str(data), port=0, clock="manual", sync="os", drain_s=1), **settings)
    ready = threading.Event()
    loops: list[asyncio.AbstractEventLoop] = []
    servers: list[Server] = []
    with listen(chosen) as listening:

        async def serve() -> None:
            service = Service(chosen)
            service.parts.append(WebhooksPart(service))
            server = Server(service)
            loops.append(asyncio.get_running_loop())
            servers.append(server)
            serving = asyncio.create_task(server.serve([listening]))
            while not service.is_ready and not serving.done():
                await asyncio.sleep(0.01)
            ready.set()
            await serving

        thread = threading.Thread(target=lambda: asyncio.run(serve()), name="service")
        thread.start()
        assert ready.wait(30)
        try:
            yield Running(address_of(chosen, listening), token)
        finally:
            loops[0].call_soon_threadsafe(setattr, servers[0], "should_exit", True)
            thread.join(30)
