"""Arrow columns of times and durations as epoch milliseconds, whatever they are written in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...errors import ConfigError, RuleError
from ...rules.duration import parsed_ms
from ..kernel.search import Flags, Ints
from ..plan import FARTHEST_MS
from ..schema import Unit
from .kinds import kind_text

_YEAR_10000_S = 253_402_300_800
_YEAR_2200_S = 7_258_118_400

AUTO = {
    "s": _YEAR_10000_S,
    "ms": _YEAR_10000_S * 10**3,
    "us": _YEAR_10000_S * 10**6,
    "ns": _YEAR_2200_S * 10**9,
}
"""Unless the unit is named, a bare number is in the first of these units in which it is closer to zero than this.

Each number is looked at by itself, as only the local engine sees a whole column at once. The largest whole numbers are
not times: programs write them for "never" and "unknown".
"""

DATES = ((19_000_101, 22_001_231), (19_000_101_000_000, 22_001_231_235_959))
"""Bare numbers in between may be dates, or dates and times, in digits: they are refused, unless the unit is named."""

ISO = (
    r"^(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])"
    r"(?:[T ](?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:\.(?P<fraction>\d{1,9}))?)?"
    r"(?P<zone>Z|[+-](?:0\d|1[0-7])(?::?[0-5]\d)?)?)?\z"
)
"""A date, or a date and a time, with or without a zone; without one it is UTC."""

WHOLE = r"^-?(?:\d{1,18}|[0-8]\d{18})\z"
"""A whole number that fits 64 bits, written as text."""

FRACTION = r"^-?\d{1,18}\.\d{1,18}\z"
"""A number with a fraction, written as text."""

NEGATIVE, TOO_FAR, UNKNOWN = -1, -2, -3
"""What `text_ms` returns for texts that are not a duration that we can use."""

PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DAY_MS = 86_400_000


class Times(NamedTuple):
    """Epoch milliseconds, which mean nothing where a time is missing or bad."""

    ms: Ints
    is_missing: Flags
    is_bad: Flags


def times(name: str, column: pa.Array, unit: Unit, *, up: bool = False) -> Times:
    """The times of a column, rounded down to the millisecond, or `up`; `ConfigError` if it holds anything else.

    What is finer than a microsecond is cut off first: Spark has nothing finer.
    """
    is_missing = nulls(column)
    kind = column.type
    if pa.types.is_timestamp(kind):
        ms, is_bad = _in_ms(_whole_numbers(column), kind.unit, up)
    elif pa.types.is_date(kind):
        ms, is_bad = _in_ms(_whole_numbers(column.cast(pa.timestamp("ms"))), "ms", up)
    elif has_whole_numbers(kind):
        count, is_far = _fitting(column)
        ms, is_bad = _from_whole_numbers(count, unit, up)
        is_bad = is_bad | is_far
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        ms, is_bad = _from_floats(floats(column), unit, up)
    elif is_text(kind):
        ms, is_bad = _from_texts(column, unit, up)
    elif pa.types.is_null(kind):
        ms, is_bad = np.zeros(len(column), np.int64), np.zeros(len(column), bool)
    else:
        raise ConfigError(
            f"column {name!r} is {kind_text(kind)}; a time is a timestamp, a date, ISO 8601 text or an epoch number"
        )
    return Times(ms, is_missing, is_bad & ~is_missing)


def time_of(name: str, text: str, unit: Unit, *others: str) -> int:
    """The time that a text says, read as in a log; `ConfigError` if it says none. `others` are allowed there, too."""
    read = times(name, pa.array([text]), unit)
    if read.is_bad[0]:
        allowed = ", ".join(["ISO 8601 (2024-03-31T12:00:00Z)", "an epoch number", *map(repr, others)])
        raise ConfigError(f"{name} {text!r} is not a time; allowed are {allowed}")
    return int(read.ms[0])


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
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        ms = _whole_numbers(column)
        return _known(column, ms, ms < 0, ms > FARTHEST_MS)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = floats(column)
        has_no_fraction = np.isfinite(numbers) & (numbers == np.floor(numbers))
        is_far = has_no_fraction & (np.abs(numbers) > FARTHEST_MS)
        ms = np.where(has_no_fraction & ~is_far, numbers, UNKNOWN).astype(np.int64)
        return _known(column, ms, has_no_fraction & (numbers < 0), is_far)
    if pa.types.is_null(kind):
        return np.full(len(column), UNKNOWN)
    raise ConfigError(
        f"column {name!r} is {kind_text(kind)}; a duration is milliseconds, an interval or text as in '15 min'"
    )


def _known(column: pa.Array, ms: Ints, is_negative: Flags, is_far: Flags) -> Ints:
    is_missing = column.is_null().to_numpy(zero_copy_only=False)
    return np.where(is_missing, UNKNOWN, np.where(is_negative, NEGATIVE, np.where(is_far, TOO_FAR, ms)))


def text_ms(text: str) -> int:
    """The milliseconds of a text, or why there are none: NEGATIVE, TOO_FAR or UNKNOWN."""
    try:
        ms = parsed_ms(text)
    except RuleError:
        return UNKNOWN
    return NEGATIVE if ms < 0 else ms if ms <= FARTHEST_MS else TOO_FAR


def is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string())


def has_whole_numbers(kind: pa.DataType) -> bool:
    """Whether a type holds nothing but whole numbers: decimals too, which is what Spark makes of uint64."""
    return bool(pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0))


def nulls(column: pa.Array) -> Flags:
    """Where a column has nothing."""
    if not column.null_count:
        return np.zeros(len(column), bool)
    is_null: Flags = column.is_null().to_numpy(zero_copy_only=False)
    return is_null


def floats(column: pa.Array) -> NDArray[np.float64]:
    """A column of numbers as floats; NaN where there is none."""
    values: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values


def _whole_numbers(column: pa.Array) -> Ints:
    values: Ints = column.cast(pa.int64(), safe=False).fill_null(0).to_numpy()
    return values


def _fitting(column: pa.Array) -> tuple[Ints, Flags]:
    """Whole numbers as int64, and which of them do not fit; as times they would be too far in any unit."""
    if pa.types.is_integer(column.type) and not pa.types.is_uint64(column.type):
        return _whole_numbers(column), np.zeros(len(column), bool)
    is_far = np.abs(floats(column)) >= 2.0**63
    return _whole_numbers(pc.if_else(pa.array(~is_far), column, pa.scalar(None, column.type))), is_far


def _scaled(count: Ints, unit: str, up: bool) -> tuple[Ints, Flags]:
    per_ms = PER_SECOND[unit] / 1000
    if per_ms < 1:
        is_far = _is_beyond(count, FARTHEST_MS // 1000)
        return np.where(is_far, 0, count) * 1000, is_far
    if per_ms > 1:
        count = -(-count // int(per_ms)) if up else count // int(per_ms)
    return count, _is_beyond(count, FARTHEST_MS)


def _in_ms(count: Ints, unit: str, up: bool) -> tuple[Ints, Flags]:
    """Times in a unit as milliseconds."""
    return _scaled(count // 1000, "us", up) if unit == "ns" else _scaled(count, unit, up)


def _is_beyond(count: NDArray[Any], limit: int) -> Flags:
    return (count > limit) | (count < -limit)


def _from_whole_numbers(count: Ints, unit: Unit, up: bool) -> tuple[Ints, Flags]:
    if unit == "yyyymmdd":
        return _from_dates(count)
    if unit == "auto":
        return _by_size(count, lambda part, found: _in_ms(part, found, up))
    return _in_ms(count, unit, up)


def _from_floats(count: NDArray[np.float64], unit: Unit, up: bool) -> tuple[Ints, Flags]:
    if unit == "yyyymmdd":
        is_bad = ~((np.abs(count) < 10**15) & (count == np.floor(count)))
        ms, is_no_date = _from_dates(np.where(is_bad, 0, count).astype(np.int64))
        return ms, is_bad | is_no_date
    if unit == "auto":
        return _by_size(count, lambda part, found: _floats_in_ms(part, found, up))
    return _floats_in_ms(count, unit, up)


def _by_size(count: NDArray[Any], in_ms: Callable[[NDArray[Any], str], tuple[Ints, Flags]]) -> tuple[Ints, Flags]:
    """Each number in the unit that its size suggests, see `AUTO`; `in_ms` reads those of one unit."""
    size = np.abs(np.maximum(count, -(2**63 - 1)))
    place = np.searchsorted(np.array(list(AUTO.values()), size.dtype), size, "right")
    ms, is_bad = np.zeros(len(count), np.int64), np.ones(len(count), bool)
    for i, unit in enumerate(AUTO):
        rows = np.flatnonzero(place == i)
        if len(rows):
            ms[rows], is_bad[rows] = in_ms(count[rows], unit)
    for first, last in DATES:
        may_be = np.flatnonzero((count >= first) & (count <= last))
        is_bad[may_be] |= count[may_be] % 1 == 0
    return ms, is_bad


def _floats_in_ms(count: NDArray[np.float64], unit: str, up: bool) -> tuple[Ints, Flags]:
    """To the microsecond: a float of today's epoch time, in nanoseconds or in seconds, is hardly more precise."""
    per_ms = PER_SECOND[unit] / 1000
    is_bad = ~(np.abs(count) <= FARTHEST_MS * per_ms)
    count = np.where(is_bad, 0, count)
    if per_ms > 1:
        return _scaled(np.rint(count / (per_ms / 1000)).astype(np.int64), "us", up)[0], is_bad
    whole = np.floor(count)
    micros = np.rint((count - whole) * (1000 / per_ms)).astype(np.int64)
    return whole.astype(np.int64) * int(1 / per_ms) + (-(-micros // 1000) if up else micros // 1000), is_bad


def _from_dates(number: Ints) -> tuple[Ints, Flags]:
    """Times from numbers such as 20240131, or 20240131235959."""
    has_clock = number >= 10**13
    date, clock = np.where(has_clock, number // 10**6, number), np.where(has_clock, number % 10**6, 0)
    year, hour = date // 10_000, clock // 10_000
    days, is_bad = _days(np.clip(year, 0, 9999), date // 100 % 100, date % 100)
    minute, second = clock // 100 % 100, clock % 100
    is_bad |= (year < 1000) | (year > 9999) | (hour > 23) | (minute > 59) | (second > 59)
    return days * _DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000, is_bad


def _days(year: Ints, month: Ints, day: Ints) -> tuple[Ints, Flags]:
    """Days since the epoch, and which of the dates are not in the calendar."""
    months = ((year - 1970) * 12 + month - 1).astype("M8[M]")
    days = months.astype("M8[D]") + (day - 1)
    return days.astype(np.int64), (days.astype("M8[M]") != months) | (month < 1) | (month > 12)


def _from_texts(column: pa.Array, unit: Unit, up: bool) -> tuple[Ints, Flags]:
    ms, is_bad = _from_iso(column, up)
    for pattern, kind, read in ((WHOLE, pa.int64(), _from_whole_numbers), (FRACTION, pa.float64(), _from_floats)):
        is_number = pc.match_substring_regex(column, pattern).fill_null(False)
        chosen = np.flatnonzero(is_number.to_numpy(zero_copy_only=False))
        if len(chosen):
            numbers = column.take(pa.array(chosen)).cast(kind).to_numpy(zero_copy_only=False)
            ms[chosen], is_bad[chosen] = read(numbers, unit, up)
    return ms, is_bad


def _from_iso(column: pa.Array, up: bool) -> tuple[Ints, Flags]:
    parts = pc.extract_regex(column, ISO)
    year, month, day, hour, minute, second = (_digits(parts, i) for i in range(6))
    micros = _digits_of(pc.utf8_slice_codeunits(pc.utf8_rpad(parts.field(6), 6, "0"), 0, 6))
    days, is_bad = _days(year, month, day)
    seconds = (hour * 60 + minute) * 60 + second - _offset_s(parts.field(7))
    rest = -(-micros // 1000) if up else micros // 1000
    return days * _DAY_MS + seconds * 1000 + rest, is_bad | parts.is_null().to_numpy(zero_copy_only=False)


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
