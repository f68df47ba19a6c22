"""Event logs as Spark DataFrames: what Spark reads by itself, and what it has to be helped with."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everyone calls them)
from pyspark.sql.types import StringType, StructType

from ...errors import SourceError
from ..files.lines import CORRUPT, FIELDS, NOT_JSON
from ..files.source import Source, is_remote
from ..schema import REASON, ROW, RULE
from . import parquet


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
        raise _unreadable(source, error) from error
    except (pa.ArrowInvalid, OSError) as error:
        raise SourceError(f"{source.path!r} cannot be read as {source.format}: {error}") from error


def parquet_stream(
    spark: SparkSession, source: Source, schema: StructType | None, options: Mapping[str, str]
) -> DataFrame:
    """Parquet files, as a stream. Without a schema, those that are there show it."""
    try:
        return parquet.read_stream(spark, replace(source, path=located(spark, source.path)), schema, options)
    except AnalysisException as error:
        raise _unreadable(source, error) from error


def located(spark: SparkSession, path: str) -> str:
    """A path as Spark is to have it: one on this machine from the root on, as Spark may be in another folder."""
    return os.path.abspath(path) if is_here(spark, path) else path


def is_here(spark: SparkSession, path: str) -> bool:
    """Whether Spark would look for the path on this machine's own file systems."""
    hadoop = spark._jsc.hadoopConfiguration()
    return not is_remote(path) and str(hadoop.get("fs.defaultFS", "file:///")).startswith("file:")


def _unreadable(source: Source, error: AnalysisException) -> SourceError:
    reason = (error.getMessage() or str(error)).partition("\n")[0]
    return SourceError(f"{source.path!r} cannot be read as {source.format}: {reason}")


def _from_spark(spark: SparkSession, source: Source) -> SparkRead:
    return SparkRead(spark.read.format(source.format).options(**source.options).load(source.path), None)


def _from_parquet(spark: SparkSession, source: Source) -> SparkRead:
    return SparkRead(parquet.read(spark, source), None)


def _from_csv(spark: SparkSession, source: Source) -> SparkRead:
    """Every column as text, as without Spark; the names come from the header of the first file."""
    options = {"header": "true", "enforceSchema": "false", "columnPruning": "false", **source.options}
    names = spark.read.options(**options).csv(source.path).columns
    schema = StructType()
    for name in [*names, CORRUPT]:
        schema = schema.add(name, StringType())
    events = spark.read.options(**options, columnNameOfCorruptRecord=CORRUPT).schema(schema).csv(source.path)
    return _parted(events, FIELDS)


def _from_json(spark: SparkSession, source: Source) -> SparkRead:
    options = {"columnNameOfCorruptRecord": CORRUPT, **source.options}
    events = spark.read.options(**options).json(source.path)
    return _parted(events, NOT_JSON) if CORRUPT in events.columns else SparkRead(events, None)


def _from_xes(spark: SparkSession, source: Source) -> SparkRead:
    """Read here, and sent to where the work is done."""
    return SparkRead(spark.createDataFrame(source.read().events), None)


def _parted(events: DataFrame, reason: str) -> SparkRead:
    """Rows apart from lines that are none."""
    is_corrupt = F.col(CORRUPT).isNotNull()
    readable = events.where(~is_corrupt).drop(CORRUPT)
    if not readable.columns:
        return SparkRead(readable, None)
    # Spark refuses to read nothing but the corrupt lines: so look at another column, which changes nothing.
    looked_at = F.coalesce(F.length(F.col(f"`{readable.columns[0]}`").cast("string")) >= 0, F.lit(True))
    row = F.to_json(F.struct(F.col(CORRUPT)))
    unreadable = events.where(is_corrupt & looked_at).select(
        F.lit(None).cast("string").alias(RULE), F.lit(reason).alias(REASON), row.alias(ROW)
    )
    return SparkRead(readable, unreadable)


_READERS: dict[str, Callable[[SparkSession, Source], SparkRead]] = {
    "parquet": _from_parquet,
    "csv": _from_csv,
    "json": _from_json,
    "xes": _from_xes,
}
