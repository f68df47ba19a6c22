"""The ASGI app: all routes, in front of them request ids, the log and the door."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from .api.endpoint import ApiRoute
from .api.problems import Problem
from .front import Front
from .routes import batch, clock, health, outcomes, rules, signals, waits
from .service import Service
from .ui import routes as ui


def make_app(service: Service) -> Starlette:
    """The app of a service, which opens its folder when the app starts, and closes it when that stops."""
    routes: list[BaseRoute] = [*waits.routes, *signals.routes, *batch.routes, *outcomes.routes, *rules.routes]
    routes += [*clock.routes, *health.routes]
    routes += ui.routes
    service.add_insight()
    for part in service.parts:
        routes += part.routes
    _fill_in_allowed(routes)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.stop()

    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(Front, service=service)],
        exception_handlers={HTTPException: _not_found},
    )
    app.router.redirect_slashes = False
    app.state.service = service
    return app


def _fill_in_allowed(routes: Iterable[BaseRoute]) -> None:
    ours = [route for route in routes if isinstance(route, ApiRoute)]
    for route in ours:
        route.allowed = tuple(other.method for other in ours if other.path == route.path)


async def _not_found(request: Request, error: Exception) -> Response:
    """What no route answers."""
    assert isinstance(error, HTTPException)
    detail = (
        f"there is nothing at {request.url.path!r}; see /openapi.json" if error.status_code == 404 else error.detail
    )
    problem = Problem(error.status_code, error.detail.lower(), detail, headers=dict(error.headers or {}))
    return problem.response(request.scope.get("request_id"))
