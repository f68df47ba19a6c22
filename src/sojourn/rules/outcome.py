"""Outcomes: how an operation ended, when, and why."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, NamedTuple

from .duration import duration_text
from .within import EPOCH

Ending = Literal["completed", "expired", "cancelled"]


class Outcome(NamedTuple):
    """The one end of an operation. All times are integer milliseconds.

    `met_at`      when the condition was or would have been met, whatever the deadline; None if never.
    `decided_by`  the kind of the signal that completed or cancelled; "deadline" if it expired.
    `missing`     what was still missing at `at`; None if nothing was.
    `seen`        how far each part of the condition had come at `at`, for `explain`; not a column of outcome tables.
    """

    operation_id: str
    rule: str
    key: str
    opened_at: int
    deadline: int
    outcome: Ending
    at: int
    waited_ms: int
    met_at: int | None
    decided_by: str
    missing: str | None
    seen: str = ""

    def explain(self) -> str:
        """A sentence: what became of the operation, when, and what had been seen and was missing by then."""
        by = "" if self.outcome == "expired" else f" by {self.decided_by}"
        text = f"{self.outcome}{by} at {time_text(self.at)} after {duration_text(self.waited_ms)}"
        if self.seen:
            text += f": {self.seen}"
        if self.outcome == "expired" and self.met_at is not None:
            text += f"; met {duration_text(self.met_at - self.deadline)} late"
        return text


OUTCOME_COLUMNS = Outcome._fields[:-1]
"""The columns of an outcome table, in order."""


def time_text(ms: int) -> str:
    """A time for people to read; beyond the calendar, the bare number."""
    try:
        at = EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return f"{ms} ms"
    return f"{str(at)[:19]}{f'.{ms % 1000:03}' if ms % 1000 else ''} UTC"
