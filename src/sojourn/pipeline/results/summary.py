"""The summary of a replay, for programs: what `--summary` writes and `--json` prints.

Its form is documented in docs/reference/summary.md. Under one `schema` fields are only ever added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import schema as S  # noqa: N812
from .deadlines import Deadline
from .tally import Counts, Tallies, Tally, total
from .what_if import Tried, share_row

SCHEMA = 1

TOTALS = (S.OPENED, S.COMPLETED, S.EXPIRED, S.CANCELLED, S.PENDING, S.MET_LATE, S.NEVER_MET)


def summary(
    tallies: Tallies,
    quarantined: Counter[str],
    engine: str,
    by: str | None = None,
    warnings: Sequence[str] = (),
    as_of: int | None = None,
    phases: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """All rules together, then each rule with its groups and its other deadlines; `as_of` is the end of the log.

    `phases` says how many seconds what took.
    """
    together = _counts(total(tallies))
    return {
        **{name: together[name] for name in TOTALS},
        "quarantined": quarantined.total(),
        S.AS_OF: as_of_text(as_of),
        "engine": engine,
        "schema": SCHEMA,
        "by": by,
        "rules": [_rule(name, tally) for name, tally in tallies.items()],
        "reasons": [{"reason": reason, "rows": number} for reason, number in by_frequency(quarantined)],
        "warnings": list(warnings),
        "phases": dict(phases or {}),
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


def by_frequency(counted: Counter[str]) -> list[tuple[str, int]]:
    """The most frequent first; of those that are equally frequent, by their text: the same in every engine."""
    return sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))


def as_of_text(as_of: int | None) -> str:
    """2024-03-31T12:00:00.000Z, or "complete"."""
    return "complete" if as_of is None else f"{np.datetime64(as_of, 'ms')}Z"


def _within(deadline: Deadline, tried: Tried) -> dict[str, str | float | None]:
    ms = "shift_ms" if deadline.is_shift else "within_ms"
    counts = {**_counts(tried.counts), S.UNKNOWN: tried.counts.unknown}
    return {"deadline": str(deadline), ms: deadline.ms, **counts, **share_row(tried)}


def _counts(counts: Counts) -> dict[str, int]:
    return {name: getattr(counts, name) for name in TOTALS}
