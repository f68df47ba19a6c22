"""Spark columns of times and durations as epoch milliseconds: `arrow_times`, as expressions of the JVM.

Nothing here depends on the time zone of the session, nor on whether it follows ANSI: what cannot be read is null.
"""

from __future__ import annotations

import re

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.functions import pandas_udf

from ...errors import ConfigError
from ..columns.times import ISO, NEGATIVE, NUMBER, SECONDS_BELOW, TOO_FAR, UNKNOWN, durations
from ..plan import FARTHEST_MS
from ..schema import Unit

_JAVA_ISO = re.sub(r"\?P<\w+>", "?:", ISO)
_ZONE = r"(?:Z|[+-]\d\d(?::?\d\d)?)\z"


def times(name: str, column: Column, kind: T.DataType, unit: Unit, *, up: bool = False) -> Column:
    """The times of a column, rounded down to the millisecond, or `up`; null where there is none that can be read."""
    match kind:
        case T.TimestampType():
            ms = _from_micros(F.unix_micros(column), up) if up else F.unix_millis(column)
        case T.TimestampNTZType():
            ms = _from_micros(_micros_of(column - F.lit("1970-01-01").cast("timestamp_ntz")), up)
        case T.DateType():
            ms = F.unix_date(column).cast("long") * 86_400_000
        case T.IntegralType():
            ms = _from_whole_numbers(column.cast("long"), unit)
        case T.FloatType() | T.DoubleType() | T.DecimalType():
            ms = _from_floats(column.cast("double"), unit, up)
        case T.StringType():
            ms = _from_texts(column, unit, up)
        case T.NullType():
            ms = F.lit(None).cast("long")
        case _:
            raise ConfigError(
                f"column {name!r} is {kind.simpleString()}; "
                "a time is a timestamp, a date, ISO 8601 text or an epoch number"
            )
    return F.when(ms.between(-FARTHEST_MS, FARTHEST_MS), ms)


def durations_of(name: str, column: Column, kind: T.DataType) -> Column:
    """The durations of a column in milliseconds, rounded up; below 0 where there is none, as in `arrow_times`."""
    match kind:
        case T.StringType():
            return pandas_udf(_text_durations, "long")(column)  # type: ignore[call-overload, no-any-return]
        case T.DayTimeIntervalType():
            ms = _from_micros(_micros_of(column), up=True)
        case T.IntegralType():
            ms = column.cast("long")
        case T.FloatType() | T.DoubleType() | T.DecimalType():
            number = column.cast("double")
            ms = F.when(number % 1 == 0, F.greatest(F.least(number, F.lit(1e18)), F.lit(-1e18)).cast("long"))
        case T.NullType():
            return F.lit(UNKNOWN)
        case _:
            raise ConfigError(
                f"column {name!r} is {kind.simpleString()}; "
                "a duration is milliseconds, an interval or text as in '15 min'"
            )
    known = F.when(ms < 0, NEGATIVE).when(ms > FARTHEST_MS, TOO_FAR).otherwise(ms)
    return F.coalesce(known, F.lit(UNKNOWN))


def floor_div(number: Column, by: int) -> Column:
    """The quotient of whole numbers, rounded down: exact, where / is a float and `div` rounds towards 0."""
    return F.call_function("div", number - F.pmod(number, F.lit(by)), F.lit(by))


def _from_micros(micros: Column, up: bool) -> Column:
    down = floor_div(micros, 1000)
    return down + (F.pmod(micros, F.lit(1000)) != 0).cast("long") if up else down


def _micros_of(interval: Column) -> Column:
    """The microseconds of a day-time interval, field by field: adding it to a time would meet daylight saving."""
    days, hours, minutes = (F.extract(F.lit(part), interval).cast("long") for part in ("DAY", "HOUR", "MINUTE"))
    seconds = F.extract(F.lit("SECOND"), interval)
    return ((days * 24 + hours) * 60 + minutes) * 60_000_000 + (seconds * 1_000_000).cast("long")


def _in_seconds(number: Column, unit: Unit) -> Column:
    if unit == "auto":
        return (number > -SECONDS_BELOW) & (number < SECONDS_BELOW)
    return F.lit(unit == "s")


def _from_whole_numbers(number: Column, unit: Unit) -> Column:
    farthest = FARTHEST_MS // 1000
    seconds = F.when(number.between(-farthest, farthest), number * 1000)
    return F.when(_in_seconds(number, unit), seconds).otherwise(number)


def _from_floats(number: Column, unit: Unit, up: bool) -> Column:
    in_seconds = _in_seconds(number, unit)
    farthest = F.when(in_seconds, FARTHEST_MS // 1000).otherwise(FARTHEST_MS).cast("double")
    whole = F.floor(number)
    rest = F.rint((number - whole) * F.when(in_seconds, 1_000_000).otherwise(1_000)).cast("long")
    ms = whole * F.when(in_seconds, 1_000).otherwise(1) + _from_micros(rest, up)
    return F.when(number.between(-farthest, farthest), ms)


def _from_texts(text: Column, unit: Unit, up: bool) -> Column:
    """With a zone of its own in every text, the session's does not matter."""
    is_date = F.length(text) == len("2007-01-05")
    minutes, rest = F.substring(text, 1, 16), F.substring(text, 17, 40)
    in_full = F.when(is_date, F.concat(text, F.lit("T00:00:00")))
    in_full = in_full.when(~rest.startswith(":"), F.concat(minutes, F.lit(":00"), rest)).otherwise(text)
    zoned = F.when(~is_date & text.rlike(_ZONE), in_full).otherwise(F.concat(in_full, F.lit("Z")))
    number = F.when(text.rlike(NUMBER), text).cast("double")
    iso = F.unix_micros(F.when(text.rlike(_JAVA_ISO), zoned).try_cast("timestamp"))
    return F.coalesce(_from_micros(iso, up), _from_floats(number, unit, up))


def _text_durations(texts: pd.Series) -> pd.Series:
    """Python runs for the different texts of a batch: they are few."""
    return pd.Series(durations("within", pa.array(texts, pa.string())))
