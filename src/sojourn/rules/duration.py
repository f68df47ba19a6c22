"""Durations: text, `timedelta` or milliseconds in, whole milliseconds out; and back to text."""

from __future__ import annotations

import operator
import re
from datetime import timedelta
from typing import SupportsIndex

from ..errors import RuleError

Duration = str | timedelta | SupportsIndex | float
"""What people may write for a duration; a number is milliseconds and must be whole."""

LIMIT_MS = 2**62 - 1
"""No time and no duration lies beyond this, either way: so every deadline fits a signed 64-bit integer."""

DAY_MS = 86_400_000

_UNITS_MS = {
    1: ("ms", "millisecond", "milliseconds"),
    1_000: ("s", "sec", "secs", "second", "seconds"),
    60_000: ("m", "min", "mins", "minute", "minutes"),
    3_600_000: ("h", "hr", "hrs", "hour", "hours"),
    DAY_MS: ("d", "day", "days"),
    7 * DAY_MS: ("w", "week", "weeks"),
}
_MS_BY_UNIT = {name: ms for ms, names in _UNITS_MS.items() for name in names}
_ALLOWED = 'allowed are ms, s, min, h, days and weeks, as in "15 min", "1.5 h" or "1h30m"'
_PART = re.compile(r"\s*([0-9]{1,18})(?:\.([0-9]{1,18}))?\s*([^\W\d_]+)\s*")
_WRITTEN = ((DAY_MS, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms"))
_ALONE = {"d": "days", "h": "h", "m": "min", "s": "s", "ms": "ms"}


def duration_ms(value: Duration) -> int:
    """`value` in whole milliseconds, rounded up; `RuleError` if it is negative or no duration at all.

    The parts of a text add up: "1h30m" is ninety minutes. "m" is minutes: a month has no fixed length.
    """
    if isinstance(value, str):
        ms = parsed_ms(value)
    elif isinstance(value, timedelta):
        ms = -(-value // timedelta(milliseconds=1)) if value >= timedelta(0) else -1
    else:
        ms = _number_ms(value)
    if ms < 0:
        raise RuleError(f"duration {value!r} is negative; the shortest is 0")
    if ms > LIMIT_MS:
        raise RuleError(f"duration {value!r} is too long; the longest is {LIMIT_MS} ms")
    return ms


def _number_ms(value: SupportsIndex | float) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    try:
        if isinstance(value, bool | float):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise RuleError(
            f"duration {value!r} is neither text, a timedelta nor a whole number of milliseconds; {_ALLOWED}"
        ) from None


def parsed_ms(text: str) -> int:
    """The milliseconds of a text, however many, or below 0 if it is negative; `RuleError` if it is no duration."""
    if text.lstrip().startswith("-"):
        return -1
    numerator, denominator, end = 0, 1, 0
    while (part := _PART.match(text, end)) is not None:
        whole, fraction, unit = part[1], part[2] or "", part[3]
        scale = 10 ** len(fraction)
        numerator = numerator * scale + int(whole + fraction) * _unit_ms(unit, text) * denominator
        denominator *= scale
        end = part.end()
    if not end or end < len(text):
        raise RuleError(f"duration {text!r} is not a number and a unit; {_ALLOWED}")
    return -(-numerator // denominator)


def _unit_ms(unit: str, text: str) -> int:
    # One capital letter is refused: M may mean a month.
    ms = _MS_BY_UNIT.get(unit.lower() if len(unit) > 1 else unit)
    if ms is None:
        raise RuleError(f"duration {text!r}: {unit!r} is not a unit; {_ALLOWED}")
    return ms


def duration_text(ms: int) -> str:
    """The text of a duration, exact: "60 days", "1h30m", "250 ms". `duration_ms` reads it back."""
    parts = []
    rest = ms
    for unit_ms, unit in _WRITTEN:
        count, rest = divmod(rest, unit_ms)
        if count:
            parts.append((count, unit))
    if not parts:
        return "0 ms"
    if len(parts) > 1:
        return "".join(f"{count}{unit}" for count, unit in parts)
    count, unit = parts[0]
    return "1 day" if (count, unit) == (1, "d") else f"{count} {_ALONE[unit]}"
