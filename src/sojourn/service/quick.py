"""The two requests that come by the thousands, `PUT /v1/waits/{id}` and `POST /v1/signals`, without the long way.

uvicorn makes a task, a scope and several messages for each request: that costs more than the hub does. Here the request
goes from the parser to the gatherer, and its answer to the socket in one piece. Everything that is not plain (a token
that is refused, a path with escapes, no content-length, ...) takes the long way, which decides the same: what may be
asked is checked by the same functions. benchmarks/service measures both.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import uuid4

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..errors import SojournError
from .api.problems import Problem, problem_of
from .api.shapes import asked, parsed, signal
from .front import logger, unexpected
from .routes.waits import opened_bytes
from .turns.acts import Opened

if TYPE_CHECKING:
    from .service import Service

WAITS = b"/v1/waits/"
SIGNALS = b"/v1/signals"
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:@!$&'()*+,;=")
_UNUSUAL = frozenset({b"expect", b"transfer-encoding", b"upgrade", b"x-request-id", b"traceparent", b"origin"})
_HEAD = b"HTTP/1.1 %d %b\r\ncontent-type: %b\r\nx-request-id: %b\r\n" + (
    b"x-content-type-options: nosniff\r\ncache-control: no-store\r\ncontent-length: %d\r\n%b\r\n"
)
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
MOST_HEAD_BYTES = 65_536
"""Of the first line and the headers of a request."""
_CLOSE = b"connection: close\r\n"
_PHRASES = {status.value: status.phrase.encode() for status in HTTPStatus}


class _NobodyWaits:
    """Takes the place of an event, for a reader that takes a request piece by piece."""

    def set(self) -> None: ...


class QuickCycle:
    """A request on the quick way, as far as uvicorn's protocol looks at it."""

    message_event = _NobodyWaits()

    def __init__(self, wait_id: str | None) -> None:
        self.wait_id = wait_id
        self.body = bytearray()
        self.more_body = True
        self.response_complete = self.disconnected = False
        self.keep_alive = True


class QuickProtocol(HttpToolsProtocol):
    """One connection. `service` is set on a subclass."""

    service: Service
    reading_since: float | None = None
    """When the request that is being read began; None between requests."""
    _date_of: ClassVar[list[Any]] = [None, b""]
    head_bytes = -1
    """How much of its head has come; -1 while none is being read."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.reading_since = self.loop.time()
        if len(self.connections) > self.service.settings.limits.connections:
            self.app = self._too_many

    async def _too_many(self, scope: Any, receive: Any, send: Any) -> None:
        most = self.service.settings.limits.connections
        detail = f"{most:,} connections are open, as many as are allowed; close some, or come back later"
        headers = {"retry-after": "1", "connection": "close"}
        await Problem(503, "too many connections", detail, headers=headers).response()(scope, receive, send)

    def close_if_slow(self, now: float) -> None:
        """End a connection whose request takes too long to arrive: others could use it."""
        if self.reading_since is not None and now - self.reading_since > self.service.settings.limits.request_s:
            if self.cycle is None or self.cycle.response_complete:
                self.transport.write(_TOO_SLOW)
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        if self.head_bytes >= 0:
            self.head_bytes += len(data)
            if self.head_bytes > MOST_HEAD_BYTES:
                self.transport.write(_HEAD_TOO_LARGE)
                self.transport.close()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        self.reading_since = self.loop.time()
        self.head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self.head_bytes = -1
        if self._is_quick():
            wait_id = self.url[len(WAITS) :].decode() if self.url != SIGNALS else None
            self.cycle = QuickCycle(wait_id)  # type: ignore[assignment]
        else:
            super().on_headers_complete()

    def _is_quick(self) -> bool:
        if self.app == self._too_many:
            return False
        url, method, service = self.url, self.parser.get_method(), self.service
        if method == b"PUT" and url.startswith(WAITS):
            is_ours = len(url) > len(WAITS) and _PLAIN.issuperset(url[len(WAITS) :])
        else:
            is_ours = method == b"POST" and url == SIGNALS
        if not is_ours or not service.is_ready or (self.cycle is not None and not self.cycle.response_complete):
            return False
        headers = dict(self.headers)
        length = headers.get(b"content-length", b"")
        return (
            len(headers) == len(self.headers)
            and _UNUSUAL.isdisjoint(headers)
            and length.isdigit()
            and int(length) <= service.settings.limits.body_bytes
            and self.parser.should_keep_alive()
            and service.settings.log_requests != "all"
            and service.door.lets_in(headers, "write")
        )

    def on_message_complete(self) -> None:
        self.reading_since = None
        cycle: Any = self.cycle
        if type(cycle) is not QuickCycle:
            super().on_message_complete()
            return
        try:
            body = parsed(cycle.body)
            one = signal(body) if cycle.wait_id is None else asked(body, cycle.wait_id)
            self.service.gatherer.add(one, lambda answer: self._answered(cycle, answer))
        except Exception as error:
            self._answered(cycle, error)

    def _answered(self, cycle: QuickCycle, answer: Any) -> None:
        cycle.response_complete = True
        if cycle.disconnected or self.transport.is_closing():
            return
        request_id = uuid4().hex
        try:
            status, data = response(answer, request_id, self._date() if cycle.keep_alive else _CLOSE)
            self.transport.write(data)
            self.service.counters.by_status[status] += 1
            if status >= 400 and self.service.settings.log_requests == "failed":
                self._log(cycle, status, request_id)
        finally:
            if not cycle.keep_alive:
                self.transport.close()
            self.on_response_complete()

    def _date(self) -> bytes:
        """The header that says what time it is; uvicorn makes it anew each second."""
        headers = self.server_state.default_headers
        if headers is not self._date_of[0]:
            self._date_of[:] = headers, b"".join(b"%b: %b\r\n" % header for header in headers)
        date: bytes = self._date_of[1]
        return date

    def _log(self, cycle: QuickCycle, status: int, request_id: str) -> None:
        method, path = ("POST", SIGNALS.decode()) if cycle.wait_id is None else ("PUT", f"/v1/waits/{cycle.wait_id}")
        fields = {"request_id": request_id, "method": method, "path": path, "status": status}
        client = self.client[0] if self.client else None
        logger.info("request", extra={"fields": {**fields, "client": client}})


def response(answer: Any, request_id: str, more: bytes) -> tuple[int, bytes]:
    """The status of an answer, and the answer as it goes to the socket."""
    kind = b"application/json"
    if type(answer) is Opened:
        status, body = 201 if answer.is_new else 200, opened_bytes(answer)
    elif type(answer) is int:
        status, body = 200, b'{"completed":%d}' % answer
    else:
        problem = refusal(answer)
        made = problem.response(request_id)
        status, body, kind = problem.status, bytes(made.body), b"application/problem+json"
        more += b"".join(b"%b: %b\r\n" % (k.encode(), v.encode()) for k, v in problem.headers.items())
    return status, _HEAD % (status, _PHRASES[status], kind, request_id.encode(), len(body), more) + body


def refusal(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, SojournError):
        return problem_of(error)
    return unexpected(error)
