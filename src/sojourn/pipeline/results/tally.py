"""What a report and a summary say of an outcome table, counted in one pass and in little memory.

The tally of a table is the tallies of its parts, merged, however it was split: so Spark counts where the rows are, and
only tallies travel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...rules import AsOf, Never, Outcome, Rule
from .. import schema as S  # noqa: N812
from ..kernel import NEVER
from . import periods as calendars
from . import survival
from .bins import Bins, Encoded, Ints, encoded
from .counts import COMPLETED, MET_LATE, NEVER_MET
from .counts import STATUSES as STATUSES
from .counts import Counts as Counts
from .deadlines import Deadline
from .named import Named
from .observed import Observed, Spells, known_until, observed, opened_by
from .periods import Periods
from .rows import few_of, outcome_rows
from .survival import Curve, Estimate
from .what_if import Tried, added, by_rule, try_deadlines

EXAMPLES = 12
"""How many of the slowest, and of those never met, a tally remembers."""

_Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Tally:
    """The operations of one rule.

    `opened`     when they were opened: the first, and the last.
    `allowed`    how long they were allowed to take: the shortest, and the longest.
    `slack`      how long before its deadline each was met or lost sight of, negative if later; classes of `survival`.
    `spells`     the same before its opening, and so never positive; where each has a deadline of its own, as `slack`.
    `waited`     how long each was pending, by status, where nothing is awaited.
    `groups`     the operations of each group, if there are groups: counts, and durations as in `spells`.
    `periods`    the same by when they were opened, in one or two calendars.
    `missing`    what those that did not complete lacked.
    `slowest`    those met last, seen from their deadlines; `unmet`: those never met, the last opened first.
    `as_of`      the end of the log; None if it is complete.
    `is_fixed`   whether all have the same time, by the rule.
    `is_all_known`   whether cancellations after the deadline are known, or cannot be.
    """

    counts: Counts
    opened: tuple[int, int]
    allowed: tuple[int, int]
    slack: Bins
    spells: Bins
    waited: Bins
    what_if: Mapping[Deadline, Tried]
    groups: Named
    periods: tuple[Periods, ...]
    missing: Named
    slowest: tuple[Outcome, ...]
    unmet: tuple[Outcome, ...]
    as_of: int | None
    is_fixed: bool
    is_all_known: bool

    def plus(self, other: Tally) -> Tally:
        """Both, as if counted together."""
        opened = _range(self.opened, other.opened)
        return Tally(
            self.counts.plus(other.counts),
            opened,
            _range(self.allowed, other.allowed),
            self.slack.plus(other.slack),
            self.spells.plus(other.spells),
            self.waited.plus(other.waited),
            added(self.what_if, other.what_if),
            self.groups.plus(other.groups),
            calendars.merged(self.periods, other.periods, opened),
            self.missing.plus(other.missing),
            tuple(sorted(self.slowest + other.slowest, key=_latest_first)[:EXAMPLES]),
            tuple(sorted(self.unmet + other.unmet, key=_last_opened_first)[:EXAMPLES]),
            None if self.as_of is None or other.as_of is None else max(self.as_of, other.as_of),
            self.is_fixed,
            self.is_all_known and other.is_all_known,
        )

    def curve(self) -> Curve:
        """The share that completes, by deadline: from the opening on, or from the deadline that each has."""
        return survival.curve(self.spells)

    def completed(self) -> Estimate | None:
        """The share that completes under the deadlines as they are; None if nobody was seen for so long."""
        return survival.curve(self.slack, only_completed=True).all_by(0)

    @property
    def deadline(self) -> int:
        """Where the deadline lies in a curve."""
        return self.allowed[0] if self.is_fixed else 0


Tallies = dict[str, Tally]
"""The tally of each rule, by its name."""


def tally(
    outcomes: pa.Table, what_if: Sequence[Deadline] = (), rules: Sequence[Rule] = (), as_of: AsOf = "log"
) -> Tallies:
    """The tallies of an outcome table, or of a part of one, made under these rules.

    `as_of` "log" is the end of the log that the table tells, as in `what_if`.
    """
    known = {rule.name: rule for rule in rules}
    end = known_until(outcomes, as_of)
    parts = by_rule(opened_by(outcomes, end))
    return {name: _tally(rows, observed(rows, end), what_if, known.get(name)) for name, rows in parts}


def merged(several: Iterable[Tallies]) -> Tallies:
    """The tallies of all parts together."""
    together: Tallies = {}
    for part in several:
        for name, rule_tally in part.items():
            together[name] = together[name].plus(rule_tally) if name in together else rule_tally
    return dict(sorted(together.items()))


def for_all(rules: Iterable[Rule], tallies: Tallies, what_if: Sequence[Deadline] = ()) -> Tallies:
    """The tallies of these rules, also of those under which nothing opened."""
    empty = S.DECIDED.empty_table()
    nothing = observed(empty, None)
    return {rule.name: tallies.get(rule.name) or _tally(empty, nothing, what_if, rule) for rule in rules}


def total(tallies: Tallies) -> Counts:
    """The counts of all rules together."""
    return reduce(Counts.plus, (rule_tally.counts for rule_tally in tallies.values()), Counts())


def _tally(outcomes: pa.Table, numbers: Observed, what_if: Sequence[Deadline], rule: Rule | None) -> Tally:
    status, may_cancel = numbers.status, rule is None or rule.cancels is not None
    is_fixed = rule is None or isinstance(rule.within, int)
    spells = numbers.spells()
    kind = _classes(numbers, spells)
    slack = _before(numbers.deadline, spells)
    since = encoded(_before(numbers.opened_at, spells) if is_fixed else slack, kind, survival.CLASSES)
    return Tally(
        Counts.of(status),
        _ends(numbers.opened_at),
        _ends(numbers.deadline - numbers.opened_at),
        Bins.of(slack, kind, survival.CLASSES),
        Bins.counted(since),
        _waited(outcomes, status, rule),
        try_deadlines(numbers, what_if, may_cancel=may_cancel, keeps_alive=rule is not None and bool(rule.keeps_alive)),
        _groups(outcomes, status, since),
        calendars.by_period(numbers.opened_at, status, since, outcomes.column(S.OPERATION_ID)),
        Named.of(outcomes.column(S.MISSING), status),
        _examples(outcomes, (status == COMPLETED) | (status == MET_LATE), numbers.met_at - numbers.deadline),
        _examples(outcomes, status == NEVER_MET, numbers.opened_at),
        numbers.as_of,
        is_fixed,
        numbers.is_all_known or not may_cancel,
    )


def _range(mine: tuple[int, int], theirs: tuple[int, int]) -> tuple[int, int]:
    return min(mine[0], theirs[0]), max(mine[1], theirs[1])


def _ends(values: Ints) -> tuple[int, int]:
    return (int(values.min()), int(values.max())) if len(values) else (0, 0)


def _classes(numbers: Observed, spells: Spells) -> Ints:
    met = np.where(numbers.met_at <= numbers.deadline, survival.COMPLETED, survival.MET_LATE)
    return np.where(spells.is_met, met, np.where(spells.last < NEVER, survival.CENSORED, survival.UNMET))


def _before(times: Ints, spells: Spells) -> Ints:
    """How long before these times the spells were over; 0 where they never are."""
    return np.where(spells.last < NEVER, times - spells.last, 0)


def _waited(outcomes: pa.Table, status: Ints, rule: Rule | None) -> Bins:
    if rule is not None and not isinstance(rule.until, Never):
        outcomes, status = outcomes.slice(0, 0), status[:0]
    return Bins.of(outcomes.column(S.WAITED_MS).to_numpy(), status, len(STATUSES))


def _groups(outcomes: pa.Table, status: Ints, spells: Encoded) -> Named:
    if S.GROUP not in outcomes.column_names:
        return Named.of(pa.chunked_array([], pa.string()), status[:0])
    return Named.of(pc.fill_null(outcomes.column(S.GROUP), ""), status, spells)


def _examples(outcomes: pa.Table, is_candidate: _Bools, rank: Ints) -> tuple[Outcome, ...]:
    """The candidates of the highest rank; among equals, those whose ids come first."""
    places = np.flatnonzero(is_candidate)
    ranks = rank[places]
    if len(places) > EXAMPLES:
        is_high = ranks >= np.partition(ranks, -EXAMPLES)[-EXAMPLES]
        places, ranks = places[is_high], ranks[is_high]
    candidates = pa.table({"rank": ranks, "id": few_of(outcomes.column(S.OPERATION_ID), places)})
    chosen = pc.select_k_unstable(candidates, EXAMPLES, [("rank", "descending"), ("id", "ascending")])
    rows = [outcomes.slice(place, 1) for place in places[chosen.to_numpy()].tolist()]
    return outcome_rows(pa.concat_tables(rows)) if rows else ()


def _latest_first(outcome: Outcome) -> tuple[int, str]:
    return outcome.deadline - (outcome.met_at or 0), outcome.operation_id


def _last_opened_first(outcome: Outcome) -> tuple[int, str]:
    return -outcome.opened_at, outcome.operation_id
