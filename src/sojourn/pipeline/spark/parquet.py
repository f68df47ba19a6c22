"""Parquet on Spark, with what its columns mean: durations are intervals, and nanoseconds are times.

Spark has no nanoseconds, and takes durations for whole numbers. So it is told to read both as whole numbers, which are
converted here.
"""

from __future__ import annotations

import base64
import glob
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import combinations
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)
from pyspark.sql.types import LongType, StructField, StructType

from ...errors import SourceError
from ..columns.times import PER_SECOND
from ..deal import in_parallel
from ..files.meanings import columns_of, not_for_spark
from ..files.source import Source, files_at, folders_at, is_remote
from .rows import quoted
from .schema import MICROS, tell_case_apart

NANOS_AS_LONG = "spark.sql.legacy.parquet.nanosAsLong"
"""The setting under which Spark reads a file that has times in nanoseconds."""

Meanings = Mapping[str, pa.DataType]
"""Columns that Spark takes for whole numbers, and what they are."""


class Group(NamedTuple):
    """Files that have the same columns, with the same meanings."""

    names: frozenset[str]
    meanings: Meanings
    paths: list[str]


_MOST = 2**63 - 1


def read(spark: SparkSession, source: Source) -> DataFrame:
    """All files of a log. Where they differ in their columns or what these mean, those that agree are read together."""
    groups = _groups(spark, source)
    parts = [
        converted(frame, group.meanings) for frame, group in zip(_frames(spark, source, groups), groups, strict=True)
    ]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)


def read_stream(
    spark: SparkSession, source: Source, schema: StructType | None, options: Mapping[str, str]
) -> DataFrame:
    """The files that are there, and those that will come, with the same meaning. `schema` may name the types."""
    groups = _groups(spark, source)
    for one, other in combinations(groups, 2):
        if any(one.meanings.get(name) != other.meanings.get(name) for name in one.names & other.names):
            raise SourceError(
                f"the files of {source.path!r} differ in their times or durations: {_shown(one.meanings)} in "
                f"{one.paths[0]!r}, {_shown(other.meanings)} in {other.paths[0]!r}; a stream reads one kind of files"
            )
    meanings = {name: kind for group in groups for name, kind in group.meanings.items()}
    options = {**_nested(source), **options}
    if schema is None:
        frames = _frames(spark, source, groups)
        raw = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames).schema
    else:
        meanings = {name: kind for name, kind in meanings.items() if name in schema.names}
        meanings = {name: kind for name, kind in meanings.items() if schema[name].dataType != LongType()}
        raw = StructType([_as_long(field) if field.name in meanings else field for field in schema])
    return converted(spark.readStream.format("parquet").options(**options).schema(raw).load(source.path), meanings)


@contextmanager
def writing(spark: SparkSession) -> Iterator[None]:
    """While Parquet is written: times in microseconds, in UTC, which Spark takes from the session's settings alone."""
    before = {name: spark.conf.get(name, None) for name in MICROS}
    for name, value in MICROS.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, chosen in before.items():
            spark.conf.unset(name) if chosen is None else spark.conf.set(name, chosen)


def converted(frame: DataFrame, meanings: Meanings) -> DataFrame:
    """The frame, with whole numbers converted to what they mean."""
    columns = {name: _meant(F.col(quoted(name)), kind) for name, kind in meanings.items()}
    return frame.withColumns(columns) if columns else frame


def _meant(number: Column, kind: pa.DataType) -> Column:
    """Times are cut to the microsecond, durations rounded away from 0; those beyond our limits stay beyond them."""
    a_microsecond = F.expr("INTERVAL '0.000001' SECOND")
    if pa.types.is_duration(kind):
        return _in_micros(number, kind.unit) * a_microsecond
    micros = _floor_div(number, 1000) if kind.unit == "ns" else _in_micros(number, "ms")
    if kind.tz is not None:
        return F.timestamp_micros(micros)
    return F.lit("1970-01-01").cast("timestamp_ntz") + micros * a_microsecond


def _in_micros(number: Column, unit: str) -> Column:
    if unit == "ns":
        return F.when(number < 0, _floor_div(number, 1000)).otherwise(-_floor_div(-number, 1000))
    times = 10**6 // PER_SECOND[unit]
    most = F.lit(_MOST // times)
    within_reach = F.when(number > most, most).when(number < -most, -most).otherwise(number)
    return within_reach * F.lit(times).cast("long")


def _floor_div(number: Column, by: int) -> Column:
    """The quotient of whole numbers, rounded down: exact, where / is a float and `div` rounds towards 0."""
    return F.call_function("div", number - F.pmod(number, F.lit(by)), F.lit(by))


def _reader(spark: SparkSession, source: Source, **more: str) -> DataFrameReader:
    return spark.read.format("parquet").options(**source.options, **more)


def _frames(spark: SparkSession, source: Source, groups: Sequence[Group]) -> list[DataFrame]:
    """The files of each group, as Spark takes them."""
    if len(groups) == 1:
        return [_as_numbers(_reader(spark, source, **_nested(source)), groups[0].meanings, source.path)]
    base = {} if glob.has_magic(source.path) or _nested(source) else {"basePath": source.path}
    return [_as_numbers(_reader(spark, source, **base), group.meanings, *group.paths) for group in groups]


def _as_numbers(reader: DataFrameReader, meanings: Meanings, *paths: str) -> DataFrame:
    """Files with whole numbers in these columns, also where Spark would not take them for such by itself."""
    files = reader.load(list(paths))
    raw = StructType([_as_long(field) if field.name in meanings else field for field in files.schema])
    return files if raw == files.schema else reader.schema(raw).load(list(paths))


def _nested(source: Source) -> dict[str, str]:
    """Spark reads files of folders in folders if these are called as in year=2024, or if it is told to."""
    folders = set() if is_remote(source.path) else folders_at(source.path)
    plain, columns = ([name for name in sorted(folders) if ("=" in name) == is_column] for is_column in (False, True))
    if plain and columns:
        raise SourceError(
            f"{source.path!r} has files in folders that name a column, such as {columns[0]!r}, and in others, such as "
            f"{plain[0]!r}; Spark reads one kind of folders"
        )
    return {"recursiveFileLookup": "true"} if plain else {}


def _groups(spark: SparkSession, source: Source) -> list[Group]:
    """The files, by their columns and what these mean; at least one group. Of those on other machines one is seen."""
    if is_remote(source.path):
        spark.conf.set(NANOS_AS_LONG, "true")
        first = _reader(spark, source).load(source.path).inputFiles()[:1]
        meanings = {name: kind for path in first for name, kind in _seen_by_java(spark, path).items()}
        return [Group(frozenset(), meanings, first)]
    paths = files_at(source.path)
    groups: list[Group] = []
    for path, (names, meanings) in zip(paths, in_parallel(columns_of, paths) if paths else [], strict=True):
        group = Group(names, meanings, [path])
        alike = next((other for other in groups if other[:2] == group[:2]), None)
        if alike is None:
            groups.append(group)
        else:
            alike.paths.append(path)
    if any(group.meanings for group in groups):
        spark.conf.set(NANOS_AS_LONG, "true")
    tell_case_apart(spark, (name for group in groups for name in group.names))
    return groups or [Group(frozenset(), {}, [])]


def _seen_by_java(spark: SparkSession, path: str) -> Meanings:
    """As the second half of `columns_of`, for a file that only Spark can reach."""
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
    return ", ".join(f"{name} {kind}" for name, kind in meanings.items()) or "neither"
