"""A real server on loopback, in virtual time, in a thread of this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from sojourn.service.server import Server, address_of, listen, make_service
from sojourn.service.settings import Settings


class PromptServer(Server):
    """Stops when it is told to, rather than at its next look at the clock: tests do so hundreds of times."""

    async def main_loop(self) -> None:
        self.loop, self.leaving = asyncio.get_running_loop(), asyncio.Event()
        await self.on_tick(0)
        if not self.should_exit:
            await self.leaving.wait()

    def leave(self) -> None:
        self.should_exit = True
        with suppress(AttributeError, RuntimeError):  # it has not begun, or has ended
            self.loop.call_soon_threadsafe(self.leaving.set)


class LocalService:
    """`url` is where it listens; `stop` and `start` are a restart on the same port."""

    def __init__(self, data: Path, **settings: Any) -> None:
        self._settings = replace(Settings(str(data), clock="manual", sync="os", port=0, drain_s=1), **settings)
        self.url = ""
        self.start()

    def start(self) -> None:
        self.service = make_service(self._settings)
        self._server = PromptServer(self.service)
        self._listening = listen(self._settings)
        self.url = address_of(self._settings, self._listening)
        self._settings = replace(self._settings, port=self._listening.getsockname()[1])
        self._failure: BaseException | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="local-service")
        self._thread.start()
        assert self._ready.wait(30)
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        serving = asyncio.create_task(self._server.serve([self._listening]))
        while self.service._opening is None and not serving.done():
            await asyncio.sleep(0)
        if self.service._opening is not None:
            await self.service.opened()
        self._ready.set()
        await serving

    def stop(self) -> None:
        self._server.leave()
        self._thread.join(30)
        self._listening.close()
        assert not self._thread.is_alive()


@contextmanager
def local_service(data: Path, **settings: Any) -> Iterator[LocalService]:
    service = LocalService(data, **settings)
    try:
        yield service
    finally:
        service.stop()
