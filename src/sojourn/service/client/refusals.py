"""What a service refused, as the error that a hub would raise."""

from __future__ import annotations

import json
from typing import Any

from ... import errors
from ...errors import ConfigError, NotAllowedError, OutcomesGoneError, RuleError, SojournError, UnreachableError
from .wire import Answer

BUSY = (429, 502, 503, 504)
AT_ONCE = ("HubFullError", "DiskError", "ClockStepError", "DamagedError")
"""Not because it is busy: asking again would not help."""
_KINDS = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}


def problem_in(body: bytes) -> dict[str, Any]:
    """The answer as problem+json, or made into such if it is something else."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    return problem if isinstance(problem, dict) else {"detail": body[:200].decode("utf-8", "replace")}


def is_busy(answer: Answer) -> bool:
    """Whether the same may be answered otherwise in a moment."""
    return answer.status in BUSY and problem_in(answer.body).get("error") not in AT_ONCE


def error_of(status: int, problem: dict[str, Any]) -> SojournError:
    detail, name = str(problem.get("detail") or f"the service answered {status}"), problem.get("error")
    kind = _KINDS.get(str(name))
    if status in (401, 403):
        return NotAllowedError(detail)
    if kind is OutcomesGoneError:
        return OutcomesGoneError(detail, int(problem.get("resume_after") or 0))
    if kind is RuleError or (kind is None and status == 422):
        return RuleError(detail, problem.get("field"))
    if kind is not None and issubclass(kind, SojournError):
        return kind(detail)
    if 400 <= status < 500:
        return ConfigError(f"{detail} (the service answered {status})")
    return UnreachableError(f"{detail} (the service answered {status})")
