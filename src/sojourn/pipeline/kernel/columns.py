"""What the kernel reads: the events as columns, sorted by group, then time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...rules import Leaf, Reached, Rule, Seen, Total
from ...rules.within import Within
from .passes import groups, instants, marked, narrowed
from .search import Flags, Ints

NEVER = np.iinfo(np.int64).max
"""A time that does not come."""

UNREADABLE = np.iinfo(np.int64).min
"""A missing deadline."""


@dataclass(frozen=True)
class Numbers:
    """A column of numbers; where `is_number` is false, the value means nothing.

    `values`  float64; or int64, in units of 10**-scale; or, where those do not fit, several int64 per number, in the
              same units: a row of digits in base 2**31 (`limbs`), the lowest first. The last has the sign.
    """

    values: NDArray[Any]
    is_number: Flags
    scale: int = 0

    def take(self, rows: Ints) -> Numbers:
        return Numbers(self.values[rows], self.is_number[rows], self.scale)

    @property
    def is_float(self) -> bool:
        return self.values.dtype.kind == "f"

    @property
    def is_amount(self) -> Flags:
        """Where there is a number that can be added up."""
        top = self.values if self.values.ndim == 1 else self.values[:, -1]
        return self.is_number & (top >= 0) & (top < np.inf)


@dataclass(frozen=True)
class Events:
    """Rows sorted by group, then `at`: a group is the events that one operation may look at, those of a key.

    `starts`     the first row of each group, then the number of rows: group g is rows starts[g]:starts[g + 1].
    `at`         epoch milliseconds.
    `kind`       a code: the index of the kind in `kinds`; events with any other code are ignored.
    `source`     a code, the same for the same source; None where no rule asks for sources.
    `numbers`    by name, for `total` and `reached`: "value", and the further columns that a rule adds up.
    `deadlines`  by the rule's `within`, where that is a column and events open operations; UNREADABLE if missing.
    """

    starts: Ints
    at: Ints
    kind: NDArray[Any]
    kinds: tuple[str, ...]
    source: Ints | None = None
    numbers: Mapping[str, Numbers] = field(default_factory=dict)
    deadlines: Mapping[Within, Ints] = field(default_factory=dict)

    def take(self, rows: Ints, starts: Ints) -> Events:
        """Some of the rows, perhaps several times, in other groups."""
        return Events(
            starts,
            self.at[rows],
            self.kind[rows],
            self.kinds,
            None if self.source is None else self.source[rows],
            {name: numbers.take(rows) for name, numbers in self.numbers.items()},
            {within: deadlines[rows] for within, deadlines in self.deadlines.items()},
        )

    @cached_property
    def group(self) -> Ints:
        """The group of each row."""
        return groups(self.starts, len(self.at))

    @cached_property
    def instant(self) -> Ints:
        """For each row, the first one of its group and time."""
        return instants(self.at, self.starts)


@dataclass(frozen=True)
class Lane:
    """Some of the rows, those of one kind that a rule can use: their times, and how many come before each row."""

    rows: Ints
    at: Ints
    before: Ints

    @staticmethod
    def of(events: Events, chosen: Flags) -> Lane:
        return Lane(*marked(chosen, events.at))

    def only(self, events: Events, chosen: Flags) -> Lane:
        """Those of its rows that are chosen."""
        return Lane(*narrowed(self.rows, self.at, chosen, len(events.at)))


class Lanes:
    """The lane of each kind, for one rule. An event that the rule cannot use is in no lane: it counts for nothing."""

    def __init__(self, rule: Rule, events: Events) -> None:
        self._rule = rule
        self._events = events
        self._known: dict[str, Lane] = {}

    def __getitem__(self, kind: str) -> Lane:
        if kind not in self._known:
            self._known[kind] = Lane.of(self._events, self._usable(kind))
        return self._known[kind]

    def _usable(self, kind: str) -> Flags:
        events, rule = self._events, self._rule
        code = events.kinds.index(kind) if kind in events.kinds else -1
        chosen: Flags = events.kind == code
        if kind == rule.opens and rule.within in events.deadlines:
            chosen &= events.deadlines[rule.within] != UNREADABLE
        for leaf in rule.leaves:
            if leaf.kind == kind and not isinstance(leaf, Seen):
                chosen &= is_readable(leaf, events.numbers[number_of(leaf)])
        return chosen


def number_of(leaf: Total | Reached) -> str:
    """The name of the column that a leaf reads."""
    return leaf.of if isinstance(leaf, Total) else "value"


def is_readable(leaf: Leaf, numbers: Numbers) -> Flags:
    """Where there is a number that the leaf can use, as `rules.event_error` has it."""
    return numbers.is_amount if isinstance(leaf, Total) else numbers.is_number
