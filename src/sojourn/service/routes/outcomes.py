"""/v1/outcomes: what has ended, by number; as a page, a long poll, or a stream of events."""

from __future__ import annotations

import asyncio

from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Message, Receive, Scope, Send

from ...errors import OutcomesGoneError
from ..api.endpoint import JSON, ApiRequest, ApiRoute, Docs, Parameter
from ..api.problems import problem_of, refused
from ..api.shapes import json_bytes, outcome_shape
from ..service import Service

PAGE = 1_000
LONGEST_PAGE = 10_000
PAGE_BYTES = 2**24
"""About as many, however large the payloads are."""
LOOK_MOST = 50_000
"""Outcomes looked at for one page: one of a rule may be short, or empty, before the last; `last` is where to go on."""
EVENTS = "text/event-stream"
KEEP_ALIVE_S = 15.0
"""How often a silent stream says that it is still there: proxies close what says nothing."""


async def get(request: ApiRequest) -> Response:
    if EVENTS in request.headers.get("accept", "") and request.method == "GET":
        return await _stream(request)
    request.allow("after", "rule", "limit", "wait")
    after, rule = request.whole("after", 0), request.query_params.get("rule")
    limit = request.whole("limit", PAGE, 1, LONGEST_PAGE)
    feed, loop = request.service.feed, asyncio.get_running_loop()
    until = loop.time() + request.waiting_ms() / 1000
    found: list[bytes] = []
    last, left_bytes = after, PAGE_BYTES
    while len(found) < limit and left_bytes > 0 and last - after < LOOK_MOST:
        outcomes = await feed.after(last)
        for told in outcomes:
            last = told.number
            if rule is None or told.rule == rule:
                found.append(text := json_bytes(outcome_shape(told)))
                left_bytes -= len(text)
                if len(found) == limit or left_bytes <= 0:
                    break
        left_s = until - loop.time()
        if not outcomes and (found or left_s <= 0 or not await feed.arrival(last, left_s)):
            break
    return Response(b'{"outcomes":[%b],"last":%d}' % (b",".join(found), last), 200, None, JSON)


async def _stream(request: ApiRequest) -> Response:
    request.allow("after", "rule")
    given = request.headers.get("last-event-id")
    if given is not None and not (given.isascii() and given.isdigit() and len(given) < 19):
        raise refused(f"Last-Event-ID {given!r} is not the number of an outcome", "last-event-id")
    after = request.whole("after", 0) if given is None else int(given)
    await request.service.feed.after(after)  # what is gone is refused before the answer begins
    return EventStream(request.service, after, request.query_params.get("rule"))


class EventStream(Response):
    """Outcomes as server-sent events, until whoever follows goes away or the service stops.

    Starlette's own StreamingResponse makes a group of two tasks and a scope for each: ten thousand are heavy.
    """

    def __init__(self, service: Service, after: int, rule: str | None) -> None:
        super().__init__(None, 200, {"x-accel-buffering": "no"}, EVENTS)
        del self.headers["content-length"]
        self._service, self._after, self._rule = service, after, rule
        self._is_over = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        leaving = asyncio.ensure_future(_left(receive))
        self._service.counters.streams += 1
        try:
            await send(_chunk(b"retry: 1000\n\n"))
            while not (self._is_over or leaving.done() or self._service.draining.is_set()):
                await send(_chunk(await self._next()))
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._service.counters.streams -= 1
            leaving.cancel()

    async def _next(self) -> bytes:
        """What comes next, or that there is nothing new."""
        feed = self._service.feed
        while await feed.arrival(self._after, KEEP_ALIVE_S):
            try:
                piece = await feed.piece(self._after, self._rule)
            except OutcomesGoneError as error:  # the reader is slower than retention
                self._is_over = True
                return b"event: gone\ndata: %b\n\n" % json_bytes(problem_of(error).shape())
            self._after = piece.last
            if piece.text:
                return piece.text
        return b": still here\n\n"


def _chunk(text: bytes) -> Message:
    return {"type": "http.response.body", "body": text, "more_body": True}


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


routes: list[BaseRoute] = [
    ApiRoute(
        "GET",
        "/v1/outcomes",
        get,
        scope="read",
        docs=Docs(
            "Outcomes after a number, in order and without gaps",
            tag="outcomes",
            about="With `wait` a long poll; with `Accept: text/event-stream` server-sent events, which go on after "
            "`Last-Event-ID`.",
            query=(
                Parameter("after", "The last number known.", {"type": "integer", "minimum": 0}),
                Parameter("rule", "Only those of this rule."),
                Parameter("limit", "How many.", {"type": "integer", "minimum": 1, "maximum": LONGEST_PAGE}),
                Parameter("wait", "How long to wait for one, as in `30s`."),
            ),
            answers={200: ("Outcomes, and the number to go on after.", "Outcomes")},
            answer_types=(JSON,),
            problems=(410,),
        ),
    ),
]
