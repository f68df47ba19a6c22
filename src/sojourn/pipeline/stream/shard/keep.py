"""What a shard must keep of its rows, once no event stamped before the watermark is still to come."""

from __future__ import annotations

import numpy as np

from ....rules import Reached
from ...kernel import NEVER, Lanes, reaching
from ...kernel.amounts import is_at_least
from ...kernel.columns import number_of
from ...kernel.search import Flags, Ints
from .groups import Groups


def needed_rows(groups: Groups, lanes: Lanes, watermark: int, since: Ints, is_claimed: Flags) -> Flags:
    """The rows that an operation may still look at, one that is open or one that is still to come.

    `since` says for each key from when on its open operations look, NEVER if it has none; `is_claimed`, which ones
    have, or had, the only operation they can have. A row stamped before the watermark is settled: it is of
    use to operations that are open, if it is a signal. (A cancellation would have ended them, and what kept them alive
    is in their `since`.) A row stamped later may also meet an opening that is still to come, or be one.
    """
    shape, kind = groups.shape, groups.kind
    is_settled = groups.at < watermark
    is_needed = ~is_settled
    if not shape.forgets_keys:
        is_needed &= ~(shape.only_opens[kind] & is_claimed[groups.group])
    is_needed |= is_settled & shape.is_signal[kind] & (groups.at >= since[groups.group])
    for leaf in shape.rule.leaves:
        if isinstance(leaf, Reached):
            rows = _levels(leaf, groups, lanes, watermark, since != NEVER)
            is_needed[rows[is_settled[rows]]] = True
    return is_needed & groups.is_free


def _levels(leaf: Reached, groups: Groups, lanes: Lanes, watermark: int, is_open: Flags) -> Ints:
    """The rows that say which levels were reached. What is too old is of use only where an operation is open."""
    first = _first_to_reach(leaf, groups, lanes)
    if groups.shape.remember_ms is None:
        return first
    rows = np.union1d(first, _last_to_reach(leaf, groups, lanes, watermark))
    is_remembered = groups.shape.forget_at(groups.at[rows]) >= watermark
    return rows[is_remembered | is_open[groups.group[rows]]]


def _last_to_reach(leaf: Reached, groups: Groups, lanes: Lanes, watermark: int) -> Ints:
    """Of settled rows, the last of each source, for as many sources as are needed: they are remembered longest."""
    events = groups.events
    lane = lanes[leaf.kind]
    rows = lane.rows[is_at_least(events.numbers[number_of(leaf)].take(lane.rows), leaf.at_least)]
    rows = rows[groups.at[rows] < watermark][::-1]  # the last of each key first; keys one after the other
    if leaf.by > 1 and events.source is not None:
        _, firsts = np.unique(np.stack([groups.group[rows], events.source[rows]]), axis=1, return_index=True)
        rows = rows[np.sort(firsts)]
    group = groups.group[rows]
    starts = np.flatnonzero(np.append(True, group[1:] != group[:-1])[: len(group)])
    nth = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows))))
    return rows[nth < leaf.by]


def _first_to_reach(leaf: Reached, groups: Groups, lanes: Lanes) -> Ints:
    """The rows that made a level hold, or helped to: it holds for every operation to come."""
    events = groups.events
    lane = reaching(leaf, lanes[leaf.kind], events)
    before = lane.before[events.starts[groups.group[lane.rows]]]
    return lane.rows[np.arange(len(lane.rows)) - before < leaf.by]
