"""In front of all routes: each request gets an id and an answer, and is written to the log if it failed."""

from __future__ import annotations

import logging
import re
from time import perf_counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from .api.problems import Problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from .service import Service

logger = logging.getLogger("sojourn.service.requests")

_ID = re.compile(rb"[A-Za-z0-9._\-]{1,64}")
_TRACE = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_SAFE = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))


class Front:
    """Pure ASGI."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        visit = Visit(scope, send, self._service)
        try:
            await self._app(scope, receive, visit.send)
        except Exception:
            logger.exception("failed", extra={"fields": visit.fields()})
            if visit.status:
                raise  # the answer has begun: the connection ends
            await _UNEXPECTED.response(visit.request_id)(scope, receive, visit.send)
        finally:
            self._service.counters.by_status[visit.status] += 1
            visit.log(self._service.settings.log_requests)


_UNEXPECTED = Problem(500, "unexpected", "an error in the service itself, which is in its log; please report it")


def unexpected(error: Exception) -> Problem:
    """What to say of an error that is ours; it is in the log."""
    logger.error("failed", exc_info=error)
    return _UNEXPECTED


class Visit:
    """One request, from its arrival to its answer."""

    def __init__(self, scope: Scope, send: Send, service: Service) -> None:
        self._scope, self._send, self._service = scope, send, service
        self._began = perf_counter()
        self.status = 0
        given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        self.request_id = given.decode() if _ID.fullmatch(given) else uuid4().hex
        scope["request_id"] = self.request_id

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            names = {name for name, _ in headers}
            headers.append((b"x-request-id", self.request_id.encode()))
            headers += [header for header in _SAFE if header[0] not in names]
            if self.status < 400 and self._scope["path"].startswith("/v1/") and self._service.is_ready:
                # a client waits until it has heard of all outcomes up to its answer; only for those who may read
                headers.append((b"sojourn-last", b"%d" % self._service.feed.last))
            message["headers"] = headers
        await self._send(message)

    def fields(self) -> dict[str, Any]:
        scope = self._scope
        client = scope.get("client")
        fields = {
            "request_id": self.request_id,
            "method": scope["method"],
            "path": scope["path"],
            "status": self.status,
            "took_ms": round((perf_counter() - self._began) * 1000, 1),
            "client": client[0] if client else None,
        }
        trace = next((value for name, value in scope["headers"] if name == b"traceparent"), b"")
        if (match := _TRACE.fullmatch(trace)) is not None:
            fields["trace_id"], fields["span_id"] = match[1].decode(), match[2].decode()
        return fields

    def log(self, which: str) -> None:
        if which == "all" or (which == "failed" and self.status >= 400):
            level = logging.WARNING if self.status >= 500 else logging.INFO
            logger.log(level, "request", extra={"fields": self.fields()})
