"""What a report and a summary say of an outcome table, counted in one pass and in little memory.

The tally of a table is the tallies of its parts, merged, however it was split: so Spark counts where the rows are, and
only tallies travel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...rules import Outcome, Rule
from .. import schema as S  # noqa: N812
from .bins import DAY, WIDTHS, Bins, Ints
from .counts import COMPLETED, MET_LATE, NEVER_MET
from .counts import STATUSES as STATUSES
from .counts import Counts as Counts
from .deadlines import Deadline
from .rows import outcome_rows
from .what_if import ended, status_within

EXAMPLES = 12
"""How many of the slowest, and of those never met, a tally remembers."""

MOST_NAMES = 10_000
"""How many groups, and how many different things that were missing, are told apart: the most frequent."""

OTHERS = "..."
"""What the rest of them is called."""

GROUP = "group"
"""The column that says to which group an operation belongs, where an outcome table has one."""

_Bools = NDArray[np.bool_]
_Name = TypeVar("_Name")


@dataclass(frozen=True, slots=True)
class Tally:
    """The operations of one rule.

    `allowed`    how long they were allowed to take: the shortest, and the longest.
    `opened_at`  when they were opened, by status.
    `slack`      how long before its deadline each was met, by status; negative if late. Only those that complete under
                 some deadline, as far as that is known.
    `waited`     how long each was pending, by status.
    `missing`    what those that did not complete lacked.
    `slowest`    those met last, seen from their deadlines; `unmet`: those never met, the last opened first.
    `is_all_known`   whether cancellations after the deadline are known, or cannot be.
    """

    counts: Counts
    allowed: tuple[int, int]
    opened_at: Bins
    slack: Bins
    waited: Bins
    what_if: Mapping[Deadline, Counts]
    groups: Mapping[str, Counts]
    missing: Mapping[str, Counts]
    slowest: tuple[Outcome, ...]
    unmet: tuple[Outcome, ...]
    is_all_known: bool

    def plus(self, other: Tally) -> Tally:
        """Both, as if counted together."""
        return Tally(
            self.counts.plus(other.counts),
            (min(self.allowed[0], other.allowed[0]), max(self.allowed[1], other.allowed[1])),
            self.opened_at.plus(other.opened_at),
            self.slack.plus(other.slack),
            self.waited.plus(other.waited),
            _added(self.what_if, other.what_if),
            _limited(_added(self.groups, other.groups)),
            _limited(_added(self.missing, other.missing)),
            tuple(sorted(self.slowest + other.slowest, key=_latest_first)[:EXAMPLES]),
            tuple(sorted(self.unmet + other.unmet, key=_last_opened_first)[:EXAMPLES]),
            self.is_all_known and other.is_all_known,
        )


Tallies = dict[str, Tally]
"""The tally of each rule, by its name."""


def tally(outcomes: pa.Table, what_if: Sequence[Deadline] = (), rules: Sequence[Rule] = ()) -> Tallies:
    """The tallies of an outcome table, or of a part of one, made under these rules."""
    known = {rule.name: rule for rule in rules}
    names = outcomes.column(S.RULE)
    rule_names = sorted(pc.unique(names).to_pylist())
    if len(rule_names) == 1:
        return {rule_names[0]: _tally(outcomes, what_if, known.get(rule_names[0]))}
    return {name: _tally(outcomes.filter(pc.equal(names, name)), what_if, known.get(name)) for name in rule_names}


def merged(several: Iterable[Tallies]) -> Tallies:
    """The tallies of all parts together."""
    together: Tallies = {}
    for part in several:
        for name, rule_tally in part.items():
            together[name] = together[name].plus(rule_tally) if name in together else rule_tally
    return dict(sorted(together.items()))


def for_all(rules: Iterable[Rule], tallies: Tallies, what_if: Sequence[Deadline] = ()) -> Tallies:
    """The tallies of these rules, also of those under which nothing opened."""
    return {rule.name: tallies.get(rule.name) or _tally(S.DECIDED.empty_table(), what_if, rule) for rule in rules}


def total(tallies: Tallies) -> Counts:
    """The counts of all rules together."""
    return reduce(Counts.plus, (rule_tally.counts for rule_tally in tallies.values()), Counts())


def _tally(outcomes: pa.Table, what_if: Sequence[Deadline], rule: Rule | None) -> Tally:
    c = ended(outcomes)
    was_met = (c.status == COMPLETED) | (c.status == MET_LATE)
    could_complete = was_met & (c.met_at <= c.cancelled_at)
    allowed = c.deadline - c.opened_at
    may_cancel = rule is None or rule.cancels is not None
    keeps_alive = rule is not None and rule.keeps_alive is not None
    tried = {d: status_within(c, d, may_cancel=may_cancel, keeps_alive=keeps_alive) for d in what_if}
    return Tally(
        Counts.of(c.status),
        (int(allowed.min()), int(allowed.max())) if len(allowed) else (0, 0),
        _bins(c.opened_at, c.status, widest=DAY),  # for a calendar, which has no wider unit of one length
        _bins((c.deadline - c.met_at)[could_complete], c.status[could_complete]),
        _bins(c.at - c.opened_at, c.status),
        {deadline: Counts.of(status) for deadline, status in tried.items()},
        _groups(outcomes, c.status),
        _missing(outcomes, c.status),
        _examples(outcomes, was_met, c.met_at - c.deadline),
        _examples(outcomes, c.status == NEVER_MET, c.opened_at),
        c.is_all_known or not may_cancel,
    )


def _bins(values: Ints, status: Ints, widest: int = WIDTHS[-1]) -> Bins:
    return Bins.of(values, status, len(STATUSES), widest)


def _groups(outcomes: pa.Table, status: Ints) -> dict[str, Counts]:
    if GROUP not in outcomes.column_names:
        return {}
    return _counts_by(pc.fill_null(outcomes.column(GROUP), ""), status)


def _missing(outcomes: pa.Table, status: Ints) -> dict[str, Counts]:
    missing = outcomes.column(S.MISSING)
    is_there = missing.is_valid()
    return _counts_by(missing.filter(is_there), status[is_there.to_numpy()])


def _counts_by(names: pa.ChunkedArray, status: Ints) -> dict[str, Counts]:
    encoded = pc.dictionary_encode(names).combine_chunks()
    cells = encoded.indices.to_numpy() * len(STATUSES) + status
    counts = np.bincount(cells, minlength=len(encoded.dictionary) * len(STATUSES)).reshape(-1, len(STATUSES))
    named = zip(encoded.dictionary.to_pylist(), counts.tolist(), strict=True)
    return _limited({name: Counts(*row) for name, row in named})


def _examples(outcomes: pa.Table, is_candidate: _Bools, rank: Ints) -> tuple[Outcome, ...]:
    """The candidates of the highest rank; among equals, those whose ids come first."""
    places = np.flatnonzero(is_candidate)
    candidates = pa.table({"rank": rank[places], "id": outcomes.column(S.OPERATION_ID).take(places)})
    chosen = pc.select_k_unstable(candidates, EXAMPLES, [("rank", "descending"), ("id", "ascending")])
    return outcome_rows(outcomes.take(places[chosen.to_numpy()]))


def _latest_first(outcome: Outcome) -> tuple[int, str]:
    return outcome.deadline - (outcome.met_at or 0), outcome.operation_id


def _last_opened_first(outcome: Outcome) -> tuple[int, str]:
    return -outcome.opened_at, outcome.operation_id


def _added(mine: Mapping[_Name, Counts], theirs: Mapping[_Name, Counts]) -> dict[_Name, Counts]:
    return {name: mine.get(name, Counts()).plus(theirs.get(name, Counts())) for name in {**mine, **theirs}}


def _limited(counts: dict[str, Counts]) -> dict[str, Counts]:
    """The most frequent, and the others together."""
    if len(counts) <= MOST_NAMES:
        return counts
    kept = sorted(counts, key=lambda name: (name != OTHERS, -counts[name].opened, name))[:MOST_NAMES]
    others = reduce(Counts.plus, (counts[name] for name in counts.keys() - set(kept)), counts.get(OTHERS, Counts()))
    return {**{name: counts[name] for name in kept}, OTHERS: others}
