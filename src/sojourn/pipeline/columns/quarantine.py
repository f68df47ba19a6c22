"""Rows that cannot be used, set aside with their reason."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..kernel.search import Flags
from ..plan import Plan
from ..schema import CORRUPT, CORRUPT_LINE, CORRUPT_REASON, QUARANTINE
from .events import EventColumns
from .reasons import Check, row_checks, rule_checks
from .times import PER_SECOND

_YEAR_10000_S = 253_402_300_800
_FARTHEST_US = (2**63 - 1) // 1000 * 1000
_NEEDLESS = r"(?:(\.\d*[1-9])0+|\.0+)(Z?)$"


class Reasons(NamedTuple):
    """Why a rule cannot use rows; if it is None, why no rule can. For each row an index in `texts`, or -1."""

    rule: str | None
    reason: NDArray[Any]
    texts: list[str]


def set_aside(events: pa.Table, reasons: Reasons) -> pa.Table:
    """The rows of a log that cannot be used for these reasons, as `schema.QUARANTINE`."""
    return quarantined(events, reasons.reason, reasons.texts, reasons.rule)


def checked(plan: Plan, log: EventColumns, count: int, *, opens: bool) -> tuple[Flags, list[Reasons]]:
    """Which of `count` rows can be used; and why others cannot, by any rule or by one of them."""
    reason, texts = reasons_of(row_checks(log), count)
    all_reasons = [Reasons(None, reason, texts)]
    is_usable = reason < 0
    for rule in plan.rules:
        reason, texts = reasons_of(rule_checks(rule, log, opens=opens), count)
        reason[~is_usable] = -1
        all_reasons.append(Reasons(rule.name, reason, texts))
    return is_usable, all_reasons


def reasons_of(checks: Sequence[Check], count: int) -> tuple[NDArray[Any], list[str]]:
    """For each row the index of its reason, -1 if it has none; and the reasons."""
    reason = np.full(count, -1, np.int16 if len(checks) < 2**15 - 1 else np.int32)
    for place in reversed(range(len(checks))):
        reason[checks[place][0]] = place
    return reason, [text for _, text in checks]


def quarantined(events: pa.Table, reason: NDArray[Any], texts: list[str], rule: str | None) -> pa.Table:
    rows = np.flatnonzero(reason >= 0)
    if not len(rows):
        return QUARANTINE.empty_table()
    reasons = pa.array(texts, pa.string()).take(pa.array(reason[rows]))
    rule_names = pa.repeat(pa.scalar(rule, pa.string()), len(rows))
    unusable = events.take(pa.array(rows))
    if CORRUPT_REASON in events.column_names:
        return pa.table([rule_names, *_with_lines(unusable, reasons)], schema=QUARANTINE)
    return pa.table([rule_names, reasons, as_json(unusable)], schema=QUARANTINE)


def _with_lines(rows: pa.Table, reasons: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Reasons and rows, some of which are lines that could not be read: those have a reason of their own."""
    why = rows[CORRUPT_REASON].combine_chunks()
    lines = as_json(pa.table({CORRUPT: rows[CORRUPT_LINE]}))
    others = as_json(without_lines(rows))
    return pc.coalesce(why, reasons), pc.if_else(why.is_valid(), lines, others)


def without_lines(rows: pa.Table) -> pa.Table:
    """The rows with the columns of the log itself."""
    return rows.select([name for name in rows.column_names if name not in (CORRUPT_LINE, CORRUPT_REASON)])


def as_json(table: pa.Table) -> pa.Array:
    """Each row as a JSON object."""
    plain = pa.table({name: _printable(table.column(name)) for name in table.column_names})
    return pa.array([json.dumps(_finite(row), ensure_ascii=False) for row in plain.to_pylist()], pa.string())


def _printable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times and durations as text, since Python's own do not reach as far as ours.

    Times are in UTC, with no more digits than they need, and none below the microsecond, as on Spark.
    """
    kind = column.type
    if not pa.types.is_temporal(kind):
        return column
    if pa.types.is_duration(kind):
        texts = [_seconds(count, kind.unit) for count in column.cast(pa.int64()).to_pylist()]
        return pa.chunked_array([texts], pa.string())
    if not pa.types.is_timestamp(kind):
        return column.cast(pa.string())
    column = column.cast(pa.timestamp(kind.unit, None if kind.tz is None else "UTC"))
    column = pc.floor_temporal(column, unit="microsecond") if kind.unit == "ns" else column
    counts = column.cast(pa.int64())
    most = min(_YEAR_10000_S * PER_SECOND[kind.unit], 2**63 - 1)
    is_far = pc.or_(pc.greater(counts, most), pc.less(counts, -most))
    near = pc.if_else(is_far, pa.scalar(None, column.type), column).cast(pa.string())
    texts = pc.replace_substring_regex(near, _NEEDLESS, r"\1\2")
    if not pc.any(is_far).as_py():
        return texts
    far = [_far(count, kind) if count is not None else None for count in counts.to_pylist()]
    return pc.if_else(is_far, pa.array(far, pa.string()), texts)


def _far(count: int, kind: pa.DataType) -> str:
    """A time of a year that Arrow itself writes wrongly; beyond what Spark can hold, the farthest that it can."""
    micros = max(-_FARTHEST_US, min(count * 10**6 // PER_SECOND[kind.unit], _FARTHEST_US))
    text = str(np.datetime64(micros, "us")).replace("T", " ")
    return re.sub(_NEEDLESS, r"\1", text) + ("" if kind.tz is None else "Z")


def _seconds(count: int | None, unit: str) -> str | None:
    """A duration as "90 s" or "0.001 s", whatever its unit; rounded as Spark has it, away from 0 to the microsecond."""
    if count is None:
        return None
    micros = -(-abs(count) * 10**6 // PER_SECOND[unit])
    return f"{'-' * (count < 0)}{micros // 10**6}{f'.{micros % 10**6:06}'.rstrip('0').rstrip('.')} s"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Decimal) and value.as_tuple().exponent == 0:
        return int(value)  # on Spark, a whole number without a sign is a decimal
    return value if isinstance(value, str | int | float | None) else str(value)
