"""Arrow columns of times and durations as epoch milliseconds, whatever they are written in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...errors import ConfigError, RuleError
from ...rules import duration_ms
from ..kernel.search import Flags, Ints
from ..plan import FARTHEST_MS
from ..schema import Unit

SECONDS_BELOW = 10**11
"""Bare numbers closer to zero than this are seconds, the others milliseconds, unless the unit is named."""

ISO = (
    r"^(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])"
    r"(?:[T ](?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:\.(?P<fraction>\d{1,9}))?)?"
    r"(?P<zone>Z|[+-](?:0\d|1[0-7])(?::?[0-5]\d)?)?)?\z"
)
"""A date, or a date and a time, with or without a zone; without one it is UTC."""

NUMBER = r"^-?\d{1,18}(?:\.\d{1,18})?\z"
"""A bare number, written as text."""

NEGATIVE, TOO_FAR, UNKNOWN = -1, -2, -3
"""What `text_ms` says of texts that are no duration that we can use."""

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DAY_MS = 86_400_000


class Times(NamedTuple):
    """Epoch milliseconds; void where there was nothing, or nothing that could be read."""

    ms: Ints
    is_missing: Flags
    is_bad: Flags


def times(name: str, column: pa.Array, unit: Unit, *, up: bool = False) -> Times:
    """The times of a column, rounded down to the millisecond, or `up`; `ConfigError` if it is made of others."""
    is_missing = column.is_null().to_numpy(zero_copy_only=False)
    kind = column.type
    if pa.types.is_timestamp(kind):
        ms, is_bad = _scaled(_whole_numbers(column), kind.unit, up)
    elif pa.types.is_date(kind):
        ms, is_bad = _in_reach(column.cast(pa.timestamp("ms")))
    elif pa.types.is_integer(kind):
        ms, is_bad = _from_whole_numbers(_whole_numbers(column), unit)
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        ms, is_bad = _from_floats(floats(column), unit, up)
    elif is_text(kind):
        ms, is_bad = _from_texts(column, unit, up)
    elif pa.types.is_null(kind):
        ms, is_bad = np.zeros(len(column), np.int64), np.zeros(len(column), bool)
    else:
        raise ConfigError(f"column {name!r} is {kind}; a time is a timestamp, a date, ISO 8601 text or an epoch number")
    return Times(ms, is_missing, is_bad & ~is_missing)


def durations(name: str, column: pa.Array) -> Ints:
    """The durations of a column in milliseconds, rounded up; below 0 where there is none: see `text_ms`."""
    kind = column.type
    if is_text(kind):
        codes = column.dictionary_encode()
        known = np.array([*map(text_ms, codes.dictionary.to_pylist()), UNKNOWN])
        return np.asarray(known[codes.indices.fill_null(len(known) - 1).to_numpy()])
    if pa.types.is_duration(kind):
        count = _whole_numbers(column)
        ms, is_far = _scaled(np.maximum(count, 0), kind.unit, up=True)
        return _known(column, ms, count < 0, is_far)
    if pa.types.is_integer(kind):
        ms = _whole_numbers(column)
        return _known(column, ms, ms < 0, ms > FARTHEST_MS)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = floats(column)
        is_whole = np.isfinite(numbers) & (numbers == np.floor(numbers))
        is_far = is_whole & (np.abs(numbers) > FARTHEST_MS)
        ms = np.where(is_whole & ~is_far, numbers, UNKNOWN).astype(np.int64)
        return _known(column, ms, is_whole & (numbers < 0), is_far)
    if pa.types.is_null(kind):
        return np.full(len(column), UNKNOWN)
    raise ConfigError(f"column {name!r} is {kind}; a duration is milliseconds, an interval or text as in '15 min'")


def _known(column: pa.Array, ms: Ints, is_negative: Flags, is_far: Flags) -> Ints:
    is_missing = column.is_null().to_numpy(zero_copy_only=False)
    return np.where(is_missing, UNKNOWN, np.where(is_negative, NEGATIVE, np.where(is_far, TOO_FAR, ms)))


def text_ms(text: str) -> int:
    """The milliseconds of a text, or why there are none: NEGATIVE, TOO_FAR or UNKNOWN."""
    try:
        ms = duration_ms(text)
    except RuleError as error:
        return NEGATIVE if "is negative" in str(error) else TOO_FAR if "is too long" in str(error) else UNKNOWN
    return ms if ms <= FARTHEST_MS else TOO_FAR


def is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string())


def floats(column: pa.Array) -> NDArray[np.float64]:
    """A column of numbers as floats; NaN where there is none."""
    values: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values


def _whole_numbers(column: pa.Array) -> Ints:
    values: Ints = column.cast(pa.int64(), safe=False).fill_null(0).to_numpy()
    return values


def _scaled(count: Ints, unit: str, up: bool) -> tuple[Ints, Flags]:
    per_ms = _PER_SECOND[unit] / 1000
    if per_ms < 1:
        is_far = np.abs(count) > FARTHEST_MS // 1000
        return np.where(is_far, 0, count) * 1000, is_far
    if per_ms > 1:
        count = -(-count // int(per_ms)) if up else count // int(per_ms)
    return count, np.abs(count) > FARTHEST_MS


def _in_reach(column: pa.Array) -> tuple[Ints, Flags]:
    ms = _whole_numbers(column)
    return ms, np.abs(ms) > FARTHEST_MS


def _from_whole_numbers(count: Ints, unit: Unit) -> tuple[Ints, Flags]:
    in_seconds = _in_seconds(count, unit)
    ms, is_far = _scaled(np.where(in_seconds, count, 0), "s", up=False)
    ms = np.where(in_seconds, ms, count)
    return ms, is_far | (ms > FARTHEST_MS) | (ms < -FARTHEST_MS)


def _from_floats(count: NDArray[np.float64], unit: Unit, up: bool) -> tuple[Ints, Flags]:
    in_seconds = _in_seconds(count, unit)
    is_bad = ~(np.abs(count) <= np.where(in_seconds, FARTHEST_MS // 1000, FARTHEST_MS))
    count = np.where(is_bad, 0, count)
    whole = np.floor(count)
    rest = np.rint((count - whole) * np.where(in_seconds, 1_000_000, 1_000)).astype(np.int64)  # microseconds
    whole_ms = whole.astype(np.int64) * np.where(in_seconds, 1_000, 1)
    return whole_ms + (-(-rest // 1000) if up else rest // 1000), is_bad


def _in_seconds(count: NDArray[Any], unit: Unit) -> Flags:
    if unit == "auto":
        return (count > -SECONDS_BELOW) & (count < SECONDS_BELOW)
    return np.full(len(count), unit == "s")


def _from_texts(column: pa.Array, unit: Unit, up: bool) -> tuple[Ints, Flags]:
    ms, is_bad = _from_iso(column, up)
    is_number = pc.match_substring_regex(column, NUMBER).fill_null(False)
    if pc.any(is_number).as_py():
        numbers = pc.if_else(is_number, column, pa.scalar(None, column.type)).cast(pa.float64())
        number_ms, number_is_bad = _from_floats(floats(numbers), unit, up)
        chosen = is_number.to_numpy(zero_copy_only=False)
        ms, is_bad = np.where(chosen, number_ms, ms), np.where(chosen, number_is_bad, is_bad)
    return ms, is_bad


def _from_iso(column: pa.Array, up: bool) -> tuple[Ints, Flags]:
    parts = pc.extract_regex(column, ISO)
    year, month, day, hour, minute, second = (_digits(parts, i) for i in range(6))
    micros = _digits_of(pc.utf8_slice_codeunits(pc.utf8_rpad(parts.field(6), 6, "0"), 0, 6))
    months = ((year - 1970) * 12 + month - 1).astype("M8[M]")
    days = months.astype("M8[D]") + (day - 1)
    is_bad = parts.is_null().to_numpy(zero_copy_only=False) | (days.astype("M8[M]") != months)
    seconds = (hour * 60 + minute) * 60 + second - _offset_s(parts.field(7))
    rest = -(-micros // 1000) if up else micros // 1000
    return days.astype(np.int64) * _DAY_MS + seconds * 1000 + rest, is_bad


def _offset_s(zone: pa.Array) -> Ints:
    """Seconds east of Greenwich: of "", "Z", "+05", "+0530" and "-05:30"."""
    digits = pc.utf8_rpad(pc.replace_substring_regex(zone, "[^0-9]", ""), 4, "0")
    hhmm = _digits_of(digits)
    sign: Ints = np.where(pc.starts_with(zone, "-").fill_null(False).to_numpy(zero_copy_only=False), -1, 1)
    return sign * ((hhmm // 100) * 60 + hhmm % 100) * 60


def _digits(parts: pa.StructArray, place: int) -> Ints:
    return _digits_of(parts.field(place))


def _digits_of(column: pa.Array) -> Ints:
    """Numbers from texts of digits; 0 from empty ones, and from none."""
    filled = pc.utf8_lpad(column.fill_null("0"), 1, "0")
    return _whole_numbers(filled.cast(pa.int64()))
