"""How many operations ended how."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import schema as S  # noqa: N812  (as F for Spark's functions)
from .bins import Ints

STATUSES = (S.COMPLETED, S.MET_LATE, S.NEVER_MET, S.CANCELLED, S.PENDING, S.UNKNOWN)
"""What became of an operation, in the words of the summary: the expired are those met late and those never met.

What would have become of one under another deadline may be unknown.
"""

COMPLETED, MET_LATE, NEVER_MET, CANCELLED, PENDING, UNKNOWN = range(len(STATUSES))
"""Their indices."""


class Counts(NamedTuple):
    """How many operations ended how, in the order of `STATUSES`."""

    completed: int = 0
    met_late: int = 0
    never_met: int = 0
    cancelled: int = 0
    pending: int = 0
    unknown: int = 0

    @property
    def opened(self) -> int:
        return sum(self)

    @property
    def expired(self) -> int:
        return self.met_late + self.never_met

    @staticmethod
    def of(status: Ints) -> Counts:
        return Counts(*map(int, np.bincount(status, minlength=len(STATUSES))))

    def plus(self, other: Counts) -> Counts:
        return Counts(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))
