"""The share that completes by a deadline, where not all has been seen to the end: the Kaplan-Meier estimate.

What was cancelled, and what is pending when a log ends, might have completed later. It counts for as long as it was
seen, and says nothing about what came after. Where all has been seen to the end, the estimate is the plain share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .bins import Bins, Ints

Floats = NDArray[np.float64]

Z = 1.959963984540054
"""How many standard errors a band of 95 % is wide, to each side."""

_ROUNDING = 1e-12

COMPLETED, MET_LATE, CENSORED, UNMET = range(4)
CLASSES = 4
"""The classes of what a curve is made of: met in time, met late, not seen any longer, seen for ever and never met."""


class Estimate(NamedTuple):
    """A share, and the band in which it lies with 95 % confidence."""

    share: float
    low: float
    high: float


class DeadlineFor(NamedTuple):
    """The earliest time by which a share is completed, and its interval. None: never, as far as has been seen."""

    at: int | None
    earliest: int | None
    latest: int | None


@dataclass(frozen=True, slots=True)
class Curve:
    """The share completed by each of `times`, which ascend, with its band: from `low` to `high`.

    `end` is how far it goes: to the last time at which anybody was seen, or for ever (None).
    """

    times: Ints
    share: Floats
    low: Floats
    high: Floats
    end: int | None

    @staticmethod
    def of(times: Ints, met: Ints, censored: Ints, opened: int) -> Curve:
        """`met` and `censored` at each time, of so many `opened`. The others were seen for ever, and never met.

        At the same time the met come before the censored, who were still there. A met operation stands for those
        censored before it as well: each of these hands its weight on, in equal parts, to all that were seen for longer.
        So whole numbers are added up as long as nothing is censored.
        """
        gone = np.cumsum(met + censored)
        at_risk = opened - gone + met + censored
        left = at_risk - met
        weight = np.cumprod(np.append(opened, left[:-1])[: len(times)] / at_risk)
        share = np.cumsum(met * weight) / opened
        is_endless = not len(gone) or gone[-1] < opened
        return Curve(
            times, share, *_band(np.where(left, 1 - share, 0), met, at_risk), None if is_endless else int(times[-1])
        )

    def by(self, time: float) -> Estimate:
        """The share completed by a time."""
        place = int(np.searchsorted(self.times, time, side="right")) - 1
        if place < 0:
            return Estimate(0.0, 0.0, 0.0)
        return Estimate(float(self.share[place]), float(self.low[place]), float(self.high[place]))

    def last(self) -> Estimate:
        """The share completed by any time that was seen."""
        return self.by(np.inf)

    def all_by(self, time: int) -> Estimate | None:
        """The same where nothing completes later than `time`; None if nobody was seen for so long."""
        last = self.last()
        is_seen = self.end is None or self.end >= time or last.share == 1
        return last if is_seen else None

    def deadline_for(self, share: float) -> DeadlineFor:
        """The deadline under which this share completes; its interval is where the band has the share in it."""
        at, earliest, latest = (_first(self.times, reached, share) for reached in (self.share, self.high, self.low))
        return DeadlineFor(at, earliest, latest)


def _band(unmet: Floats, met: Ints, at_risk: Ints) -> tuple[Floats, Floats]:
    """Greenwood's variance, on the scale of log(-log), where the band stays between 0 and 1.

    Where all are met there is no variance: the share may be 1, and is at least what it was before.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.cumsum(met / (at_risk * (at_risk - met).astype(np.float64)))
        width = np.exp(Z * np.sqrt(variance) / -np.log(unmet))
        low, high = 1 - unmet ** (1 / width), 1 - unmet**width
    low, high = np.where(unmet == 1, 0, low), np.where(unmet == 1, 0, high)
    if len(unmet) and unmet[-1] == 0:
        low[-1], high[-1] = low[-2] if len(low) > 1 else 0, 1
    return low, high


def _first(times: Ints, share: Floats, wanted: float) -> int | None:
    """The first time with at least this share."""
    reached = np.flatnonzero(share >= wanted - _ROUNDING)
    return int(times[reached[0]]) if len(reached) else None


def curve(bins: Bins, *, only_completed: bool = False) -> Curve:
    """The curve of counts by these classes.

    A value counts backwards, from the time when it happened to a common point, so that the largest comes first. Times
    are those of the intervals' ends. With `only_completed` what was met late is never met.
    """
    met = bins.counts[::-1, COMPLETED] + (0 if only_completed else bins.counts[::-1, MET_LATE])
    return Curve.of(-bins.starts[::-1], met, bins.counts[::-1, CENSORED], int(bins.counts.sum()))
