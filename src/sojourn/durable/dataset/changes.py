"""What was done by hand, and how signals were kept: the records of a log that are neither events nor outcomes."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from ...pipeline.kernel.columns import NEVER
from ...pipeline.kernel.search import Ints
from ..state.state import Settings
from . import schema as D  # noqa: N812
from .past import Past, positions

CHANGES_BY_HAND = ("extend", "cancel", "cancel_where", "shift")


class Change(NamedTuple):
    """A record: where it is, what it is, when it was written, and the rest of its body."""

    position: int
    record: str
    stamp: int
    body: list[Any]


def changes_of(past: Past) -> list[Change]:
    """In the order of the log."""
    rows = zip(
        positions(past.changes).tolist(),
        past.changes[D.RECORD].to_pylist(),
        map(json.loads, past.changes[D.BODY].to_pylist()),
        strict=True,
    )
    return [Change(position, record, stamp, body) for position, record, (stamp, *body) in rows]


def settings_of(start: Change) -> Settings:
    return Settings(**start.body[0])


def heard_from(changes: list[Change], position: Ints) -> Ints:
    """Where in the log signals that are at these positions come to count.

    That is where they are; or, during a grace, where it ends, or where somebody changes something by hand. NEVER, if
    the log ends before.
    """
    counted = position.copy()
    held_since: int | None = None
    for change in changes:
        is_start = change.record == "start"
        is_over = change.record in (*CHANGES_BY_HAND, "grace_over") or (is_start and not _grace(change))
        if held_since is not None and is_over:
            counted[(position > held_since) & (position < change.position)] = change.position
            held_since = change.position if change.record in CHANGES_BY_HAND else None
        if is_start and _grace(change) and held_since is None:
            held_since = change.position
    if held_since is not None:
        counted[position > held_since] = NEVER
    return np.asarray(counted)


def _grace(start: Change) -> int:
    return settings_of(start).grace_ms
