"""What would have become of operations under other deadlines: for tables, tallies and Spark alike.

An outcome says when the condition was met, whatever the deadline, so that most of it follows without a second run. Two
things it does not say. What came after the end of the log: under a longer deadline an operation may be pending. And
whether a cancellation came after its deadline: under a rule that cancels, a longer one may leave the end of an
operation open; it counts as unknown. Where a run still knows its cancellations (the column `schema.CANCELLED_AT`), none
does.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...rules import AsOf, Rule
from .. import schema as S  # noqa: N812  (as F for Spark's functions)
from ..kernel.search import Ints
from . import counts as status_of
from . import survival
from .bins import Bins
from .counts import Counts
from .deadlines import Deadline
from .observed import Observed, Spells, known_until, observed, opened_by
from .survival import Estimate

PART = pa.schema([("part", pa.binary())])
"""What parts of a table count, pickled: it travels between our own processes."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What would have become of operations under a deadline.

    `slack` is how long before that deadline each was met or lost sight of, by the classes of `survival`: those that
    were seen for longer are never met. None where nobody can know.
    """

    counts: Counts
    slack: Bins | None

    def plus(self, other: Tried) -> Tried:
        slack = None if self.slack is None or other.slack is None else self.slack.plus(other.slack)
        return Tried(self.counts.plus(other.counts), slack)

    def estimate(self) -> Estimate | None:
        """The share that completes, all told; None as well if nobody was seen for so long."""
        if self.slack is None or not self.counts.opened:
            return None
        return survival.curve(self.slack).all_by(0)


Tries = dict[Deadline, Tried]


def try_deadlines(
    numbers: Observed, asked: Iterable[Deadline], *, may_cancel: bool = True, keeps_alive: bool = False
) -> Tries:
    """What would have become of operations under each of these deadlines.

    Under `keeps_alive` a deadline moves with each event, which an outcome does not tell: all of it is unknown.
    """
    if keeps_alive:
        return {deadline: Tried(_alive(numbers, deadline), None) for deadline in asked}
    spells = numbers.spells(may_cancel=may_cancel)
    return {deadline: _try(numbers, spells, deadline, may_cancel) for deadline in asked}


def _try(numbers: Observed, spells: Spells, deadline: Deadline, may_cancel: bool) -> Tried:
    since = numbers.deadline if deadline.is_shift else numbers.opened_at
    until = np.maximum(since + deadline.ms, numbers.opened_at)
    status = numbers.status_by(until)
    if may_cancel and not numbers.is_all_known:
        status[numbers.is_open() & (until > numbers.deadline)] = status_of.UNKNOWN
    return Tried(Counts.of(status), _slack(spells, until))


def _slack(spells: Spells, until: Ints) -> Bins:
    is_over = spells.last <= until
    kind = np.where(is_over, np.where(spells.is_met, survival.COMPLETED, survival.CENSORED), survival.UNMET)
    return Bins.of(np.where(is_over, until - spells.last, 0), kind, survival.CLASSES)


def _alive(numbers: Observed, deadline: Deadline) -> Counts:
    is_as_it_is = deadline == Deadline(0, is_shift=True)
    return Counts.of(numbers.status) if is_as_it_is else Counts(unknown=len(numbers.status))


@dataclass(frozen=True, slots=True)
class TriesOfRule:
    """The tries of a rule. If it is not known whether it cancels, both as if it did not and as if it did."""

    if_not: Tries
    if_it_cancels: Tries
    has_cancelled: bool

    def plus(self, other: TriesOfRule) -> TriesOfRule:
        return TriesOfRule(
            added(self.if_not, other.if_not),
            added(self.if_it_cancels, other.if_it_cancels),
            self.has_cancelled or other.has_cancelled,
        )

    def meant(self) -> Tries:
        """A rule cancels if the whole table has an operation that was cancelled."""
        return self.if_it_cancels if self.has_cancelled else self.if_not


def added(mine: Mapping[Deadline, Tried], theirs: Mapping[Deadline, Tried]) -> Tries:
    return {deadline: tried.plus(theirs[deadline]) for deadline, tried in mine.items()}


TriesByRule = dict[str, TriesOfRule]


@dataclass(frozen=True)
class WhatIf:
    """The deadlines that are asked for, of tables made under these rules, as far as they are given.

    It maps parts of an outcome table to what they count, as `PART`; and `Answer` maps these to the answer.
    """

    asked: tuple[Deadline, ...]
    rules: tuple[Rule, ...] = ()
    as_of: AsOf = "log"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            part = pickle.dumps(self.tries(pa.Table.from_batches([batch])))
            yield pa.record_batch([pa.array([part], pa.binary())], schema=PART)

    def tries(self, outcomes: pa.Table) -> TriesByRule:
        end = known_until(outcomes, self.as_of)
        return {name: self._tries_of(name, observed(rows, end)) for name, rows in by_rule(opened_by(outcomes, end))}

    def _tries_of(self, name: str, numbers: Observed) -> TriesOfRule:
        rule = next((rule for rule in self.rules if rule.name == name), None)
        if rule is not None:
            cancels, lives = rule.cancels is not None, rule.keeps_alive is not None
            known = try_deadlines(numbers, self.asked, may_cancel=cancels, keeps_alive=lives)
            return TriesOfRule(known, known, has_cancelled=cancels)
        if_not, if_it_cancels = (try_deadlines(numbers, self.asked, may_cancel=may) for may in (False, True))
        has_cancelled = bool(np.any(numbers.status == status_of.CANCELLED))
        return TriesOfRule(if_not, if_it_cancels, has_cancelled)

    def table(self, parts: Iterable[TriesByRule]) -> pa.Table:
        """The answer, as `schema.WHAT_IF`, rule by rule in the order of their names."""
        together: TriesByRule = {}
        for part in parts:
            for name, tries in part.items():
                together[name] = together[name].plus(tries) if name in together else tries
        rows = [
            _row(name, deadline, tried)
            for name in sorted(together)
            for deadline, tried in together[name].meant().items()
        ]
        return pa.Table.from_pylist(rows, S.WHAT_IF)


@dataclass(frozen=True)
class Answer:
    """Maps all that parts have counted to the answer, as `schema.WHAT_IF`."""

    what_if: WhatIf

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = (pickle.loads(part.as_buffer()) for batch in batches for part in batch.column(0))
        yield from self.what_if.table(parts).to_batches()


def by_rule(outcomes: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each rule, in the order of their names."""
    names = outcomes.column(S.RULE)
    distinct = sorted(pc.unique(names).to_pylist())
    for name in distinct:
        yield name, outcomes if len(distinct) == 1 else outcomes.filter(pc.equal(names, name))


def _row(rule: str, deadline: Deadline, tried: Tried) -> dict[str, Any]:
    named = {S.RULE: rule, S.WITHIN: str(deadline), S.WITHIN_MS: deadline.ms}
    return {**named, **{name: getattr(tried.counts, name) for name in S.COUNTS}, **share_row(tried)}


def share_row(tried: Tried) -> dict[str, float | None]:
    """The estimate as the columns of a what-if table."""
    return dict(zip(S.SHARES, tried.estimate() or (None,) * len(S.SHARES), strict=True))


def what_if_table(
    outcomes: pa.Table, asked: Sequence[Deadline], rules: Sequence[Rule] = (), as_of: AsOf = "log"
) -> pa.Table:
    what_if = WhatIf(tuple(asked), tuple(rules), as_of)
    return what_if.table([what_if.tries(outcomes)])
