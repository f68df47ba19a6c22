"""What a stream must keep of its events."""

from __future__ import annotations

import numpy as np

from ...rules import Reached, Rule
from .columns import NEVER, Events, Lanes
from .evidence import Operations
from .search import Flags


def still_needed(rule: Rule, events: Events, operations: Operations, is_open: Flags) -> Flags:
    """The rows that an operation which is still open may look at again: those since the earliest such opening of the
    group that the rule can use, and from before it those that reached a level.

    The rest may be forgotten, if what was opened is kept as `Operations`: `judge` then gives the same verdicts.
    """
    since = np.full(len(events.starts) - 1, NEVER)
    np.minimum.at(since, operations.group[is_open], operations.opened_at[is_open])
    earliest = since[events.group]
    lanes = Lanes(rule, events)
    needed = np.zeros(len(events.at), bool)
    levels = {leaf.kind for leaf in rule.leaves if isinstance(leaf, Reached)}
    for kind in {*rule.places_by_kind, rule.cancels, rule.keeps_alive} - {None}:
        rows = lanes[str(kind)].rows
        limit = earliest[rows]
        needed[rows] = limit < NEVER if kind in levels else events.at[rows] >= limit
    return needed
