"""Outcomes: how an operation ended, when, and why."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, NamedTuple, TypeAlias, get_args

from .duration import duration_text
from .within import EPOCH

Ending: TypeAlias = Literal["completed", "expired", "cancelled"]

ENDED: tuple[Ending, ...] = get_args(Ending)

Standing: TypeAlias = Ending | Literal["pending"]
"""How an operation stands: how it has ended, if it has."""


class Outcome(NamedTuple):
    """The one end of an operation; or "pending", if it has none as far as the events are known. All times are integer
    milliseconds.

    `at`          when it ended; None if it is pending.
    `waited_ms`   from the opening to the end; of a pending one, its age when the log ends.
    `met_at`      when the condition was or would have been met, whatever the deadline; None if never.
    `decided_by`  the kind of the signal that completed or cancelled; "deadline" if it expired; None if it is pending.
    `missing`     what was still missing in the end, or is so far; None if nothing is.
    `seen`        how far each part of the condition had come by then, for `explain`; not a column of outcome tables.
    """

    operation_id: str
    rule: str
    key: str
    opened_at: int
    deadline: int
    outcome: Standing
    at: int | None
    waited_ms: int
    met_at: int | None
    decided_by: str | None
    missing: str | None
    seen: str = ""

    def explain(self) -> str:
        """A sentence: what became of the operation, when, and what had been seen and was missing by then."""
        if self.at is None:
            left = duration_text(self.deadline - self.opened_at - self.waited_ms)
            return f"pending for {duration_text(self.waited_ms)}, {left} left" + (f": {self.seen}" if self.seen else "")
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
