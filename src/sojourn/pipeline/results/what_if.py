"""What would have become of operations under other deadlines: for tables, tallies and Spark alike.

An outcome says when the condition was met, whatever the deadline, so that most of it follows without a second run. What
it does not say is whether a cancellation came after its deadline. Under a rule that cancels, a longer deadline may
therefore leave the end of an operation open: it counts as unknown. Where a run still knows its cancellations (the
column `schema.CANCELLED_AT`), nothing is left open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...rules import Rule
from .. import schema as S  # noqa: N812  (as F for Spark's functions)
from ..kernel import CANCELLED, COMPLETED, NEVER
from ..kernel.judge import verdict
from ..kernel.search import Flags, Ints
from . import counts as status_of
from .counts import Counts
from .deadlines import Deadline
from .rows import ms_or_zero

HAS_CANCELLED, MAY_CANCEL = "has_cancelled", "may_cancel"
"""Beside the counts of a part of a table: how many it has that were cancelled; what the counts took for granted."""

PART = pa.schema([*S.WHAT_IF, (HAS_CANCELLED, pa.int64()), (MAY_CANCEL, pa.bool_())])


class Ended(NamedTuple):
    """The numbers of an outcome table. `met_at` is NEVER where the condition was not met.

    `cancelled_at` is the first cancellation, NEVER if there is none; up to the end only, unless `is_all_known`.
    """

    opened_at: Ints
    deadline: Ints
    at: Ints
    met_at: Ints
    cancelled_at: Ints
    status: Ints
    is_all_known: bool


def ended(outcomes: pa.Table) -> Ended:
    opened_at, deadline, at, met_at = (ms_or_zero(outcomes.column(name)) for name in S.OUTCOME_TIMES)
    met_at = np.where(outcomes.column(S.MET_AT).is_valid().to_numpy(), met_at, NEVER)
    is_completed, is_cancelled = (
        pc.equal(outcomes.column(S.OUTCOME), name).to_numpy() for name in (S.COMPLETED, S.CANCELLED)
    )
    is_all_known = S.CANCELLED_AT in outcomes.column_names
    if is_all_known:
        known = outcomes.column(S.CANCELLED_AT)
        cancelled_at = np.where(known.is_valid().to_numpy(), ms_or_zero(known), NEVER)
    else:
        cancelled_at = np.where(is_cancelled, at, NEVER)
    status = _status(is_completed, is_cancelled, met_at < NEVER)
    return Ended(opened_at, deadline, at, met_at, cancelled_at, status, is_all_known)


def status_within(c: Ended, deadline: Deadline, *, may_cancel: bool = True, keeps_alive: bool = False) -> Ints:
    """What would have become of each operation under another deadline: places in `STATUSES`.

    Under `keeps_alive` a deadline moves with each event, which an outcome does not tell: all of it is unknown.
    """
    until = np.maximum((c.deadline if deadline.is_shift else c.opened_at) + deadline.ms, c.opened_at)
    if keeps_alive:
        return np.where(deadline == Deadline(0, is_shift=True), c.status, status_of.UNKNOWN)
    ending, _ = verdict(c.met_at, c.cancelled_at, until)
    status = _status(ending == COMPLETED, ending == CANCELLED, c.met_at < NEVER)
    if may_cancel and not c.is_all_known:
        status[_is_open(c, until)] = status_of.UNKNOWN
    return status


def _is_open(c: Ended, until: Ints) -> Flags:
    """Whether a cancellation after the deadline, which nobody knows of, would have made a difference."""
    is_open: Flags = (c.status == status_of.MET_LATE) | (c.status == status_of.NEVER_MET)
    is_open &= until > c.deadline
    is_open &= c.met_at != c.deadline + 1  # too soon for a cancellation in between
    return is_open


def _status(is_completed: Flags, is_cancelled: Flags, is_met: Flags) -> Ints:
    of = [status_of.COMPLETED, status_of.CANCELLED, status_of.MET_LATE]
    return np.select([is_completed, is_cancelled, is_met], of, status_of.NEVER_MET)


def what_if_rows(outcomes: pa.Table, asked: Sequence[Deadline], rules: Sequence[Rule] = ()) -> Iterator[dict[str, Any]]:
    """The counts of an outcome table, or of a part of one, as `PART`: they add up.

    A rule that is not given cancels if the whole table has one that was cancelled. Of such a rule there are two rows:
    as if it cancelled, and as if it did not.
    """
    known = {rule.name: rule for rule in rules}
    for name in pc.unique(outcomes.column(S.RULE)).to_pylist():
        c = ended(outcomes.filter(pc.equal(outcomes.column(S.RULE), name)))
        has_cancelled = int(np.count_nonzero(c.status == status_of.CANCELLED))
        for may_cancel in (False, True) if name not in known else (known[name].cancels is not None,):
            keeps_alive = name in known and known[name].keeps_alive is not None
            for deadline in asked:
                status = status_within(c, deadline, may_cancel=may_cancel, keeps_alive=keeps_alive)
                yield {
                    S.RULE: name,
                    S.WITHIN: str(deadline),
                    S.WITHIN_MS: deadline.ms,
                    **counts_row(Counts.of(status)),
                    HAS_CANCELLED: has_cancelled,
                    MAY_CANCEL: None if name in known else may_cancel,
                }


def counts_row(counts: Counts) -> dict[str, int]:
    """Counts as the columns of a what-if table."""
    return {name: getattr(counts, name) for name in S.COUNTS}


def is_meant(row: Mapping[str, Any]) -> bool:
    """Of two rows about one rule, the one that took for granted what the whole table shows."""
    return row[MAY_CANCEL] is None or row[MAY_CANCEL] == (row[HAS_CANCELLED] > 0)


def what_if_table(outcomes: pa.Table, asked: Sequence[Deadline], rules: Sequence[Rule] = ()) -> pa.Table:
    rows = [row for row in what_if_rows(outcomes, asked, rules) if is_meant(row)]
    return pa.Table.from_pylist(rows, S.WHAT_IF)


@dataclass(frozen=True)
class WhatIf:
    """Maps parts of an outcome table to their counts, as `PART`."""

    asked: tuple[Deadline, ...]
    rules: tuple[Rule, ...] = ()

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = list(what_if_rows(pa.Table.from_batches([batch]), self.asked, self.rules))
            yield pa.RecordBatch.from_pylist(rows, PART)
