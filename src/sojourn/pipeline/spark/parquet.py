"""Parquet on Spark, with what its columns mean: durations are intervals, and nanoseconds are times.

Spark has no nanoseconds, and takes durations for whole numbers; so it is told to take both for whole numbers, and what
these are is made of them here.
"""

from __future__ import annotations

import base64
import glob
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)
from pyspark.sql.types import LongType, StructField, StructType

from ...errors import SourceError
from ..deal import in_parallel
from ..files.meanings import arrow_schema, not_for_spark
from ..files.source import Source, files_at, is_remote
from .rows import quoted
from .schema import MICROS

NANOS_AS_LONG = "spark.sql.legacy.parquet.nanosAsLong"
"""The setting under which Spark reads a file that has times in nanoseconds."""

Meanings = Mapping[str, pa.DataType]
"""Columns that Spark takes for whole numbers, and what they are."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MOST = 2**63 - 1


def read(spark: SparkSession, source: Source) -> DataFrame:
    """All files of a log. Where they differ in what they mean, those that agree are read together."""
    groups = _by_meanings(spark, source)
    if len(groups) == 1:
        return converted(_loaded(spark, source, source.path), groups[0][0])
    base = {} if glob.has_magic(source.path) else {"basePath": source.path}
    parts = [converted(_loaded(spark, source, *paths, **base), meanings) for meanings, paths in groups]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)


def read_stream(
    spark: SparkSession, source: Source, schema: StructType | None, options: Mapping[str, str]
) -> DataFrame:
    """The files that are there, and those that will come, with the same meaning. `schema` may name the types."""
    groups = _by_meanings(spark, source)
    if len(groups) > 1:
        raise SourceError(
            f"the files of {source.path!r} differ in their times or durations: {_shown(groups[0][0])} in "
            f"{groups[0][1][0]!r}, {_shown(groups[1][0])} in {groups[1][1][0]!r}; a stream reads one kind of files"
        )
    meanings = groups[0][0]
    if schema is None:
        raw = _loaded(spark, source, source.path).schema
    else:
        meanings = {name: kind for name, kind in meanings.items() if name in schema.names}
        meanings = {name: kind for name, kind in meanings.items() if schema[name].dataType != LongType()}
        raw = StructType([_as_long(field) if field.name in meanings else field for field in schema])
    return converted(spark.readStream.format("parquet").options(**options).schema(raw).load(source.path), meanings)


@contextmanager
def writing(spark: SparkSession) -> Iterator[None]:
    """While Parquet is written: with times in microseconds, in UTC. Spark takes that from the session alone."""
    before = {name: spark.conf.get(name, None) for name in MICROS}
    for name, value in MICROS.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, chosen in before.items():
            spark.conf.unset(name) if chosen is None else spark.conf.set(name, chosen)


def converted(frame: DataFrame, meanings: Meanings) -> DataFrame:
    """The frame, with columns of whole numbers as what they are."""
    columns = {name: _meant(F.col(quoted(name)), kind) for name, kind in meanings.items()}
    return frame.withColumns(columns) if columns else frame


def _meant(number: Column, kind: pa.DataType) -> Column:
    """Times are cut to the microsecond, durations rounded away from 0; those that are out of our reach remain so."""
    a_microsecond = F.expr("INTERVAL '0.000001' SECOND")
    if pa.types.is_duration(kind):
        return _in_micros(number, kind.unit) * a_microsecond
    micros = _floor_div(number, 1000)
    if kind.tz is not None:
        return F.timestamp_micros(micros)
    return F.lit("1970-01-01").cast("timestamp_ntz") + micros * a_microsecond


def _in_micros(number: Column, unit: str) -> Column:
    if unit == "ns":
        return F.when(number < 0, _floor_div(number, 1000)).otherwise(-_floor_div(-number, 1000))
    times = 10**6 // _PER_SECOND[unit]
    most = F.lit(_MOST // times)
    within_reach = F.when(number > most, most).when(number < -most, -most).otherwise(number)
    return within_reach * F.lit(times).cast("long")


def _floor_div(number: Column, by: int) -> Column:
    """The quotient of whole numbers, rounded down: exact, where / is a float and `div` rounds towards 0."""
    return F.call_function("div", number - F.pmod(number, F.lit(by)), F.lit(by))


def _loaded(spark: SparkSession, source: Source, *paths: str, **more: str) -> DataFrame:
    return spark.read.format("parquet").options(**source.options, **more).load(list(paths))


def _by_meanings(spark: SparkSession, source: Source) -> list[tuple[Meanings, list[str]]]:
    """The files, by what they mean; at least one entry. Of files on other machines one is looked at."""
    if is_remote(source.path):
        spark.conf.set(NANOS_AS_LONG, "true")
        first = _loaded(spark, source, source.path).inputFiles()[:1]
        return [({name: kind for path in first for name, kind in _seen_by_java(spark, path).items()}, first)]
    paths = files_at(source.path)
    groups: list[tuple[Meanings, list[str]]] = []
    for path, meanings in zip(paths, in_parallel(_meanings, paths) if paths else [], strict=True):
        own = next((group for group in groups if group[0] == meanings), None)
        if own is None:
            groups.append((meanings, [path]))
        else:
            own[1].append(path)
    if any(meanings for meanings, _ in groups):
        spark.conf.set(NANOS_AS_LONG, "true")
    return groups or [({}, [])]


def _meanings(path: str) -> Meanings:
    return not_for_spark(arrow_schema(path))


def _seen_by_java(spark: SparkSession, path: str) -> Meanings:
    """The same of a file that only Spark can reach."""
    java: Any = spark._jvm
    hadoop = spark._jsc.hadoopConfiguration()
    parquet = java.org.apache.parquet.hadoop
    file = parquet.util.HadoopInputFile.fromPath(java.org.apache.hadoop.fs.Path(path), hadoop)
    reader = parquet.ParquetFileReader.open(file)
    try:
        about = reader.getFileMetaData()
        left = about.getKeyValueMetaData().get("ARROW:schema")
        annotated = {field.getName(): str(field.getLogicalTypeAnnotation()) for field in about.getSchema().getFields()}
    finally:
        reader.close()
    schema = pa.ipc.read_schema(pa.BufferReader(base64.b64decode(left))) if left else pa.schema([])
    durations = {name: kind for name, kind in not_for_spark(schema).items() if pa.types.is_duration(kind)}
    zones = {"TIMESTAMP(NANOS,true)": "UTC", "TIMESTAMP(NANOS,false)": None}
    nanos = {name: pa.timestamp("ns", zones[text]) for name, text in annotated.items() if text in zones}
    return {**durations, **nanos}


def _as_long(field: StructField) -> StructField:
    return StructField(field.name, LongType(), field.nullable)


def _shown(meanings: Meanings) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in meanings.items()) or "none that Spark does not know"
