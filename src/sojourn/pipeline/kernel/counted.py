"""The least that must be kept of the events of an operation: what counts for it."""

from __future__ import annotations

import numpy as np

from ...rules import Rule
from .columns import Events, Lane, Lanes
from .evidence import Operations, evidence
from .search import Ints, order_by, ranges


def counted(rule: Rule, events: Events, operations: Operations) -> tuple[Ints, Ints]:
    """The rows that count for each operation: pairs of an operation's number and a row, by operation, then row.

    Judged by these rows alone it ends as judged by all; also together with those that count among other events, of
    other keys or other times. The rows that may decide a condition count, the first cancellation, and all keep-alives.
    """
    lanes = Lanes(rule, events)
    pairs = [evidence(leaf, lanes, events, operations).counted() for leaf in rule.leaves]
    if rule.cancels is not None:
        pairs.append(_since(lanes[rule.cancels], events, operations, most=1))
    if rule.keeps_alive is not None:
        pairs.append(_since(lanes[rule.keeps_alive], events, operations, most=len(events.at)))
    if not pairs:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    operation, row = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    order = order_by(operation, row)
    operation, row = operation[order], row[order]
    is_new = np.ones(len(row), bool)
    is_new[1:] = (operation[1:] != operation[:-1]) | (row[1:] != row[:-1])
    return operation[is_new], row[is_new]


def _since(lane: Lane, events: Events, operations: Operations, most: int) -> tuple[Ints, Ints]:
    low = lane.before[operations.first]
    counts = np.minimum(lane.before[events.starts[operations.group + 1]] - low, most)
    return np.repeat(np.arange(len(low)), counts), lane.rows[ranges(low, counts)]
