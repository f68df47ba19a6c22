"""Times in every form people write them: the same milliseconds from Arrow, from Spark and from the calendar."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from sojourn import ConfigError
from sojourn.pipeline.columns.times import NEGATIVE, TOO_FAR, UNKNOWN, Times, durations, times
from sojourn.rules import Rule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UTC = dt.UTC
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)
BAD = None


def ms(*parts: int, micros: int = 0) -> int:
    return (dt.datetime(*parts, micros, tzinfo=UTC) - EPOCH) // dt.timedelta(milliseconds=1)  # type: ignore[arg-type, misc]


TEXTS = {
    "2007-01-05T10:11:12": ms(2007, 1, 5, 10, 11, 12),
    "2007-01-05 10:11:12": ms(2007, 1, 5, 10, 11, 12),
    "2007-01-05T10:11:12Z": ms(2007, 1, 5, 10, 11, 12),
    "2007-01-05T10:11:12.5": ms(2007, 1, 5, 10, 11, 12) + 500,
    "2007-01-05T10:11:12.123999": ms(2007, 1, 5, 10, 11, 12) + 123,
    "2007-01-05T10:11:12.123999999": ms(2007, 1, 5, 10, 11, 12) + 123,
    "2007-01-05T10:11:12+05:30": ms(2007, 1, 5, 4, 41, 12),
    "2007-01-05T10:11:12+0530": ms(2007, 1, 5, 4, 41, 12),
    "2007-01-05T10:11:12-05": ms(2007, 1, 5, 15, 11, 12),
    "2007-01-05T10:11:12.5-00:30": ms(2007, 1, 5, 10, 41, 12) + 500,
    "2007-01-05T10:11": ms(2007, 1, 5, 10, 11, 0),
    "2007-01-05T10:11+01:00": ms(2007, 1, 5, 9, 11, 0),
    "2007-01-05": ms(2007, 1, 5, 0, 0, 0),
    "2007-03-11T02:30:00": ms(2007, 3, 11, 2, 30, 0),  # an hour that New York does not have
    "2007-11-04T01:30:00": ms(2007, 11, 4, 1, 30, 0),  # and one that it has twice
    "1948-05-01T00:00:00.001": ms(1948, 5, 1, 0, 0, 0) + 1,
    "1948-05-01T00:00:00.0015": ms(1948, 5, 1, 0, 0, 0) + 1,
    "1582-10-10": ms(1582, 10, 10, 0, 0, 0),
    "0001-01-01": ms(1, 1, 1, 0, 0, 0),
    "2100-12-31T23:59:59.999": ms(2100, 12, 31, 23, 59, 59) + 999,
    "9999-12-31T23:59:59.999999": ms(9999, 12, 31, 23, 59, 59) + 999,
    "2004-02-29": ms(2004, 2, 29, 0, 0, 0),
    "1167606000": 1_167_606_000_000,
    "1167606000.25": 1_167_606_000_250,
    "1167606000123": 1_167_606_000_123,
    "-694224000": -694_224_000_000,
    "2005-02-29": BAD,
    "2007-04-31": BAD,
    "2007-13-01": BAD,
    "2007-00-01": BAD,
    "2007-01-05T24:00:00": BAD,
    "2007-01-05T10:61:12": BAD,
    "2007-01-05T10:11:60": BAD,
    "2007-01-05T10:11:12 ": BAD,
    " 2007-01-05": BAD,
    "2007-01-05\n": BAD,
    "2007-1-5": BAD,
    "2007-01-05T10:11:12+25:00": BAD,
    "05/01/2007": BAD,
    "yesterday": BAD,
    "nan": BAD,
    "": BAD,
    "1e9": BAD,
    "999999999999999999": 999_999_999_999,
    "1700000000123456789": 1_700_000_000_123,
    "1700000000123456": 1_700_000_000_123,
    "1700000000123456.5": 1_700_000_000_123,
    "8999999999999999999": BAD,
    "9999999999999999999": BAD,
    "10000000000000000000": BAD,
    "20240131": BAD,
    "0020240131": BAD,
    "20240131235959": BAD,
}
END_OF_9999_S = 253_402_300_799
END_OF_2199_NS = 7_258_118_399_999_999_999
NUMBERS = {
    0: 0,
    1: 1_000,
    -1: -1_000,
    1_167_606_000: 1_167_606_000_000,
    END_OF_9999_S: ms(9999, 12, 31, 23, 59, 59),
    END_OF_9999_S + 1: ms(1978, 1, 11, 21, 31, 40) + 800,
    -END_OF_9999_S: -END_OF_9999_S * 1_000,
    -END_OF_9999_S - 1: -END_OF_9999_S - 1,
    1_700_000_000_123: 1_700_000_000_123,
    END_OF_9999_S * 1_000 + 999: ms(9999, 12, 31, 23, 59, 59) + 999,
    END_OF_9999_S * 1_000 + 1_000: ms(1978, 1, 11, 21, 31, 40) + 800,
    1_700_000_000_123_999: 1_700_000_000_123,
    -1_700_000_000_123_999: -1_700_000_000_124,
    END_OF_9999_S * 10**6 + 999_999: ms(9999, 12, 31, 23, 59, 59) + 999,
    END_OF_9999_S * 10**6 + 10**6: ms(1978, 1, 11, 21, 31, 40) + 800,
    1_700_000_000_123_999_999: 1_700_000_000_123,
    -1_700_000_000_123_999_999: -1_700_000_000_124,
    END_OF_2199_NS: ms(2199, 12, 31, 23, 59, 59) + 999,
    END_OF_2199_NS + 1: BAD,
    -(2**63): BAD,
    -(2**63) + 1: BAD,
    2**63 - 1: BAD,
    19_000_100: 19_000_100_000,
    19_000_101: BAD,
    20_240_131: BAD,
    22_001_231: BAD,
    22_001_232: 22_001_232_000,
    -20_240_131: -20_240_131_000,
    19_000_101_000_000: BAD,
    20_240_131_235_959: BAD,
    22_001_231_235_959: BAD,
    22_001_231_235_960: 22_001_231_235_960,
}
UNSIGNED = {count: ms for count, ms in NUMBERS.items() if count >= 0} | {2**63: BAD, 2**64 - 1: BAD}
FLOATS = {
    1_167_606_000.123: 1_167_606_000_123,
    0.0005: 0,
    -0.0005: -1,
    1_167_606_000_123.7: 1_167_606_000_123,
    253_402_300_799_999.0: 253_402_300_799_999,
    -1_167_606_000_123.2: -1_167_606_000_124,
    1_700_000_000_123_000.0: 1_700_000_000_123,
    1_700_000_000_106_000_000.0: 1_700_000_000_106,  # which no float is: the nearest lies 128 nanoseconds before
    20_240_131.0: BAD,
    20_240_131.5: 20_240_131_500,
    float("nan"): BAD,
    float("inf"): BAD,
    float("-inf"): BAD,
    1e300: BAD,
}
MOMENTS = {
    dt.datetime(2007, 1, 5, 10, 11, 12, 123_999): ms(2007, 1, 5, 10, 11, 12) + 123,
    dt.datetime(2007, 3, 11, 2, 30): ms(2007, 3, 11, 2, 30, 0),
    dt.datetime(1948, 5, 1, 0, 0, 0, 1_500): ms(1948, 5, 1, 0, 0, 0) + 1,
    dt.datetime(1969, 12, 31, 23, 59, 59, 999_999): -1,
    dt.datetime(9999, 12, 31, 23, 59, 59, 999_999): ms(9999, 12, 31, 23, 59, 59) + 999,
}
DATES = {dt.date(2007, 1, 5): ms(2007, 1, 5, 0, 0, 0), dt.date(1948, 5, 1): ms(1948, 5, 1, 0, 0, 0)}
DECIMALS = {Decimal("1167606000.123"): 1_167_606_000_123, Decimal("-1.000"): -1_000}
WHOLE_DECIMALS = {Decimal(count): ms for count, ms in NUMBERS.items()} | {Decimal(10**30): BAD, Decimal(2**64 - 1): BAD}

FORMS: dict[str, tuple[dict[Any, int | None], pa.DataType]] = {
    "text": (TEXTS, pa.string()),
    "whole numbers": (NUMBERS, pa.int64()),
    "floats": (FLOATS, pa.float64()),
    "decimals": (DECIMALS, pa.decimal128(13, 3)),
    "whole decimals": (WHOLE_DECIMALS, pa.decimal128(38, 0)),
    "timestamps without a zone": (MOMENTS, pa.timestamp("us")),
    "timestamps in UTC": ({at.replace(tzinfo=UTC): ms for at, ms in MOMENTS.items()}, pa.timestamp("us", "UTC")),
    "dates": (DATES, pa.date32()),
}


def read(found: Times) -> list[int | None]:
    is_there = ~(found.is_missing | found.is_bad)
    return [ms if ok else BAD for ms, ok in zip(found.ms.tolist(), is_there.tolist(), strict=True)]


@pytest.mark.parametrize(("forms", "kind"), FORMS.values(), ids=FORMS)
def test_arrow_reads_a_time_in_any_form(forms: dict[Any, int | None], kind: pa.DataType) -> None:
    column = pa.array([*forms, None], kind)
    assert dict(zip(forms, read(times("at", column, "auto")), strict=False)) == forms
    assert times("at", column, "auto").is_missing.tolist() == [False] * len(forms) + [True]


@pytest.mark.parametrize("up", [False, True], ids=["down", "up"])
@pytest.mark.parametrize(("forms", "kind"), FORMS.values(), ids=FORMS)
def test_spark_reads_a_time_as_arrow_does(
    spark: SparkSession, forms: dict[Any, int | None], kind: pa.DataType, up: bool
) -> None:
    column = pa.array([*forms, None], kind)
    schema = "at timestamp_ntz" if kind == pa.timestamp("us") else None  # or Spark would take it for New York's
    there = handed_over(spark.createDataFrame(pa.table({"at": column}), schema))["at"]
    assert read(times("at", there, "auto", up=up)) == read(times("at", column, "auto", up=up))


def handed_over(frame: DataFrame) -> dict[str, pa.Array]:
    """The columns of a DataFrame as the executors get them, in the order of its rows."""
    from sojourn.pipeline.spark.rows import arrow_schema, mapped  # noqa: PLC0415  (an extra)

    table = mapped(frame.coalesce(1), lambda batches: batches, frame.schema).toArrow().cast(arrow_schema(frame))
    return {name: table[name].combine_chunks() for name in table.column_names}


def test_arrow_reads_whole_numbers_of_64_bits_without_a_sign() -> None:
    assert dict(zip(UNSIGNED, read(times("at", pa.array(UNSIGNED, pa.uint64()), "auto")), strict=True)) == UNSIGNED


@pytest.mark.parametrize(
    ("unit", "expected"),
    [("s", [5_000, 10**14]), ("ms", [5, 10**11]), ("us", [0, 10**8]), ("ns", [0, 10**5]), ("yyyymmdd", [BAD, BAD])],
)
def test_a_unit_that_is_named_is_that_of_every_number(unit: Any, expected: list[int | None]) -> None:
    assert read(times("at", pa.array([5, 10**11]), unit)) == expected
    assert read(times("at", pa.array([5.0, 1e11]), unit)) == expected
    assert read(times("at", pa.array(["5", "100000000000"]), unit)) == expected
    assert read(times("at", pa.array(["5.0", "100000000000.0"]), unit)) == expected


DIGITS = {
    20_240_131: ms(2024, 1, 31, 0, 0, 0),
    20_240_229: ms(2024, 2, 29, 0, 0, 0),
    10_000_101: ms(1000, 1, 1, 0, 0, 0),
    99_991_231: ms(9999, 12, 31, 0, 0, 0),
    20_240_131_235_959: ms(2024, 1, 31, 23, 59, 59),
    20_230_229: BAD,
    20_241_301: BAD,
    20_240_001: BAD,
    20_240_100: BAD,
    2_024_013_123: BAD,
    202_401_312_359: BAD,
    20_240_131_240_000: BAD,
    20_240_131_236_000: BAD,
    20_240_131_235_960: BAD,
    240_131: BAD,
    -20_240_131: BAD,
    0: BAD,
    2**63 - 1: BAD,
    -(2**63): BAD,
}


def test_dates_in_digits_are_read_where_the_unit_says_so() -> None:
    assert dict(zip(DIGITS, read(times("at", pa.array(DIGITS, pa.int64()), "yyyymmdd")), strict=True)) == DIGITS
    floats = pa.array([*map(float, DIGITS), 20_240_131.5, float("nan"), float("inf")])
    assert read(times("at", floats, "yyyymmdd")) == [*DIGITS.values(), BAD, BAD, BAD]
    assert read(times("at", pa.array(["20240131", "2024-01-31"]), "yyyymmdd")) == [ms(2024, 1, 31, 0, 0, 0)] * 2


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_every_unit_are_rounded_down_or_up_but_never_towards_zero(unit: str) -> None:
    """After they were cut to microseconds."""
    per_ms = {"s": 0.001, "ms": 1, "us": 1_000, "ns": 1_000_000}[unit]
    for count in (-1, 0, 1) if unit != "ns" else (-1_001, -1_000, 0, 1_000, 1_999):
        column = pa.array([count]).cast(pa.timestamp(unit))
        down, up = (read(times("at", column, "auto", up=up))[0] for up in (False, True))
        exact = count / per_ms
        assert (down, up) == (int(exact // 1), -int(-exact // 1))
        assert read(times("at", pa.array([count]), unit, up=True)) == [up]  # type: ignore[arg-type]
    assert read(times("at", pa.array([1, 999]).cast(pa.timestamp("ns")), "auto", up=True)) == [0, 0]


def test_a_timestamp_in_seconds_that_nothing_else_can_hold_is_bad() -> None:
    farthest = 2**62 // 10**6
    counts = [farthest, farthest + 1, -farthest, -farthest - 1, 2**63 - 1, -(2**63)]
    column = pa.array(counts).cast(pa.timestamp("s"))
    assert read(times("at", column, "auto")) == [farthest * 1_000, BAD, -farthest * 1_000, BAD, BAD, BAD]


DURATIONS: dict[str, tuple[list[Any], pa.DataType]] = {
    "text": (["15 min", "1h30m", "0.1 ms", "-1 s", "soon", "1500", "", "9999999999999 weeks", None], pa.string()),
    "whole numbers": ([0, 1500, -1, 2**62, -(2**63), None], pa.int64()),
    "whole decimals": ([Decimal(0), Decimal(1500), Decimal(-1), Decimal(2**64 - 1), None], pa.decimal128(20, 0)),
    "floats": ([0.0, 1500.0, 1.5, -1.0, float("nan"), float("inf"), -1e300, 1e300, None], pa.float64()),
    "intervals": (
        [dt.timedelta(microseconds=1), dt.timedelta(hours=1.5), dt.timedelta(days=-1), dt.timedelta(days=99), None],
        pa.duration("us"),
    ),
}
EXPECTED_DURATIONS = {
    "text": [900_000, 5_400_000, 1, -1, -3, -3, -3, -2, -3],
    "whole numbers": [0, 1500, -1, -2, -1, -3],
    "whole decimals": [0, 1500, -1, -2, -3],
    "floats": [0, 1500, -3, -1, -3, -3, -1, -2, -3],
    "intervals": [1, 5_400_000, -1, 99 * 86_400_000, -3],
}


@pytest.mark.parametrize("form", DURATIONS)
def test_arrow_reads_a_duration_in_any_form(form: str) -> None:
    values, kind = DURATIONS[form]
    assert durations("within", pa.array(values, kind)).tolist() == EXPECTED_DURATIONS[form]


def test_arrow_reads_durations_of_64_bits_without_a_sign() -> None:
    assert durations("within", pa.array([0, 1500, 2**63, 2**64 - 1], pa.uint64())).tolist() == [0, 1500, -2, -2]


@pytest.mark.parametrize("form", DURATIONS)
def test_spark_reads_a_duration_as_arrow_does(spark: SparkSession, form: str) -> None:
    values, kind = DURATIONS[form]
    there = handed_over(spark.createDataFrame(pa.table({"within": pa.array(values, kind)})))["within"]
    assert durations("within", there).tolist() == EXPECTED_DURATIONS[form]


@pytest.mark.parametrize(
    "column", [pa.array([True]), pa.array([[1]]), pa.array([b"x"])], ids=["bool", "list", "binary"]
)
def test_a_column_of_something_else_is_refused_by_name(spark: SparkSession, column: pa.Array) -> None:
    from sojourn.pipeline import batch  # noqa: PLC0415  (an extra)

    with pytest.raises(ConfigError, match=r"column 'when' is .*; a time is"):
        times("when", column, "auto")
    frame = spark.createDataFrame(pa.table({"key": ["a"], "kind": ["open"], "when": column}))
    with pytest.raises(ConfigError, match=r"column 'when' is .*; a time is"):
        batch.outcomes(frame, Rule("r", "open", "done", within=5), at="when")


def test_what_a_cell_says_of_itself_does_not_change_the_reason() -> None:
    texts = ["is negative", "is too long", "3 is negative", "-1 s", "9" * 18 + " weeks"]
    assert durations("within", pa.array(texts)).tolist() == [UNKNOWN, UNKNOWN, UNKNOWN, NEGATIVE, TOO_FAR]
