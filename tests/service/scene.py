"""A service for tests: the real app, in this process, in virtual time; asked without a network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from sojourn.service.app import make_app
from sojourn.service.service import Part, Service
from sojourn.service.settings import Settings


class Scene:
    """`await scene.ask("PUT", "/v1/waits/a", {...})` gives a response; `advance` lets time pass."""

    def __init__(self, service: Service, client: httpx.AsyncClient) -> None:
        self.service, self.client = service, client

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        if isinstance(body, str | bytes):
            return await self.client.request(method, path, content=body, **more)
        return await self.client.request(method, path, **({} if body is None else {"json": body}), **more)

    async def advance(self, by: str) -> None:
        answer = await self.ask("POST", "/v1/clock/advance", {"by": by})
        assert answer.status_code == 200, answer.text


def in_service(**settings: Any) -> Callable[[Callable[[Scene], Awaitable[None]]], Callable[[Path], None]]:
    """Make a test of a coroutine: it is given a service on a folder of its own."""

    def decorate(test: Callable[[Scene], Awaitable[None]]) -> Callable[[Path], None]:
        def run(tmp_path: Path) -> None:
            async def main() -> None:
                async with serving(tmp_path / "data", **settings) as scene:
                    await test(scene)

            asyncio.run(main())

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate


@asynccontextmanager
async def serving(
    data: Path, *, parts: tuple[type[Part], ...] = (), token: str | None = None, **settings: Any
) -> AsyncIterator[Scene]:
    """Open the folder, and close it at the end. `parts` are made with the service."""
    chosen = replace(Settings(str(data), clock="manual", sync="os"), **settings)
    service = Service(chosen)
    for part in parts:
        service.parts.append(part(service))  # type: ignore[call-arg]
    app = make_app(service)
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client,
    ):
        await service.opened()
        yield Scene(service, client)
