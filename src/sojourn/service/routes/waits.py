"""/v1/waits: open, read, extend, cancel, list; one by one or in bulk."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

from starlette.responses import Response
from starlette.routing import BaseRoute

from ...durable.hub import explained
from ...durable.state.pages import page
from ...durable.state.wait import Wait
from ..api.endpoint import JSON, ApiRequest, ApiRoute, Docs, Parameter, answer
from ..api.problems import refused
from ..api.shapes import a_bool, a_text, an_object, asked, duration, json_bytes, new_wait_bytes, time_ms, wait_shape
from ..turns import acts

PAGE = 100
LONGEST_PAGE = 1_000
_WHOLE = {"type": "integer", "minimum": 0}


async def put(request: ApiRequest) -> Response:
    one = asked(await request.shape(), request.path_params["id"])
    return _opened(await request.service.gatherer.ask(one))


async def post(request: ApiRequest) -> Response:
    one = asked(await request.shape())
    one = one if one.id is not None else one._replace(id=uuid4().hex)
    return _opened(await request.service.gatherer.ask(one))


def _opened(opened: acts.Opened) -> Response:
    return Response(opened_bytes(opened), 201 if opened.is_new else 200, None, JSON)


def opened_bytes(opened: acts.Opened) -> bytes:
    """A wait as JSON, once it is on the disk: remembered signals may have completed it already."""
    wait, shape = opened.wait, opened.shape
    if shape is None and wait.done():
        shape = wait_shape(wait)
    return new_wait_bytes(wait) if shape is None else json_bytes(shape)


async def get(request: ApiRequest) -> Response:
    request.allow("wait")
    wait_id, waiting_ms = request.path_params["id"], request.waiting_ms()
    wait, shape = await request.service.read(lambda state: _found(state, wait_id))
    if waiting_ms and not wait.done():
        await _ended_within(request, wait, waiting_ms)
        shape = await request.service.read(lambda state: wait_shape(wait))
    return answer(shape)


def _found(state: Any, wait_id: str) -> tuple[Wait, dict[str, Any]]:
    wait = acts.found(state, wait_id)
    return wait, wait_shape(wait)


async def _ended_within(request: ApiRequest, wait: Wait, waiting_ms: int) -> None:
    """Return when the wait has ended, the time is over, or the service stops."""
    outcome: asyncio.Future[Any] = wait.future()
    stopping: asyncio.Future[Any] = asyncio.ensure_future(request.service.draining.wait())
    try:
        await asyncio.wait([outcome, stopping], timeout=waiting_ms / 1000, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        outcome.cancel()


async def patch(request: ApiRequest) -> Response:
    body = an_object(await request.shape(), ("within",))
    act = acts.extending(request.service.verbs, request.path_params["id"], duration(body.get("within"), "within"))
    return answer(await request.service.act(act))


async def delete(request: ApiRequest) -> Response:
    return answer(
        cancelled(await request.service.act(acts.cancelling(request.service.verbs, request.path_params["id"])))
    )


def cancelled(answer: acts.Cancelled) -> dict[str, Any]:
    shape = None if answer.wait.done() else answer.shape
    return {"ended_by_this": answer.ended_by_this, "wait": shape or wait_shape(answer.wait)}


async def explain(request: ApiRequest) -> Response:
    wait_id, now_ms = request.path_params["id"], request.service.now_ms()
    return answer({"text": await request.service.read(lambda state: _explained(state, wait_id, now_ms))})


def _explained(state: Any, wait_id: str, now_ms: int) -> str:
    return explained(state, acts.found(state, wait_id), now_ms)


async def listing(request: ApiRequest) -> Response:
    request.allow("key", "key_prefix", "rule", "due_before", "after", "limit")
    given = request.query_params
    due_before = None if "due_before" not in given else time_ms(given["due_before"], "due_before")
    limit = request.whole("limit", PAGE, 1, LONGEST_PAGE)
    found = await request.service.read(
        lambda state: page(
            state,
            key=given.get("key"),
            key_prefix=given.get("key_prefix"),
            rule=given.get("rule"),
            due_before=due_before,
            after=request.whole("after", 0),
            limit=limit,
        )
    )
    return answer({"waits": [wait_shape(wait) for wait in found.waits], "next": found.next})


_WHERE = ("rule", "key_prefix", "dry_run")


def _where(body: dict[str, Any]) -> tuple[str | None, str | None, bool]:
    rule, prefix = body.get("rule"), body.get("key_prefix")
    if rule is None and prefix is None:
        raise refused('neither rule nor key_prefix: that would be every wait; say so with "key_prefix": ""', "rule")
    return (
        None if rule is None else a_text(rule, "rule"),
        None if prefix is None else a_text(prefix, "key_prefix"),
        a_bool(body.get("dry_run", False), "dry_run"),
    )


async def cancel_many(request: ApiRequest) -> Response:
    where = _where(an_object(await request.shape(), _WHERE))
    return answer({"count": await request.service.act(request.service.verbs.cancel_where(*where))})


async def shift_many(request: ApiRequest) -> Response:
    body = an_object(await request.shape(), (*_WHERE, "by", "note"))
    rule, prefix, dry_run = _where(body)
    by_ms = duration(body.get("by"), "by")
    note = None if body.get("note") is None else a_text(body["note"], "note")
    return answer({"count": await request.service.act(request.service.verbs.shift(rule, prefix, by_ms, dry_run, note))})


_COUNT = {"type": "object", "required": ["count"], "properties": {"count": _WHOLE}}
_BULK = "One record, however many they are. `dry_run` only counts."
_WAIT_PARAMETER = Parameter("wait", "How long to wait for its end, as in `30s`.")

routes: list[BaseRoute] = [
    ApiRoute(
        "PUT",
        "/v1/waits/{id}",
        put,
        scope="write",
        docs=Docs(
            "Open a wait",
            about="The same again is the same wait; another one under its id is refused.",
            body="NewWait",
            answers={201: ("It is new, and on the disk.", "Wait"), 200: ("It was there: the same.", "Wait")},
            problems=(409, 429),
        ),
    ),
    ApiRoute(
        "GET",
        "/v1/waits/{id}",
        get,
        scope="read",
        docs=Docs("Read a wait", query=(_WAIT_PARAMETER,), answers={200: ("The wait.", "Wait")}, problems=(404,)),
    ),
    ApiRoute(
        "PATCH",
        "/v1/waits/{id}",
        patch,
        scope="write",
        docs=Docs(
            "Move the deadline of a wait",
            about="To `within` from now, either way.",
            body="Extension",
            answers={200: ("The wait, as it is now.", "Wait")},
            problems=(404, 409),
        ),
    ),
    ApiRoute(
        "DELETE",
        "/v1/waits/{id}",
        delete,
        scope="write",
        docs=Docs(
            "Cancel a wait",
            about="`ended_by_this` is true exactly for the request that ended it.",
            answers={200: ("Who ended it.", "Cancelled")},
            problems=(404,),
        ),
    ),
    ApiRoute(
        "POST",
        "/v1/waits",
        post,
        scope="write",
        docs=Docs(
            "Open a wait under an id that the service makes",
            about="Said twice it makes two, unless the body has an `id`.",
            body="NewWait",
            answers={201: ("It is new, and on the disk.", "Wait"), 200: ("It was there: the same.", "Wait")},
            problems=(409, 429),
        ),
    ),
    ApiRoute(
        "GET",
        "/v1/waits",
        listing,
        scope="read",
        docs=Docs(
            "List pending waits",
            about="In the order of opening. `next` goes into `after`; a page may be short, or empty, before the last.",
            query=(
                Parameter("key", "Waits on this key."),
                Parameter("key_prefix", "Waits on keys that start so."),
                Parameter("rule", "Waits of this rule."),
                Parameter("due_before", "Waits with a deadline before this time: epoch milliseconds or ISO 8601."),
                Parameter("after", "The `next` of the page before.", _WHOLE),
                Parameter("limit", "How many.", {"type": "integer", "minimum": 1, "maximum": LONGEST_PAGE}),
            ),
            answers={200: ("A page.", "Page")},
        ),
    ),
    ApiRoute(
        "GET",
        "/v1/waits/{id}/explain",
        explain,
        scope="read",
        docs=Docs(
            "A sentence: how the wait ended, or what it still waits for",
            answers={200: ("The sentence.", "Text")},
            problems=(404,),
        ),
    ),
    ApiRoute(
        "POST",
        "/v1/waits:cancel",
        cancel_many,
        scope="admin",
        docs=Docs("Cancel many waits", about=_BULK, body="Where", answers={200: ("How many.", _COUNT)}),
    ),
    ApiRoute(
        "POST",
        "/v1/waits:shift",
        shift_many,
        scope="admin",
        docs=Docs("Give many waits more time", about=_BULK, body="Shift", answers={200: ("How many.", _COUNT)}),
    ),
]
