"""What is wrong with a request, as problem+json (RFC 9457): what was given, what is allowed, and the way out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from ...errors import (
    ConfigError,
    DelayError,
    HubFullError,
    IdTakenError,
    LivelockError,
    NotStorableError,
    OutcomesGoneError,
    PurgatoryClosedError,
    RuleError,
    SojournError,
    StorageError,
)

MEDIA_TYPE = "application/problem+json"

_STATUS: tuple[tuple[type[SojournError], int], ...] = (
    (IdTakenError, 409),
    (OutcomesGoneError, 410),
    (HubFullError, 429),
    (NotStorableError, 422),
    (RuleError, 422),
    (ConfigError, 422),
    (DelayError, 422),
    (LivelockError, 422),
    (PurgatoryClosedError, 503),
    (StorageError, 503),
)
"""The status of each of our errors; the first that fits."""


_OVER_HTTP = (
    ("register it first", "register it first, with PUT /v1/rules/{name}"),
    ("or allow more", "or start the service with a larger --max-pending"),
    ("resume it first", 'resume it first, with POST /v1/incidents and {"act": "resume", "rule": ...}'),
    ("use several calls", "send several requests"),
    ("allowed is a table with", "allowed is an object with"),
    ("and tables with", "and objects with"),
)
"""What a Python programmer is told to do, and what that is over HTTP."""
_FIELD = re.compile(r"(id|key|kind|payload|source|value|at|by|note)(?==| is | has )")
"""Our errors name first what is at fault."""


class Problem(Exception):  # noqa: N818  (it is an answer)
    """An answer that refuses: `field` names what is at fault, `headers` and `more` go along."""

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        field: str | None = None,
        *,
        headers: dict[str, str] | None = None,
        more: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail, self.field = status, title, detail, field
        self.headers = headers or {}
        self.more = more
        """Asked for when the answer is written: by then what the request waited for is known."""

    def shape(self, request_id: str | None = None) -> dict[str, Any]:
        body = {"type": "about:blank", "title": self.title, "status": self.status, "detail": self.detail, **self.more()}
        if self.field is not None:
            body["field"] = self.field
        if request_id is not None:
            body["request_id"] = request_id
        return body

    def response(self, request_id: str | None = None) -> Response:
        body = json.dumps(self.shape(request_id), ensure_ascii=False).encode("utf-8", "replace")
        return Response(body, self.status, self.headers, MEDIA_TYPE)


def refused(detail: str, field: str | None = None) -> Problem:
    """422: understood, and not allowed."""
    return Problem(422, "not allowed", detail, field)


def problem_of(error: SojournError) -> Problem:
    """What one of our errors means to whoever asked."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    headers = {"retry-after": "1"} if status in (429, 503) else {}
    title = HTTPStatus(status).phrase.lower() if status != 422 else "not allowed"
    more: dict[str, Any] = {"error": type(error).__name__}  # so that a client raises what a hub would
    if isinstance(error, OutcomesGoneError):
        more["resume_after"] = error.resume_after
    detail = over_http(str(error))
    return Problem(status, title, detail, _field_of(error, detail), headers=headers, more=lambda: more)


def over_http(detail: str) -> str:
    for in_python, words in _OVER_HTTP:
        detail = detail.replace(in_python, words)
    return detail


def _field_of(error: SojournError, detail: str) -> str | None:
    given: str | None = getattr(error, "field", None)
    if given is None and (named := _FIELD.match(detail)) is not None:
        return named[1]
    return given
