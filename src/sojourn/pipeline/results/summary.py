"""The summary of a replay, for programs: what `--summary` writes and `--json` prints.

Its form is documented in docs/reference/summary.md. Under one `schema` fields are only ever added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .. import schema as S  # noqa: N812
from .deadlines import Deadline
from .tally import Counts, Tallies, Tally, total

SCHEMA = 1

TOTALS = (S.OPENED, S.COMPLETED, S.EXPIRED, S.CANCELLED, S.MET_LATE, S.NEVER_MET)


def summary(
    tallies: Tallies,
    quarantined: Counter[str],
    engine: str,
    by: str | None = None,
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """All rules together, then each rule with its groups and its other deadlines."""
    together = _counts(total(tallies))
    return {
        **{name: together[name] for name in TOTALS},
        "quarantined": quarantined.total(),
        "engine": engine,
        "schema": SCHEMA,
        "by": by,
        "rules": [_rule(name, tally) for name, tally in tallies.items()],
        "reasons": [{"reason": reason, "rows": number} for reason, number in quarantined.most_common()],
        "warnings": list(warnings),
    }


def _rule(name: str, tally: Tally) -> dict[str, Any]:
    in_order = sorted(tally.what_if, key=lambda deadline: (deadline.is_shift, deadline.ms))
    return {
        "rule": name,
        **_counts(tally.counts),
        "groups": [{"group": group or None, **_counts(tally.groups[group])} for group in by_size(tally.groups)],
        "what_if": [_within(deadline, tally.what_if[deadline]) for deadline in in_order],
    }


def by_size(groups: Mapping[str, Counts]) -> list[str]:
    """The names of groups, the largest first."""
    return sorted(groups, key=lambda name: (-groups[name].opened, name))


def _within(deadline: Deadline, counts: Counts) -> dict[str, str | int]:
    ms = "shift_ms" if deadline.is_shift else "within_ms"
    return {"deadline": str(deadline), ms: deadline.ms, **_counts(counts), S.UNKNOWN: counts.unknown}


def _counts(counts: Counts) -> dict[str, int]:
    return {name: getattr(counts, name) for name in TOTALS}
