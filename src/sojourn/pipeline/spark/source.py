"""Event logs as Spark DataFrames: what Spark reads by itself, and what it has to be helped with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from ...errors import SourceError
from ..files.source import Source, is_remote
from . import parquet, texts


class SparkRead(NamedTuple):
    """What was read: events and, if there may be any, the lines that cannot be read as events, as a quarantine."""

    events: DataFrame
    unreadable: DataFrame | None


def read(spark: SparkSession, source: Source) -> SparkRead:
    """The log, lazily. A path without a file system that is not on this machine is left for Spark to find."""
    reader = _READERS.get(source.format, _from_spark)
    with _errors_in_one_line(source):
        return reader(spark, replace(source, path=located(spark, source.path)))


def parquet_stream(
    spark: SparkSession, source: Source, schema: StructType | None, options: Mapping[str, str]
) -> DataFrame:
    """Parquet files, as a stream. Without a schema, those that are there show it."""
    with _errors_in_one_line(source):
        return parquet.read_stream(spark, replace(source, path=located(spark, source.path)), schema, options)


def located(spark: SparkSession, path: str) -> str:
    """A path for Spark: absolute if it is on this machine, as Spark may run in another folder."""
    return os.path.abspath(path) if is_here(spark, path) else path


def is_here(spark: SparkSession, path: str) -> bool:
    """Whether Spark would look for the path on this machine's own file systems."""
    hadoop = spark._jsc.hadoopConfiguration()
    return not is_remote(path) and str(hadoop.get("fs.defaultFS", "file:///")).startswith("file:")


@contextmanager
def _errors_in_one_line(source: Source) -> Iterator[None]:
    """What is wrong with a log, whether Spark or Arrow finds it."""
    try:
        yield
    except AnalysisException as error:
        reason = (error.getMessage() or str(error)).partition("\n")[0]
        raise SourceError(f"{source.path!r} cannot be read as {source.format}: {reason}") from error
    except (pa.ArrowInvalid, OSError) as error:
        raise SourceError(f"{source.path!r} cannot be read as {source.format}: {error}") from error


def _from_spark(spark: SparkSession, source: Source) -> SparkRead:
    return SparkRead(spark.read.format(source.format).options(**source.options).load(source.path), None)


def _from_parquet(spark: SparkSession, source: Source) -> SparkRead:
    return SparkRead(parquet.read(spark, source), None)


def _from_text(spark: SparkSession, source: Source) -> SparkRead:
    """CSV and JSON Lines: Spark finds the files, and our own reader reads them, on the executors."""
    text = texts.opened(spark, source, by_path=is_here(spark, source.path))
    return SparkRead(text.events(), text.unreadable())


def _from_xes(spark: SparkSession, source: Source) -> SparkRead:
    """Read here, and sent to where the work is done: in one piece, as PySpark loses what follows an empty one."""
    return SparkRead(spark.createDataFrame(source.read().events.combine_chunks()), None)


_READERS: dict[str, Callable[[SparkSession, Source], SparkRead]] = {
    "parquet": _from_parquet,
    "csv": _from_text,
    "json": _from_text,
    "xes": _from_xes,
}
