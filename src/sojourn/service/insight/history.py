"""The numbers of `past`, by rule: how long waits take, what other deadlines would have done, what to expect of one.

How long a wait takes is estimated by Kaplan and Meier: what was cancelled, or is pending, counts for as long as it was
seen. Where all was seen to the end, that is the plain share.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...pipeline.kernel import NEVER
from ...pipeline.kernel.search import Ints
from ...pipeline.results import survival
from ...pipeline.results.bins import Bins, rounded_up
from ...pipeline.results.counts import Counts
from ...pipeline.results.deadlines import Deadline
from ...pipeline.results.observed import Observed
from ...pipeline.results.survival import Curve, Estimate
from ...pipeline.results.what_if import try_deadlines
from ...rules.duration import duration_text
from .past import COLUMNS

POINTS = 240
"""Of a curve, as it is drawn."""
BARS = 40
SHARES = (0.5, 0.9, 0.95, 0.99)
ROUNDING = 1e-12


@dataclass(frozen=True)
class OfRule:
    """The waits of a rule that were opened in the time looked at."""

    name: str
    seen: Observed
    may_cancel: bool
    keeps_alive: bool
    within_ms: int | None

    @cached_property
    def counts(self) -> Counts:
        return Counts.of(self.seen.status)

    @cached_property
    def curve(self) -> Curve:
        """The share met by each time since the opening."""
        spells = self.seen.spells(may_cancel=self.may_cancel)
        is_over = spells.last < NEVER
        kind = np.where(spells.is_met, survival.COMPLETED, np.where(is_over, survival.CENSORED, survival.UNMET))
        return survival.curve(Bins.of(np.where(is_over, self.seen.opened_at - spells.last, 0), kind, survival.CLASSES))

    @property
    def share_completed(self) -> float | None:
        """Of those that have ended, except the cancelled."""
        ended = self.counts.completed + self.counts.expired
        return self.counts.completed / ended if ended else None

    def what_if(self, within_ms: int) -> dict[str, Any]:
        deadline = Deadline(within_ms)
        tried = try_deadlines(self.seen, [deadline], may_cancel=self.may_cancel, keeps_alive=self.keeps_alive)[deadline]
        counts = {name: getattr(tried.counts, name) for name in ("completed", "expired", "cancelled", "pending")}
        share = None if self.keeps_alive else estimate(self.curve.by(within_ms))
        return {
            "within": str(deadline),
            "within_ms": within_ms,
            **counts,
            "unknown": tried.counts.unknown,
            "share": share,
        }

    def recommend(self, share: float) -> dict[str, Any]:
        """The shortest deadline under which that share completes, with its 95 % interval; null: not as far as seen."""
        at, earliest, latest = self.curve.deadline_for(share)
        within = None if at is None else rounded_up(at)
        return {
            "share": share,
            "within": None if within is None else duration_text(within),
            "within_ms": at,
            "earliest_ms": earliest,
            "latest_ms": latest,
            "most": estimate(self.curve.last()),
            "seen_ms": self.curve.end,
        }

    def outlook(self, age_ms: int, left_ms: int) -> dict[str, Any]:
        """How long such a wait takes from here, given its age; and how likely it completes in the time left.

        A share of those that are not met by its age: null where so many are not met as far as has been seen.
        """
        met = self.curve.by(age_ms).share
        rest = 1 - met
        if rest <= ROUNDING:
            return {"p50_ms": None, "p90_ms": None, "completes": None, "like": 0}
        p50, p90 = (self.curve.deadline_for(met + q * rest).at for q in (0.5, 0.9))
        by_deadline = (self.curve.by(age_ms + left_ms).share - met) / rest
        like = int(np.count_nonzero(self.seen.spells(may_cancel=self.may_cancel).last - self.seen.opened_at > age_ms))
        return {
            "p50_ms": None if p50 is None else max(0, p50 - age_ms),
            "p90_ms": None if p90 is None else max(0, p90 - age_ms),
            "completes": min(1.0, max(0.0, by_deadline)),
            "like": like,
        }

    def picture(self) -> dict[str, Any]:
        """What is drawn of it."""
        return {
            "rule": self.name,
            "opened": self.counts.opened,
            **{
                name: getattr(self.counts, name)
                for name in ("completed", "expired", "cancelled", "pending", "met_late")
            },
            "share": self.share_completed,
            "within_ms": self.within_ms,
            "keeps_alive": self.keeps_alive,
            "curve": points(self.curve),
            "seen_ms": self.curve.end,
            "bars": self.bars(),
            "recommended": [self.recommend(share) for share in SHARES],
        }

    def bars(self) -> dict[str, Any]:
        """How long it took until each was met, in equal steps up to a little beyond the deadline."""
        took = (self.seen.met_at - self.seen.opened_at)[self.seen.met_at < NEVER]
        last = max(self.within_ms or 0, int(np.quantile(took, 0.99)) if len(took) else 0)
        width = max(1, rounded_up(-(-int(last * 1.25) // BARS)))
        place = np.minimum(took // width, BARS)
        counts: Ints = np.bincount(place, minlength=BARS + 1)
        return {"width_ms": width, "counts": counts[:BARS].tolist(), "beyond": int(counts[BARS])}


def estimate(found: Estimate) -> list[float]:
    return [round(number, 6) for number in found]


def points(curve: Curve) -> list[list[float]]:
    """Time, share, low, high: where the share rises, as far as so many points can show it."""
    count = len(curve.times)
    if not count:
        return []
    steps = np.unique(np.searchsorted(curve.share, np.linspace(0, curve.share[-1], POINTS)).clip(0, count - 1))
    steps = np.union1d(steps, [0, count - 1])
    columns = (curve.times, curve.share, curve.low, curve.high)
    return [[int(curve.times[i]), *(round(float(column[i]), 5) for column in columns[1:])] for i in steps]


@dataclass(frozen=True)
class History:
    """All rules, as of a time."""

    as_of: int
    since: int
    rules: dict[str, OfRule]
    hours: list[list[int]]
    """Outcomes told by hour: hour since the epoch, completed, expired, cancelled."""

    @staticmethod
    def of(data: bytes) -> History:
        with np.load(io.BytesIO(data)) as arrays:
            about = json.loads(arrays["about"].tobytes())
            rules = {name: _rule(name, one, arrays, about["as_of"]) for name, one in about["rules"].items()}
        return History(about["as_of"], about["since"], rules, about["hours"])


def _rule(name: str, about: dict[str, Any], arrays: Any, as_of: int) -> OfRule:
    columns: dict[str, Ints] = {column: arrays[f"{about['place']}.{column}"] for column in COLUMNS}
    seen = Observed(**columns, as_of=as_of, is_all_known=False)
    return OfRule(name, seen, about["may_cancel"], about["keeps_alive"], about["within_ms"])
