"""What is due when, and how long it takes to tell: a herd is seen before it arrives."""

from __future__ import annotations

from typing import Any

from ...durable.state.horizon import Horizon
from .pulse import Pulse

HERD_TIMES = 4
"""So many times the mean are a herd, if telling them takes a while."""
HERD_MS = 100


def forecast(ahead: Horizon, pulse: Pulse) -> dict[str, Any]:
    """All of it as JSON. `backlog` is what would still be untold at the end of each bucket, if none completes."""
    per_ms = pulse.per_second / 1_000
    return {
        "now_ms": ahead.now,
        "pending": ahead.pending,
        "overdue": ahead.overdue,
        "later": ahead.later,
        "stopped": ahead.stopped,
        "next_due": ahead.next_due,
        "start": ahead.start,
        "width_ms": ahead.width_ms,
        "counts": ahead.counts,
        "backlog": backlog(ahead, per_ms),
        "told_per_second": round(pulse.per_second),
        "is_measured": pulse.is_measured,
        "drain_ms": round(ahead.overdue / per_ms),
        "herds": herds(ahead, per_ms),
    }


def backlog(ahead: Horizon, per_ms: float) -> list[int]:
    left, found = float(ahead.overdue), []
    for count in ahead.counts:
        left = max(0.0, left + count - per_ms * ahead.width_ms)
        found.append(round(left))
    return found


def herds(ahead: Horizon, per_ms: float) -> list[dict[str, int]]:
    """Seconds, or minutes, with many more than others, if telling them takes long enough to notice; largest first."""
    unit_ms = 1_000 if ahead.width_ms < 60_000 else 60_000
    mean = sum(ahead.counts) * unit_ms / (ahead.width_ms * max(1, len(ahead.counts)))
    return [
        {"at": at, "waits": count, "takes_ms": round(count / per_ms)}
        for at, count in ahead.crowds
        if count > HERD_TIMES * mean and count / per_ms >= HERD_MS
    ]
