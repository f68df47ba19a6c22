"""Spark columns of times and durations as epoch milliseconds: `arrow_times`, as expressions of the JVM.

Nothing here depends on the time zone of the session, nor on whether it follows ANSI: what cannot be read is null.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.functions import arrow_udf, pandas_udf

from ...errors import ConfigError
from ..columns.times import NEGATIVE, TOO_FAR, UNKNOWN, durations
from ..columns.times import times as arrow_times
from ..plan import FARTHEST_MS
from ..schema import Unit


def times(name: str, column: Column, kind: T.DataType, unit: Unit, *, up: bool = False) -> Column:
    """The times of a column, rounded down to the millisecond, or `up`; null where there is none that can be read."""
    match kind:
        case T.TimestampType():
            ms = _from_micros(F.unix_micros(column), up) if up else F.unix_millis(column)
        case T.TimestampNTZType():
            ms = _from_micros(_micros_of(column - F.lit("1970-01-01").cast("timestamp_ntz")), up)
        case T.DateType():
            ms = F.unix_date(column).cast("long") * 86_400_000
        case T.IntegralType() | T.FloatType() | T.DoubleType() | T.DecimalType() | T.StringType():
            ms = _read_by_arrow(unit, up=up)(column)
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


def _text_durations(texts: pd.Series) -> pd.Series:
    """Python runs for the different texts of a batch: they are few."""
    return pd.Series(durations("within", pa.array(texts, pa.string())))


def _read_by_arrow(unit: Unit, *, up: bool) -> Callable[[Column], Column]:
    def read(column: pa.Array) -> pa.Array:
        found = arrow_times("at", column, unit, up=up)
        return pa.array(found.ms, mask=found.is_missing | found.is_bad)

    return arrow_udf(read, "long")  # type: ignore[call-overload, no-any-return]
