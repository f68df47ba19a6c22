"""What a report and a summary say of an outcome table, counted in one pass and in little memory.

The tally of a table is the tallies of its parts, merged, however it was parted: so Spark counts where the rows are, and
only tallies travel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...rules import Outcome, Rule
from .. import schema as S  # noqa: N812
from .bins import DAY, WIDTHS, Bins, Ints
from .deadlines import Deadline
from .rows import ms_or_zero, outcome_rows

STATUSES = (S.COMPLETED, S.MET_LATE, S.NEVER_MET, S.CANCELLED)
"""What became of an operation, in the words of the summary: the expired are those met late and those never met."""

EXAMPLES = 12
"""How many of the slowest, and of those never met, a tally remembers."""

MOST_NAMES = 10_000
"""How many groups, and how many different things that were missing, are told apart: the most frequent."""

OTHERS = "..."
"""What the rest of them is called."""

GROUP = "group"
"""The column that says to which group an operation belongs, where an outcome table has one."""

_COMPLETED, _MET_LATE, _NEVER_MET, _CANCELLED = range(len(STATUSES))
_Bools = NDArray[np.bool_]
_Name = TypeVar("_Name")


class Counts(NamedTuple):
    """How many operations ended how, in the order of `STATUSES`."""

    completed: int = 0
    met_late: int = 0
    never_met: int = 0
    cancelled: int = 0

    @property
    def opened(self) -> int:
        return sum(self)

    @property
    def expired(self) -> int:
        return self.met_late + self.never_met

    def plus(self, other: Counts) -> Counts:
        return Counts(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class Tally:
    """The operations of one rule.

    `allowed`    how long they were allowed to take: the shortest, and the longest.
    `opened_at`  when they were opened, by status.
    `slack`      how long before its deadline each was met, by status; negative if late. Only completed and met late.
    `waited`     how long each was pending, by status.
    `missing`    what those that did not complete lacked.
    `slowest`    those met last, seen from their deadlines; `unmet`: those never met, the last opened first.
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
        )


Tallies = dict[str, Tally]
"""The tally of each rule, by its name."""


def tally(outcomes: pa.Table, what_if: Sequence[Deadline] = ()) -> Tallies:
    """The tallies of an outcome table, or of a part of one."""
    rules = outcomes.column(S.RULE)
    names = sorted(pc.unique(rules).to_pylist())
    if len(names) == 1:
        return {names[0]: _tally(outcomes, what_if)}
    return {name: _tally(outcomes.filter(pc.equal(rules, name)), what_if) for name in names}


def merged(several: Iterable[Tallies]) -> Tallies:
    """The tallies of all parts together."""
    found: Tallies = {}
    for part in several:
        for name, own in part.items():
            found[name] = found[name].plus(own) if name in found else own
    return dict(sorted(found.items()))


def for_all(rules: Iterable[Rule], tallies: Tallies, what_if: Sequence[Deadline] = ()) -> Tallies:
    """The tallies of these rules, also of those under which nothing opened."""
    return {rule.name: tallies.get(rule.name) or _tally(S.OUTCOMES.empty_table(), what_if) for rule in rules}


def total(tallies: Tallies) -> Counts:
    """The counts of all rules together."""
    return reduce(Counts.plus, (own.counts for own in tallies.values()), Counts())


class _Columns(NamedTuple):
    """The numbers of an outcome table; `met_at` means nothing where it is not `is_met`."""

    opened_at: Ints
    deadline: Ints
    at: Ints
    met_at: Ints
    is_met: _Bools
    status: Ints


def _tally(outcomes: pa.Table, what_if: Sequence[Deadline]) -> Tally:
    c = _columns(outcomes)
    was_met = (c.status == _COMPLETED) | (c.status == _MET_LATE)
    allowed = c.deadline - c.opened_at
    return Tally(
        _counts(c.status),
        (int(allowed.min()), int(allowed.max())) if len(allowed) else (0, 0),
        _bins(c.opened_at, c.status, widest=DAY),  # for a calendar, which has no wider unit of one length
        _bins((c.deadline - c.met_at)[was_met], c.status[was_met]),
        _bins(c.at - c.opened_at, c.status),
        {deadline: _counts(_status_within(c, deadline)) for deadline in what_if},
        _groups(outcomes, c.status),
        _missing(outcomes, c.status),
        _examples(outcomes, was_met, c.met_at - c.deadline),
        _examples(outcomes, c.status == _NEVER_MET, c.opened_at),
    )


def _columns(outcomes: pa.Table) -> _Columns:
    opened_at, deadline, at, met_at = (ms_or_zero(outcomes.column(name)) for name in S.OUTCOME_TIMES)
    is_met = outcomes.column(S.MET_AT).is_valid().to_numpy()
    ending = outcomes.column(S.OUTCOME)
    is_completed, is_cancelled = (pc.equal(ending, name).to_numpy() for name in (S.COMPLETED, S.CANCELLED))
    status = np.select([is_completed, is_cancelled, is_met], [_COMPLETED, _CANCELLED, _MET_LATE], _NEVER_MET)
    return _Columns(opened_at, deadline, at, met_at, is_met, status)


def _status_within(c: _Columns, deadline: Deadline) -> Ints:
    """What would have become of each operation under another deadline.

    A cancellation is known only where it won. Where a rule has one, a longer deadline therefore counts as completed
    what may have been cancelled between the two.
    """
    until = np.maximum((c.deadline if deadline.is_shift else c.opened_at) + deadline.ms, c.opened_at)
    is_cancelled = (c.status == _CANCELLED) & (c.at <= until)
    is_completed = c.is_met & (c.met_at <= until)
    return np.select([is_cancelled, is_completed, c.is_met], [_CANCELLED, _COMPLETED, _MET_LATE], _NEVER_MET)


def _bins(values: Ints, status: Ints, widest: int = WIDTHS[-1]) -> Bins:
    return Bins.of(values, status, len(STATUSES), widest)


def _counts(status: Ints) -> Counts:
    return Counts(*map(int, np.bincount(status, minlength=len(STATUSES))))


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
