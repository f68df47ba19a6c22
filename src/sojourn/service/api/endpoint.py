"""A route of the API: its method and path, who may ask, what it takes and gives, and the function that answers.

What is said here is how requests are checked, and what /openapi.json says: `openapi.py` reads nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from starlette.datastructures import URLPath
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, NoMatchFound

from ...errors import SojournError
from ...rules.duration import duration_ms
from .problems import Problem, problem_of, refused
from .shapes import checked, json_bytes, parsed

if TYPE_CHECKING:
    from starlette.types import Receive, Send
    from starlette.types import Scope as AsgiScope

    from ..access.tokens import Bearer, Scope
    from ..service import Service

JSON = "application/json"


@dataclass(frozen=True)
class Parameter:
    """One of a query, a path or the headers; `schema` as OpenAPI has it."""

    name: str
    about: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    place: str = "query"


@dataclass(frozen=True)
class Docs:
    """What /openapi.json says of a route. Schemas are the names of those in `schemas.py`, or written out."""

    summary: str
    tag: str = "waits"
    about: str = ""
    query: tuple[Parameter, ...] = ()
    body: str | Mapping[str, Any] | None = None
    body_types: tuple[str, ...] = (JSON,)
    body_is_required: bool = True
    answers: Mapping[int, tuple[str, str | Mapping[str, Any] | None]] = field(default_factory=dict)
    """By status: what it means, and its schema."""
    answer_types: tuple[str, ...] = (JSON,)
    problems: tuple[int, ...] = ()
    """Statuses with which it refuses, beyond those of every route."""


class ApiRequest(Request):
    """A request, with the service that it is for and who asks."""

    service: Service
    bearer: Bearer

    @property
    def request_id(self) -> str:
        return str(self.scope.get("request_id", ""))

    async def body(self) -> bytes:
        return await self.body_within(self.service.settings.limits.body_bytes)

    async def body_within(self, most: int) -> bytes:
        """All of the body; 413 as soon as it is more than allowed."""
        length = self.headers.get("content-length", "0")
        if length.isdigit() and int(length) > most:
            raise _too_large(most)
        chunks, size = [], 0
        async for chunk in self.stream():
            size += len(chunk)
            if size > most:
                raise _too_large(most)
            chunks.append(chunk)
        return b"".join(chunks)

    async def shape(self) -> Any:
        """The body as JSON."""
        return parsed(await self.body())

    def allow(self, *names: str) -> None:
        """Refuse parameters of other names: a typing error must not ask for everything."""
        for name in self.query_params:
            if name not in names:
                allowed = ", ".join(names) or "none"
                raise refused(f"parameter {name!r} is not known; allowed are: {allowed}", name)

    def whole(self, name: str, otherwise: int, least: int = 0, most: int = 2**62) -> int:
        text = self.query_params.get(name)
        if text is None:
            return otherwise
        if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
            raise refused(f"{name}={text!r} is not a whole number from {least} to {most}", name)
        return int(text)

    def flag(self, name: str) -> bool:
        text = self.query_params.get(name, "false")
        if text not in ("true", "false"):
            raise refused(f"{name}={text!r} is not known; allowed are true and false", name)
        return text == "true"

    def waiting_ms(self) -> int:
        """How long the request may wait for something to happen."""
        text = self.query_params.get("wait")
        if text is None:
            return 0
        ms = int(checked(lambda: duration_ms(int(text) if text.isascii() and text.isdigit() else text), "wait"))
        return min(ms, self.service.settings.limits.longest_wait_ms)


def _too_large(most: int) -> Problem:
    return Problem(
        413, "too large", f"the body has more than the {most:,} bytes that are allowed; send it in parts", "body"
    )


Handler = Callable[[ApiRequest], Awaitable[Response]]


class ApiRoute(BaseRoute):
    """`GET /v1/waits/{id}` and the like. Parts of the path are matched one by one, before `%2F` becomes a slash."""

    def __init__(
        self, method: str, path: str, handler: Handler, *, scope: Scope | None, docs: Docs, needs_hub: bool = True
    ) -> None:
        self.method, self.path, self.handler = method, path, handler
        self.scope, self.docs, self.needs_hub = scope, docs, needs_hub
        self.parts = path.split("/")[1:]
        self.names = [part[1:-1] if part.startswith("{") else None for part in self.parts]
        self.allowed: tuple[str, ...] = (method,)
        """All methods of this path: whoever makes the app fills it in."""

    def __repr__(self) -> str:
        return f"<ApiRoute {self.method} {self.path}>"

    def matches(self, scope: AsgiScope) -> tuple[Match, AsgiScope]:
        if scope["type"] != "http":
            return Match.NONE, {}
        given = parts_of(scope)
        if len(given) != len(self.parts):
            return Match.NONE, {}
        params = {}
        for name, ours, theirs in zip(self.names, self.parts, given, strict=True):
            if name is not None and theirs:
                params[name] = theirs
            elif ours.encode() != theirs:
                return Match.NONE, {}
        is_ours = scope["method"] == self.method or (scope["method"] == "HEAD" and self.method == "GET")
        return Match.FULL if is_ours else Match.PARTIAL, {"path_params": params, "endpoint": self.handler}

    def url_path_for(self, name: str, /, **path_params: Any) -> URLPath:
        raise NoMatchFound(name, path_params)

    async def handle(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        request = ApiRequest(scope, receive, send)
        try:
            response = await self._answer(request)
        except Problem as problem:
            response = problem.response(request.request_id)
        except SojournError as error:
            response = problem_of(error).response(request.request_id)
        await response(scope, receive, send)

    async def _answer(self, request: ApiRequest) -> Response:
        request.service = service = request.app.state.service
        if request.method not in (self.method, "HEAD"):
            raise Problem(
                405,
                "method not allowed",
                f"{request.method} is not for {self.path}; allowed are {', '.join(self.allowed)}",
                headers={"allow": ", ".join(self.allowed)},
            )
        request.bearer = service.door.admit(request.scope, self.scope)
        if self.scope is not None:
            service.door.take(request.bearer)
        if self.needs_hub and not service.is_ready:
            raise service.not_ready()
        request.scope["path_params"] = {name: _text(name, part) for name, part in request.scope["path_params"].items()}
        return await self.handler(request)


def parts_of(scope: AsgiScope) -> list[bytes]:
    """The parts of the path, each decoded by itself."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    raw = raw.partition(b"?")[0]
    parts = raw.split(b"/")[1:]
    return [unquote_to_bytes(part) for part in parts] if b"%" in raw else parts


def _text(name: str, part: bytes) -> str:
    try:
        return part.decode()
    except UnicodeDecodeError:
        raise refused(f"{name}={part!r} in the path is not UTF-8", name) from None


def answer(shape: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json_bytes(shape), status, headers, JSON)
