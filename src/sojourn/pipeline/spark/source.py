"""Event logs as Spark DataFrames: what Spark reads by itself, and what it has to be helped with."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa
from pyarrow import parquet
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everyone calls them)

from ...errors import SourceError
from ..files.source import Source, files_at, is_remote
from . import texts


class SparkRead(NamedTuple):
    """What was read: events and, if there may be any, the lines that cannot be read as events, as a quarantine."""

    events: DataFrame
    unreadable: DataFrame | None


def read(spark: SparkSession, source: Source) -> SparkRead:
    """The log, lazily. A path without a file system that is not on this machine is left for Spark to find."""
    reader = _READERS.get(source.format, _from_spark)
    try:
        return reader(spark, replace(source, path=located(spark, source.path)))
    except AnalysisException as error:
        reason = (error.getMessage() or str(error)).partition("\n")[0]
        raise SourceError(f"{source.path!r} cannot be read as {source.format}: {reason}") from error


def located(spark: SparkSession, path: str) -> str:
    """A path as Spark is to have it: one on this machine from the root on, as Spark may be in another folder."""
    hadoop = spark._jsc.hadoopConfiguration()
    is_here = not is_remote(path) and str(hadoop.get("fs.defaultFS", "file:///")).startswith("file:")
    return os.path.abspath(path) if is_here else path


def _from_spark(spark: SparkSession, source: Source) -> SparkRead:
    return SparkRead(spark.read.format(source.format).options(**source.options).load(source.path), None)


def _from_parquet(spark: SparkSession, source: Source) -> SparkRead:
    """Times in nanoseconds, as pandas writes them, are not for Spark: it takes them as numbers, and we tell it."""
    nanos = _nanosecond_columns(source)
    if not nanos:
        return _from_spark(spark, source)
    spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
    events = _from_spark(spark, source).events
    times = {name: F.timestamp_micros(F.floor(F.col(f"`{name}`") / 1000).cast("bigint")) for name in nanos}
    return SparkRead(events.withColumns(times), None)


def _from_text(spark: SparkSession, source: Source) -> SparkRead:
    """CSV and JSON Lines: Spark finds the files, and our own reader reads them, on the executors."""
    text = texts.opened(spark, source)
    return SparkRead(text.events(), text.unreadable())


def _from_xes(spark: SparkSession, source: Source) -> SparkRead:
    """Read here, and sent to where the work is done."""
    return SparkRead(spark.createDataFrame(source.read().events), None)


def _nanosecond_columns(source: Source) -> list[str]:
    files = files_at(source.path)
    schema: pa.Schema = parquet.read_schema(files[0]) if files else pa.schema([])
    return [field.name for field in schema if pa.types.is_timestamp(field.type) and field.type.unit == "ns"]


_READERS: dict[str, Callable[[SparkSession, Source], SparkRead]] = {
    "parquet": _from_parquet,
    "csv": _from_text,
    "json": _from_text,
    "xes": _from_xes,
}
