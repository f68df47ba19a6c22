"""A key that has had its one operation, and what becomes of it: it is remembered, for a time or for ever."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...kernel import Lanes, all_opening_rows, opening_rows
from ...kernel.search import Flags, Ints
from .groups import Groups


def with_ends(groups: Groups, group: Ints, at: Ints) -> Groups:
    """The same, where the one operation of these keys has ended."""
    is_done, done_until = groups.is_done.copy(), groups.done_until.copy()
    is_done[group] = True
    if groups.shape.remember_ms is not None:
        done_until[group] = at + groups.shape.remember_ms
    return replace(groups, is_done=is_done, done_until=done_until)


def is_next(groups: Groups, just_ended: Ints) -> Flags:
    """By row: whether it may open the next operation of a key whose one has just ended, or be of use to that."""
    return any_of(just_ended, len(groups.hash))[groups.group] & groups.is_free


def rows_that_open(groups: Groups, lanes: Lanes) -> Ints:
    """Those that open operations, in the order of `openings`: of a key that is done, the first that comes later."""
    rule = groups.shape.rule
    if not groups.shape.forgets_keys:
        return opening_rows(rule, groups.events, lanes)
    rows = all_opening_rows(rule, groups.events, lanes)
    has_none = ~any_of(groups.opened.group, len(groups.hash))
    rows = rows[(groups.is_free & ~groups.is_spent & has_none[groups.group])[rows]]
    first: Ints = rows[np.append(True, groups.group[rows[1:]] != groups.group[rows[:-1]])[: len(rows)]]
    return first


def forget_in_time(groups: Groups, settled: Ints, due: Ints) -> None:
    """Where nothing is pending, what is remembered is looked at again when it is to be forgotten."""
    shape = groups.shape
    if shape.forgets_keys:
        done = np.flatnonzero(groups.is_done)
        due[done] = np.minimum(due[done], shape.forget_at(groups.done_until[done] - (shape.remember_ms or 0)))
    np.minimum.at(due, groups.group[settled], shape.forget_at(groups.at[settled]))


def any_of(group: Ints, count: int) -> Flags:
    flags = np.zeros(count, bool)
    flags[group] = True
    return flags
