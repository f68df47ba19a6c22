"""Keep-alive: `law.extended`, for columns."""

from __future__ import annotations

import numpy as np

from .columns import Events, Lane
from .evidence import Operations
from .search import Ints, Minima, count_until


class Chains:
    """For each operation, the chain of keep-alive events that move its deadline.

    Whether a link holds depends on the two events that it joins and on `within`: so the end of a chain is the first gap
    in the lane that is too long, wherever the chain began.
    """

    def __init__(self, lane: Lane, events: Events, operations: Operations) -> None:
        self._at = lane.at
        self._low = lane.before[operations.first]
        self._within = operations.deadline - operations.opened_at
        self._deadline = operations.deadline
        high = lane.before[events.starts[operations.group + 1]]
        begins = np.flatnonzero(self._low < high)
        begins = begins[lane.at[self._low[begins]] <= operations.deadline[begins]]
        self._links = np.zeros(len(high), np.int64)
        self._links[begins] = self._ends(lane, begins, high) - self._low[begins]

    def deadline(self) -> Ints:
        """The deadline, moved as far as the chain is unbroken."""
        return self._moved(np.arange(len(self._links)), self._links)

    def deadline_at(self, chosen: Ints, at: Ints) -> Ints:
        """The deadline that was in force at a time of the chain, for these operations."""
        low = self._low[chosen]
        return self._moved(chosen, count_until(self._at, low, low + self._links[chosen], at))

    def _ends(self, lane: Lane, begins: Ints, high: Ints) -> Ints:
        """The place in the lane at which each chain is broken."""
        gaps = np.diff(lane.at, prepend=0)
        within = self._within[begins]
        if within.size and (within == within[0]).all():
            is_broken = gaps > within[0]
            places = np.where(is_broken, np.arange(len(gaps)), len(gaps))
            following = np.minimum.accumulate(places[::-1])[::-1]
            ends = np.append(following, len(gaps))[self._low[begins] + 1]
        else:
            ends = Minima(-gaps).first_below(self._low[begins] + 1, -within)
        return np.asarray(np.minimum(ends, high[begins]))

    def _moved(self, chosen: Ints, links: Ints) -> Ints:
        deadline = self._deadline[chosen]
        is_moved = links > 0
        last = self._low[chosen][is_moved] + links[is_moved] - 1
        deadline[is_moved] = self._at[last] + self._within[chosen][is_moved]
        return deadline
