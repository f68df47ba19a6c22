"""What a shard must keep of its rows, once no event stamped before the watermark is still to come."""

from __future__ import annotations

import numpy as np

from ...rules import Reached
from ..kernel import Lanes, reaching
from ..kernel.search import Flags, Ints
from .groups import Groups


def needed_rows(groups: Groups, lanes: Lanes, watermark: int, since: Ints, is_claimed: Flags, is_done: Flags) -> Flags:
    """The rows that an operation may still look at, one that is open or one that is still to come.

    `since` says for each key from when on its open operations look, NEVER if it has none; `is_claimed` and `is_done`,
    which ones have, or had, the only operation they can have. A row stamped before the watermark is settled: it is of
    use to operations that are open, if it is a signal. (A cancellation would have ended them, and what kept them alive
    is in their `since`.) A row stamped later may also meet an opening that is still to come, or be one.
    """
    shape, kind = groups.shape, groups.kind
    is_settled = groups.at < watermark
    is_needed = ~is_settled & ~(shape.only_opens[kind] & is_claimed[groups.group])
    is_needed |= is_settled & shape.is_signal[kind] & (groups.at >= since[groups.group])
    for leaf in shape.rule.leaves:
        if isinstance(leaf, Reached):
            rows = _first_to_reach(leaf, groups, lanes)
            is_needed[rows[is_settled[rows]]] = True
    return is_needed & ~is_done[groups.group]


def _first_to_reach(leaf: Reached, groups: Groups, lanes: Lanes) -> Ints:
    """The rows that made a level hold, or helped to: it holds for every operation to come."""
    events = groups.events
    lane = reaching(leaf, lanes[leaf.kind], events)
    before = lane.before[events.starts[groups.group[lane.rows]]]
    return lane.rows[np.arange(len(lane.rows)) - before < leaf.by]
