"""The cases behind the bars of a report: the first of each period and status, in the page itself."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from ...rules import Rule
from ..results.periods import CASES, Periods
from ..results.tally import STATUSES, Tallies
from .words import Labels, count_text, labels_of, short


def cases_json(rules: Sequence[Rule], tallies: Tallies) -> str:
    """By rule, then by bar: a title, and the ids of operations. It is safe inside a page."""
    found = {
        rule.name: _cases(tallies[rule.name].periods[0], labels_of(rule))
        for rule in rules
        if rule.name in tallies and tallies[rule.name].counts.opened
    }
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _cases(periods: Periods, labels: Labels) -> dict[str, dict[str, object]]:
    return {
        f"{place}.{status}": {"title": _title(periods, place, status, labels), "ids": list(map(short, ids))}
        for place, status in np.argwhere(periods.counts).tolist()
        if (ids := periods.ids(place, status))
    }


def _title(periods: Periods, place: int, status: int, labels: Labels) -> str:
    number = int(periods.counts[place, status])
    first = f", the first {count_text(CASES)}" if number > CASES else ""
    return f"{periods.unit.label(periods.first + place)}: {count_text(number)} {labels[STATUSES[status]]}{first}"
