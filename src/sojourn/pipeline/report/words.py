"""Numbers in words."""

from __future__ import annotations

from collections.abc import Mapping

from ...rules import Never, Rule
from ..results.survival import Estimate
from ..results.tally import STATUSES, Counts
from ..schema import NEVER_MET

LONGEST = 120
"""How much of a key, a group or an explanation is shown."""

Labels = Mapping[str, str]
"""What a reader calls each status."""

_LABELS = ("completed", "met late", "never met", "cancelled", "pending", "cannot know")
_AWAITING: Labels = dict(zip(STATUSES, _LABELS, strict=True))
_AWAITING_NOTHING: Labels = {**_AWAITING, NEVER_MET: "expired"}


def labels_of(rule: Rule) -> Labels:
    """Where nothing is awaited, nothing was never met: it expired."""
    return _AWAITING_NOTHING if isinstance(rule.until, Never) else _AWAITING


def short(text: str) -> str:
    """A text of the log, cut if it is very long."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def count_text(number: int) -> str:
    return f"{number:,}"


def share_text(part: float, whole: int) -> str:
    """A share as per cent, with one decimal; never 0% or 100% when it is not."""
    if not whole:
        return "none"
    percent = 100 * part / whole
    if 0 < percent < 0.05:
        return "<0.1%"
    if 99.95 <= percent < 100:
        return ">99.9%"
    return f"{percent:.1f}%" if percent % 100 else f"{percent:.0f}%"


def estimate_text(estimate: Estimate | None) -> str:
    """An estimated share as per cent; a question mark where nobody can know."""
    return "?" if estimate is None else share_text(estimate.share, 1)


def band_text(estimate: Estimate) -> str:
    """The band that a share lies in: " (38.1% to 42.0%)"; nothing where there is none, before the first completes."""
    if estimate.low == estimate.high:
        return ""
    return f" ({share_text(estimate.low, 1)} to {share_text(estimate.high, 1)})"


def counts_text(counts: Counts, labels: Labels) -> str:
    """What became of how many: "12 completed, 3 met late"."""
    parts = [f"{number:,} {labels[status]}" for status, number in zip(STATUSES, counts, strict=True) if number]
    return ", ".join(parts) or "none"
