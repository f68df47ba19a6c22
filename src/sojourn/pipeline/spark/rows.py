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

from .files import parquet_files
from .schema import SPARK_PARCELS
from .worker import ReadEvents, ReadOperations

_IN_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}
"""Earlier than 4.2, PySpark has times in UTC by itself."""


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """The columns of a DataFrame as the executors get them; as text where Arrow has no such type."""
    return pa.schema([(field.name, _arrow_type(field.dataType) or pa.string()) for field in frame.schema])


def arrow_rows(frame: DataFrame, columns: Iterable[str] | None = None) -> DataFrame:
    """The same rows with these columns, or all, of types that Arrow has."""
    names = frame.columns if columns is None else list(dict.fromkeys(columns))
    return frame.select(*(_column(frame.schema[name]) for name in names))


def parcels(
    frame: DataFrame, read: ReadEvents | ReadOperations, columns: Iterable[str], dictionary_columns: Iterable[str] = ()
) -> DataFrame:
    """What the executors read of a DataFrame, as parcels. What cannot be read is refused here, not by the tasks.

    Parquet files are read with Arrow, where Spark itself would not read them differently.
    """
    names = list(dict.fromkeys(columns))
    schema = arrow_schema(frame)
    list(read.parcels(pa.schema([schema.field(name) for name in names]).empty_table()))
    files = parquet_files(frame, names, dictionary_columns)
    if files is None:
        return arrow_rows(frame, names).mapInArrow(read, SPARK_PARCELS)
    tasks = len(files.shares)
    spark: SparkSession = frame.sparkSession
    return spark.range(0, tasks, 1, tasks).mapInArrow(replace(read, files=files), SPARK_PARCELS)


def quoted(name: str) -> str:
    """A column's name as Spark reads it, whatever characters it has."""
    return f"`{name.replace('`', '``')}`"


def _column(field: T.StructField) -> Column:
    column = F.col(quoted(field.name))
    return column if _arrow_type(field.dataType) is not None else column.cast("string").alias(field.name)


def _arrow_type(kind: T.DataType) -> pa.DataType | None:
    try:
        return to_arrow_type(kind, **_IN_UTC)
    except PySparkTypeError:
        return None
