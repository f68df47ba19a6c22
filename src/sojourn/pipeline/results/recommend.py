"""Which deadline it takes for a share of operations to complete: of a rule, and of each of its groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...rules import duration_text
from .bins import rounded_up
from .deadlines import shift_text
from .summary import by_size
from .survival import Curve, DeadlineFor, Estimate
from .tally import Tally


class Recommendation(NamedTuple):
    """The deadline it takes, from the opening on or, where each operation has its own, from that one on.

    `completed`  the share that completes under the deadlines as they are, None if nobody was seen for so long.
    `most`       the share that completes under the longest deadline that can be judged.
    `end`        that deadline; None if there is no longest, as the log is complete.
    """

    opened: int
    deadline: DeadlineFor
    completed: Estimate | None
    most: Estimate
    end: int | None


def recommended(tally: Tally, share: float) -> Recommendation:
    return _recommendation(
        tally.counts.opened, tally.curve(), tally.completed() if tally.counts.opened else None, share
    )


def recommended_by_group(tally: Tally, share: float) -> Iterator[tuple[str, Recommendation]]:
    """The largest group first."""
    groups = tally.groups
    for name in by_size(groups):
        completed = groups.completed(name, tally.deadline)
        yield name, _recommendation(groups[name].opened, groups.curve(name), completed, share)


def _recommendation(opened: int, curve: Curve, completed: Estimate | None, share: float) -> Recommendation:
    return Recommendation(opened, curve.deadline_for(share), completed, curve.last(), curve.end)


def deadline_text(at: int | None, is_fixed: bool) -> str:
    """A deadline in round numbers: "20 days"; or how much later than it is: "20 min later"."""
    if at is None:
        return "not reached"
    return duration_text(rounded_up(at)) if is_fixed else shift_text(rounded_up(at))


def as_json(found: Recommendation, *, is_fixed: bool) -> dict[str, Any]:
    """Its form is documented in docs/reference/commands.md. Durations are exact, texts are in round numbers."""
    at, earliest, latest = found.deadline
    unit = "within_ms" if is_fixed else "shift_ms"
    return {
        "opened": found.opened,
        "deadline": None if at is None else deadline_text(at, is_fixed),
        unit: at,
        f"earliest_{unit}": earliest,
        f"latest_{unit}": latest,
        "completed": found.completed and found.completed.share,
        "most": found.most.share,
        f"longest_{unit}": found.end,
    }
