"""Webhooks as a part of a service: made when its hub is open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute

from .routes import make_routes
from .webhooks import Webhooks

if TYPE_CHECKING:
    from ..service import Service


class WebhooksPart:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._webhooks: Webhooks | None = None
        self.routes: list[BaseRoute] = make_routes(self)

    @property
    def webhooks(self) -> Webhooks:
        if self._webhooks is None:
            raise self._service.not_ready()
        return self._webhooks

    async def start(self) -> None:
        hub, settings = self._service.hub, self._service.settings
        webhooks = Webhooks(
            hub.name,
            Path(settings.data),
            hub._engine.outcomes,
            hub.now_ms,
            hub.timer.clock,
            allowed=settings.webhooks_to,
        )
        await webhooks.start()
        self._webhooks = webhooks

    async def stop(self) -> None:
        if self._webhooks is not None:
            await self._webhooks.stop()
