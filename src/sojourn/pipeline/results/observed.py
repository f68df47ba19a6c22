"""The numbers of an outcome table, and how long each of its operations was seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...rules import AsOf, end_of_log
from .. import schema as S  # noqa: N812  (as F for Spark's functions)
from ..kernel import CANCELLED, COMPLETED, EXPIRED, NEVER, PENDING
from ..kernel.judge import verdict
from ..kernel.search import Flags, Ints
from . import counts as status_of
from .rows import ms_or_zero, whole_ms


class Spells(NamedTuple):
    """How long operations were seen: until `last`, which is NEVER where nothing ends it.

    That is when the condition was met, if `is_met`; otherwise nobody knows what came later: they are censored.
    """

    last: Ints
    is_met: Flags


class Observed(NamedTuple):
    """The numbers of an outcome table. `met_at` is NEVER where the condition was not met.

    `cancelled_at` is the first cancellation, NEVER if there is none; up to the end only, unless `is_all_known`.
    `as_of` is the end of the log, None if it is complete.
    """

    opened_at: Ints
    deadline: Ints
    met_at: Ints
    cancelled_at: Ints
    status: Ints
    as_of: int | None
    is_all_known: bool

    def status_by(self, until: Ints) -> Ints:
        """What becomes of each operation under the deadlines `until`: indices in `STATUSES`."""
        ending, _ = verdict(self.met_at, self.cancelled_at, until, self.as_of)
        return _status(ending, self.met_at)

    def is_open(self) -> Flags:
        """Whether a cancellation after the deadline, which the table does not show, may have come before all else."""
        is_open: Flags = (self.status == status_of.MET_LATE) | (self.status == status_of.NEVER_MET)
        is_open &= self.met_at != self.deadline + 1  # too soon for a cancellation in between
        return is_open

    def spells(self, *, may_cancel: bool = False) -> Spells:
        """With `may_cancel`, what expired was seen up to its deadline only, unless later cancellations are known."""
        end = NEVER if self.as_of is None else self.as_of
        is_met = (self.met_at <= self.cancelled_at) & (self.met_at < NEVER)
        last = np.where(is_met, self.met_at, np.minimum(self.cancelled_at, end))
        if may_cancel and not self.is_all_known:
            is_open = self.is_open()
            is_met, last = is_met & ~is_open, np.where(is_open, self.deadline, last)
        return Spells(last, is_met)


def known_until(outcomes: pa.Table, as_of: AsOf) -> int | None:
    """The time up to which the events of a table are known, None if they are complete.

    "log" means what the table itself says. Inside the engines every row says it; in tables that people see, only the
    pending ones do: if there are none, the log is taken to be complete.
    """
    if as_of != "log":
        return end_of_log(as_of, None)
    if S.AS_OF in outcomes.column_names:
        end: int | None = pc.max(whole_ms(outcomes.column(S.AS_OF))).as_py()
        return end
    pending = outcomes.filter(pc.equal(outcomes.column(S.OUTCOME), S.PENDING))
    latest: int | None = pc.max(pc.add(whole_ms(pending.column(S.OPENED_AT)), pending.column(S.WAITED_MS))).as_py()
    return latest


def opened_by(outcomes: pa.Table, end: int | None) -> pa.Table:
    """Without the operations that a log which ends there does not have."""
    if end is None:
        return outcomes
    is_there = ms_or_zero(outcomes.column(S.OPENED_AT)) <= end
    return outcomes if is_there.all() else outcomes.filter(pa.array(is_there))


def observed(outcomes: pa.Table, end: int | None) -> Observed:
    """The numbers of an outcome table of a log that ends there, or is complete: later events are not looked at."""
    opened_at, deadline = (ms_or_zero(outcomes.column(name)) for name in (S.OPENED_AT, S.DEADLINE))
    met_at = _ms_or_never(outcomes.column(S.MET_AT), end)
    is_all_known = S.CANCELLED_AT in outcomes.column_names
    if is_all_known:
        cancelled_at = _ms_or_never(outcomes.column(S.CANCELLED_AT), end)
    else:
        is_cancelled = pc.equal(outcomes.column(S.OUTCOME), S.CANCELLED)
        cancelled_at = _ms_or_never(pc.if_else(is_cancelled, outcomes.column(S.AT), None), end)
    ending, _ = verdict(met_at, cancelled_at, deadline, end)
    return Observed(opened_at, deadline, met_at, cancelled_at, _status(ending, met_at), end, is_all_known)


def _ms_or_never(times: pa.ChunkedArray, end: int | None) -> Ints:
    """NEVER where there is no time, or a later one than the end of the log."""
    ms = ms_or_zero(times)
    is_never = times.is_null().to_numpy()
    return np.where(is_never if end is None else is_never | (ms > end), NEVER, ms)


_STATUS_OF = np.zeros((2, len(S.ENDINGS)), np.int64)
_STATUS_OF[:, [COMPLETED, CANCELLED, PENDING]] = status_of.COMPLETED, status_of.CANCELLED, status_of.PENDING
_STATUS_OF[:, EXPIRED] = status_of.NEVER_MET, status_of.MET_LATE


def _status(ending: NDArray[np.int8], met_at: Ints) -> Ints:
    is_met = (met_at < NEVER).view(np.int8)
    status: Ints = _STATUS_OF.ravel()[is_met * np.int8(len(S.ENDINGS)) + ending]
    return status
