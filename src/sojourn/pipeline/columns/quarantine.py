"""Rows that cannot be used, set aside with their reason."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..kernel.search import Flags, Ints
from ..plan import Plan
from ..schema import QUARANTINE
from .events import ArrowLog
from .reasons import Check, row_checks, rule_checks

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class Aside(NamedTuple):
    """What was set aside; `is_usable` where a row is of use to some rule, as far as the row itself goes."""

    table: pa.Table
    is_usable: Flags


class Reasons(NamedTuple):
    """Why a rule cannot use rows, or, if it is None, no rule: for each row a place in `texts`, -1 if it has none."""

    rule: str | None
    reason: Ints
    texts: list[str]


def set_aside(plan: Plan, log: ArrowLog, events: pa.Table, *, opens: bool = True) -> Aside:
    """The rows of a log that cannot be used: by no rule, or by some. The kernel leaves out the latter by itself."""
    is_usable, found = checked(plan, log, len(events), opens=opens)
    return Aside(pa.concat_tables(quarantined(events, reason, texts, rule) for rule, reason, texts in found), is_usable)


def checked(plan: Plan, log: ArrowLog, count: int, *, opens: bool) -> tuple[Flags, list[Reasons]]:
    """Which of so many rows are of use to some rule; and why others are of none, or not to one of the rules."""
    reason, texts = reasons_of(row_checks(log), count)
    found = [Reasons(None, reason, texts)]
    is_usable = reason < 0
    for rule in plan.rules:
        reason, texts = reasons_of(rule_checks(rule, log, opens=opens), count)
        reason[~is_usable] = -1
        found.append(Reasons(rule.name, reason, texts))
    return is_usable, found


def reasons_of(checks: Sequence[Check], count: int) -> tuple[Ints, list[str]]:
    """For each row the place of its reason, -1 if it has none; and the reasons."""
    reason = np.full(count, -1)
    for place in reversed(range(len(checks))):
        reason[checks[place][0]] = place
    return reason, [text for _, text in checks]


def quarantined(events: pa.Table, reason: Ints, texts: list[str], rule: str | None) -> pa.Table:
    rows = np.flatnonzero(reason >= 0)
    reasons = pa.array(texts, pa.string()).take(pa.array(reason[rows]))
    rule_names = pa.repeat(pa.scalar(rule, pa.string()), len(rows))
    return pa.table([rule_names, reasons, as_json(events.take(pa.array(rows)))], schema=QUARANTINE)


def as_json(table: pa.Table) -> pa.Array:
    """Each row as a JSON object."""
    plain = pa.table({name: _printable(table.column(name)) for name in table.column_names})
    return pa.array([json.dumps(_finite(row), ensure_ascii=False) for row in plain.to_pylist()], pa.string())


def _printable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times and durations as text, since Python's own do not reach as far as ours."""
    if pa.types.is_duration(column.type):
        counts, per_second = column.cast(pa.int64()).to_pylist(), _PER_SECOND[column.type.unit]
        return pa.chunked_array(
            [[None if count is None else _seconds(count, per_second) for count in counts]], pa.string()
        )
    return column.cast(pa.string()) if pa.types.is_temporal(column.type) else column


def _seconds(count: int, per_second: int) -> str:
    """As "90 s" or "0.001 s", whatever the unit was."""
    return f"{Decimal(count) / per_second:f} s" if count % per_second else f"{count // per_second} s"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | None) else str(value)
