"""/v1/outcomes: what has ended, by number; as a page, a long poll, or a stream of events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute

from ...errors import OutcomesGoneError
from ..endpoint import JSON, ApiRequest, ApiRoute, Docs, Parameter, answer
from ..feed import Feed
from ..problems import problem_of, refused
from ..service import Service
from ..shapes import json_bytes, outcome_shape

PAGE = 1_000
LONGEST_PAGE = 10_000
EVENTS = "text/event-stream"
KEEP_ALIVE_S = 15.0
"""A stream says so often that it is still there: proxies close what is silent."""


async def get(request: ApiRequest) -> Response:
    if EVENTS in request.headers.get("accept", ""):
        return await _stream(request)
    request.allow("after", "rule", "limit", "wait")
    after, rule = request.whole("after", 0), request.query_params.get("rule")
    limit = request.whole("limit", PAGE, 1, LONGEST_PAGE)
    feed, loop = request.service.feed, asyncio.get_running_loop()
    until = loop.time() + request.waiting_ms() / 1000
    found: list[dict[str, Any]] = []
    last = after
    while len(found) < limit:
        outcomes = await feed.after(last)
        for told in outcomes:
            last = told.number
            if rule is None or told.rule == rule:
                found.append(outcome_shape(told))
                if len(found) == limit:
                    break
        left_s = until - loop.time()
        if not outcomes and (found or left_s <= 0 or not await feed.arrival(last, left_s)):
            break
    return answer({"outcomes": found, "last": last})


async def _stream(request: ApiRequest) -> Response:
    request.allow("after", "rule")
    given = request.headers.get("last-event-id")
    if given is not None and not (given.isascii() and given.isdigit() and len(given) < 19):
        raise refused(f"Last-Event-ID {given!r} is not the number of an outcome", "last-event-id")
    after = request.whole("after", 0) if given is None else int(given)
    await request.service.feed.after(after)  # what is gone is refused before the answer begins
    events = _events(request, after, request.query_params.get("rule"))
    return StreamingResponse(events, media_type=EVENTS, headers={"x-accel-buffering": "no"})


async def _events(request: ApiRequest, after: int, rule: str | None) -> AsyncIterator[bytes]:
    service, feed = request.service, request.service.feed
    service.counters.streams += 1
    try:
        async for text in _follow(service, feed, after, rule):
            yield text
    finally:
        service.counters.streams -= 1


async def _follow(service: Service, feed: Feed, after: int, rule: str | None) -> AsyncIterator[bytes]:
    yield b"retry: 1000\n\n"
    while not service.draining.is_set():
        if not await feed.arrival(after, KEEP_ALIVE_S):
            yield b": still here\n\n"
            continue
        try:
            piece = await feed.piece(after, rule)
        except OutcomesGoneError as error:  # whoever follows is slower than retention
            yield b"event: gone\ndata: %b\n\n" % json_bytes(problem_of(error).shape())
            return
        after = piece.last
        if piece.text:
            yield piece.text


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
