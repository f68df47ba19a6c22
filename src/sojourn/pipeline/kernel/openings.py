"""Which operations there are: those that events open, or that are given."""

from __future__ import annotations

import numpy as np

from ...rules import Rule
from .columns import Events, Lanes
from .evidence import Operations
from .search import Flags, Ints, bisect


def openings(rule: Rule, events: Events, lanes: Lanes | None = None) -> Operations:
    """The operations that events open, by group, then time, then deadline: `law.openings`, for columns."""
    rows = (lanes or Lanes(rule, events))[rule.opens].rows
    group, at = events.group[rows], events.at[rows]
    if isinstance(rule.within, int):
        deadline = at + rule.within
    else:
        deadline = events.deadlines[rule.within][rows]
        order = np.lexsort((deadline, at, group))
        rows, group, at, deadline = rows[order], group[order], at[order], deadline[order]
    first = events.instant[rows]
    if rule.per == "first":
        kept = np.flatnonzero(_is_new(group))
        return Operations(group[kept], at[kept], deadline[kept], np.ones(len(kept), np.int64), first[kept])
    return Operations(group, at, deadline, _ordinals(first), first)


def given(events: Events, group: Ints, opened_at: Ints, deadline: Ints) -> Operations:
    """Operations that are no events: each looks at the events of its group."""
    first = bisect(
        events.starts[group], events.starts[group + 1], lambda middle, active: events.at[middle] < opened_at[active]
    )
    return Operations(group, opened_at, deadline, np.ones(len(group), np.int64), first)


def _ordinals(instant: Ints) -> Ints:
    """1, 2, 3 ... among neighbours of the same instant."""
    places = np.arange(len(instant))
    return places - np.maximum.accumulate(np.where(_is_new(instant), places, 0)) + 1


def _is_new(values: Ints) -> Flags:
    is_new = np.ones(len(values), bool)
    is_new[1:] = values[1:] != values[:-1]
    return is_new
