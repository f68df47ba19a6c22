"""/v1/signals: something has happened."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import BaseRoute

from ..api import shapes
from ..api.endpoint import ApiRequest, ApiRoute, Docs, answer


async def post(request: ApiRequest) -> Response:
    one = shapes.signal(await request.shape())
    return answer({"completed": await request.service.gatherer.ask(one)})


routes: list[BaseRoute] = [
    ApiRoute(
        "POST",
        "/v1/signals",
        post,
        scope="write",
        docs=Docs(
            "Tell every wait on a key that something of a kind has happened",
            tag="signals",
            about="With an `id` it counts once, however often it is sent.",
            body="Signal",
            answers={200: ("How many waits that completed.", "Completed")},
        ),
    ),
]
