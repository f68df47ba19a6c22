"""/v1/batch: many things at once, one per line, with an answer per line.

Lines that open waits of the same condition or rule, one after the other, become one record. So a batch costs the disk
little; and each line stands for itself: where one is refused, the others are not. With `?atomic=true` they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from starlette.responses import Response
from starlette.routing import BaseRoute

from ...rules import Rule
from ..api import shapes
from ..api.endpoint import ApiRequest, ApiRoute, Docs, Parameter
from ..api.problems import Problem, refused
from ..quick import refusal
from ..turns.acts import Cancelled, Opened
from ..turns.gather import Answer, Ask, Cancellation, Extension, carry_out
from . import atomic
from .waits import cancelled, opened_bytes

if TYPE_CHECKING:
    from ..service import Service

T = TypeVar("T")

NDJSON = "application/x-ndjson"
TURN_LINES = 2_000
"""Lines carried out in one turn of the hub: then others have theirs."""
_ALLOWED = ("wait", "signal", "extend", "cancel", "rule")


async def post(request: ApiRequest) -> Response:
    request.allow("brief", "atomic")
    is_brief, is_atomic = request.flag("brief"), request.flag("atomic")
    body = await request.body_within(request.service.settings.limits.batch_bytes)
    lines = [line for line in body.split(b"\n") if line and not line.isspace()]
    request.service.door.count(request.bearer, len(lines) - 1)  # one has been counted for the request
    answers = _as_a_whole(request.service, lines) if is_atomic else _one_by_one(request.service, lines)
    text = [_line(asked, given, is_brief) async for asked, given in answers]
    return Response(b"".join(text), 200, None, NDJSON)


async def _one_by_one(service: Service, lines: list[bytes]) -> AsyncIterator[tuple[Ask | Problem, Answer]]:
    """Each line with its answer."""
    for start in range(0, len(lines), TURN_LINES):
        parsed = [_parsed(line) for line in lines[start : start + TURN_LINES]]
        asked = [one for one in parsed if not isinstance(one, Problem)]
        given = iter(await service.act(_carrying_out(service, asked)) if asked else ())
        for one in parsed:
            yield one, one if isinstance(one, Problem) else next(given)


async def _as_a_whole(service: Service, lines: list[bytes]) -> AsyncIterator[tuple[Ask, Answer]]:
    """The same for an atomic batch; the first line that is refused refuses it."""
    atomic.check_size(lines)
    asked: list[Ask] = []
    async for line in _with_pauses(lines):
        one = _parsed(line)
        if isinstance(one, Problem):
            raise atomic.refused_by(one, len(asked) + 1)
        asked.append(one)
    answers = await atomic.carried_out(service, asked)
    async for pair in _with_pauses(zip(asked, answers, strict=False)):
        yield pair


async def _with_pauses(items: Iterable[T]) -> AsyncIterator[T]:
    """All of them; now and then others have a turn on the loop."""
    for number, item in enumerate(items, 1):
        yield item
        if number % TURN_LINES == 0:
            await asyncio.sleep(0)


def _carrying_out(service: Any, asked: list[Ask]) -> Any:
    return lambda stamp: list(carry_out(service, asked, stamp))


def _parsed(line: bytes) -> Ask | Problem:
    try:
        entry = shapes.parsed(line, "the line")
        if not isinstance(entry, dict) or len(entry) != 1:
            raise refused(f"the line is not an object with one of {', '.join(_ALLOWED)}")
        ((what, body),) = entry.items()
        return _ask(what, body)
    except Problem as problem:
        return problem


def _ask(what: str, body: Any) -> Ask:
    match what:
        case "wait":
            one = shapes.asked(body)
            return one if one.id is not None else one._replace(id=uuid4().hex)
        case "signal":
            return shapes.signal(body)
        case "extend":
            shapes.an_object(body, ("id", "within"), "extend")
            within_ms = shapes.duration(body.get("within"), "within")
            return Extension(shapes.a_text(body.get("id"), "id", least=1), within_ms)
        case "cancel":
            shapes.an_object(body, ("id",), "cancel")
            return Cancellation(shapes.a_text(body.get("id"), "id", least=1))
        case "rule":
            return shapes.rule(body, None)
    raise refused(f"the line has {what!r}; allowed are {', '.join(_ALLOWED)}", what)


def _line(asked: Ask | Problem, answer: Answer, is_brief: bool) -> bytes:
    """The answer to one line."""
    if isinstance(answer, Exception):
        problem = refusal(answer)
        return b'{"status":%d,"body":%b}\n' % (problem.status, shapes.json_bytes(problem.shape()))
    status = 201 if (type(answer) is Opened and answer.is_new) or answer is True else 200
    if is_brief:
        return b'{"status":%d}\n' % status
    return b'{"status":%d,"body":%b}\n' % (status, b"".join(_body(asked, answer)))


def _body(asked: Any, answer: Answer) -> Iterator[bytes]:
    if type(answer) is Opened:
        yield opened_bytes(answer)
    elif isinstance(answer, Cancelled):
        yield shapes.json_bytes(cancelled(answer))
    elif isinstance(asked, Rule):
        yield shapes.json_bytes(shapes.rule_shape(asked))
    elif type(answer) is int:
        yield b'{"completed":%d}' % answer
    else:
        yield shapes.json_bytes(answer)


routes: list[BaseRoute] = [
    ApiRoute(
        "POST",
        "/v1/batch",
        post,
        scope="write",
        docs=Docs(
            "Many things at once, one JSON object per line",
            tag="batch",
            about="A line has one of `wait`, `signal`, `extend`, `cancel` and `rule`; the answer to each is a line "
            "with its `status` and `body`. They are carried out in order; where one is refused, the others are not, "
            "unless the batch is atomic.",
            query=(
                Parameter("brief", "Answer with the status only.", {"type": "boolean"}),
                Parameter(
                    "atomic",
                    "All or none, as one record: waits of the same condition or rule, or signals, which have one "
                    f"answer for all; at most {atomic.MOST_LINES:,} lines. Where a line is refused, the whole request "
                    "is, with its number as `line`.",
                    {"type": "boolean"},
                ),
            ),
            body="BatchLine",
            body_types=(NDJSON,),
            answers={200: ("An answer per line.", "BatchAnswer")},
            answer_types=(NDJSON,),
            problems=(409,),
        ),
    ),
]
