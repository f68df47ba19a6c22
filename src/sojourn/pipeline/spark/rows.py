"""DataFrames as Arrow tables on the executors: where Spark's rows become the normal form, or are set aside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_type

from ...rules import Column as Within
from ...rules import UntilColumn
from ..columns.times import durations, times
from .files import parquet_files
from .schema import SPARK_PARCELS
from .worker import Named, ReadEvents, ReadOperations, Work

_IN_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}
"""Earlier than 4.2, PySpark has times in UTC by itself."""


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """The columns of a DataFrame as the executors get them; as text where Arrow has no such type."""
    return pa.schema([(field.name, _arrow_type(field.dataType) or pa.string()) for field in frame.schema])


def refuse_months(frame: DataFrame, withins: Iterable[Within | UntilColumn]) -> None:
    """`ConfigError` for intervals of months, in which deadlines cannot stand: as text they would be set aside."""
    for within in withins:
        if isinstance(frame.schema[within.name].dataType, T.YearMonthIntervalType):
            months = pa.nulls(0, pa.month_day_nano_interval())
            times(within.name, months, "auto") if isinstance(within, UntilColumn) else durations(within.name, months)


def mapped(frame: DataFrame, work: Work, schema: T.StructType, columns: Iterable[str] | None = None) -> DataFrame:
    """What becomes of rows with these columns, or all, of types that Arrow has.

    On their way columns are numbered: PySpark looks them up by name, and takes the dot of a name for a path.
    """
    names = tuple(frame.columns if columns is None else dict.fromkeys(columns))
    numbered = [_column(frame.schema[name]).alias(f"c{place}") for place, name in enumerate(names)]
    return frame.select(*numbered).mapInArrow(Named(names, work), schema)


def parcels(
    frame: DataFrame, read: ReadEvents | ReadOperations, columns: Iterable[str], dictionary_columns: Iterable[str] = ()
) -> DataFrame:
    """What the executors read of a DataFrame, as parcels. What cannot be read is refused here, not by the tasks.

    Parquet files are read with Arrow, where Spark itself would not read them differently.
    """
    names = list(dict.fromkeys(columns))
    schema = arrow_schema(frame)
    list(read.parcels(pa.schema([schema.field(name) for name in names]).empty_table())[0])
    files = parquet_files(frame, names, dictionary_columns)
    if files is None:
        return mapped(frame, read, SPARK_PARCELS, names)
    tasks = len(files.shares)
    spark: SparkSession = frame.sparkSession
    return spark.range(0, tasks, 1, tasks).mapInArrow(replace(read, files=files), SPARK_PARCELS)


def quoted(name: str) -> str:
    """A column's name as Spark reads it, whatever characters it has."""
    return f"`{name.replace('`', '``')}`"


def _column(field: T.StructField) -> Column:
    column = F.col(quoted(field.name))
    return column if _arrow_type(field.dataType) is not None else column.cast("string")


def _arrow_type(kind: T.DataType) -> pa.DataType | None:
    try:
        return to_arrow_type(kind, **_IN_UTC)
    except PySparkTypeError:
        return None
