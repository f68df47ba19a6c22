"""Which operations there are: those that events open, or that are given."""

from __future__ import annotations

import numpy as np

from ...rules import Rule
from .columns import Events, Lanes
from .evidence import Operations
from .search import Flags, Ints, count_until


def openings(rule: Rule, events: Events, lanes: Lanes | None = None, rows: Ints | None = None) -> Operations:
    """The operations that events open, by group, then time, then deadline: `law.openings`, for columns.

    `rows` are those of `opening_rows`, or some of them.
    """
    rows = opening_rows(rule, events, lanes) if rows is None else rows
    group, at = events.group[rows], events.at[rows]
    deadline = at + rule.within if isinstance(rule.within, int) else events.deadlines[rule.within][rows]
    first = events.instant[rows]
    ordinal = np.ones(len(rows), np.int64) if rule.per == "first" else _ordinals(first)
    return Operations(group, at, deadline, ordinal, first)


def opening_rows(rule: Rule, events: Events, lanes: Lanes | None = None) -> Ints:
    """The rows that open operations, in the order of `openings`."""
    rows = all_opening_rows(rule, events, lanes)
    return rows[_is_new(events.group[rows])] if rule.per == "first" else rows


def all_opening_rows(rule: Rule, events: Events, lanes: Lanes | None = None) -> Ints:
    """The same, as if each opened one."""
    rows = (lanes or Lanes(rule, events))[rule.opens].rows
    if not isinstance(rule.within, int):
        rows = rows[np.lexsort((events.deadlines[rule.within][rows], events.at[rows], events.group[rows]))]
    return rows


def given(events: Events, group: Ints, opened_at: Ints, deadline: Ints) -> Operations:
    """Operations that are no events: each looks at the events of its group."""
    low = events.starts[group]
    first = low + count_until(events.at, low, events.starts[group + 1], opened_at - 1)
    return Operations(group, opened_at, deadline, np.ones(len(group), np.int64), first)


def _ordinals(instant: Ints) -> Ints:
    """1, 2, 3 ... among neighbours of the same instant."""
    places = np.arange(len(instant))
    return places - np.maximum.accumulate(np.where(_is_new(instant), places, 0)) + 1


def _is_new(values: Ints) -> Flags:
    is_new = np.ones(len(values), bool)
    is_new[1:] = values[1:] != values[:-1]
    return is_new
