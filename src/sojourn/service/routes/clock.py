"""/v1/clock/advance: time moved by hand, under --clock manual."""

from __future__ import annotations

import asyncio

from starlette.responses import Response
from starlette.routing import BaseRoute

from ..api.endpoint import ApiRequest, ApiRoute, Docs, answer
from ..api.problems import Problem, refused
from ..api.shapes import an_object, duration, time_ms


async def advance(request: ApiRequest) -> Response:
    service, clock = request.service, request.service.clock
    body = an_object(await request.shape(), ("by", "to"))
    if clock is None:
        raise Problem(409, "the clock runs", "time moves by itself here; only under --clock manual it is moved by hand")
    if ("by" in body) == ("to" in body):
        raise refused('give either by, a duration as in "1 h", or to, a time', "by")
    async with service.moving:
        if "by" in body:
            by_ms = duration(body["by"], "by")
        else:
            by_ms = time_ms(body["to"], "to") - service.now_ms()
            if by_ms < 0:
                raise refused(f"to={body['to']!r} is {-by_ms} ms ago; time never goes back", "to")
        await asyncio.get_running_loop().run_in_executor(None, clock.advance, by_ms)
    return answer({"now_ms": service.now_ms()})


routes: list[BaseRoute] = [
    ApiRoute(
        "POST",
        "/v1/clock/advance",
        advance,
        scope="admin",
        docs=Docs(
            "Let time pass, under --clock manual",
            tag="clock",
            body="Advance",
            answers={200: ("The time now.", "Now")},
            problems=(409,),
        ),
    ),
]
