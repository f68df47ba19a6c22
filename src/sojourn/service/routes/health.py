"""How the service is: /healthz, /readyz, /v1/stats, /metrics."""

from __future__ import annotations

import asyncio

from starlette.responses import Response
from starlette.routing import BaseRoute

from ..api.endpoint import ApiRequest, ApiRoute, Docs, answer
from ..api.openapi import document


async def healthz(request: ApiRequest) -> Response:
    return answer({"status": "alive"})


async def readyz(request: ApiRequest) -> Response:
    service = request.service
    if not service.is_ready:
        raise service.not_ready()
    return answer({"status": "ready", "pending": service.hub.pending})


async def openapi(request: ApiRequest) -> Response:
    return answer(document(request.app.routes))


async def metrics(request: ApiRequest) -> Response:
    text = await asyncio.get_running_loop().run_in_executor(None, request.service.metrics)
    return Response(text, 200, None, METRICS)


async def stats(request: ApiRequest) -> Response:
    return answer(await request.service.stats())


METRICS = "text/plain; version=0.0.4; charset=utf-8"
_STATUS = {"type": "object", "required": ["status"], "properties": {"status": {"type": "string"}}}

routes: list[BaseRoute] = [
    ApiRoute(
        "GET",
        "/healthz",
        healthz,
        scope=None,
        needs_hub=False,
        docs=Docs("Whether the process answers", tag="service", answers={200: ("It does.", _STATUS)}),
    ),
    ApiRoute(
        "GET",
        "/readyz",
        readyz,
        scope=None,
        needs_hub=False,
        docs=Docs(
            "Whether the data folder is open",
            tag="service",
            answers={200: ("It is.", _STATUS)},
            problems=(503,),
        ),
    ),
    ApiRoute(
        "GET",
        "/v1/stats",
        stats,
        scope="read",
        docs=Docs("Counts, by outcome and by rule", tag="service", answers={200: ("Counts.", "Stats")}),
    ),
    ApiRoute(
        "GET",
        "/metrics",
        metrics,
        scope="read",
        docs=Docs(
            "Metrics for Prometheus",
            tag="service",
            answers={200: ("Metrics.", {"type": "string"})},
            answer_types=("text/plain",),
        ),
    ),
    ApiRoute(
        "GET",
        "/openapi.json",
        openapi,
        scope=None,
        needs_hub=False,
        docs=Docs("This document", tag="service", answers={200: ("It.", {"type": "object"})}),
    ),
]
