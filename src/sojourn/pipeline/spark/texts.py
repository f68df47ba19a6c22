"""CSV and JSON Lines on Spark: it finds the files, and the tasks read them with the reader that every engine has.

Of JSON Spark brings the lines, so that large files are shared out. A file of CSV goes to one task, since nobody can
tell from the middle of it what is quoted: as its path where the executors have the file, and otherwise as its bytes,
which Spark limits to 2 GiB for each file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from ...errors import SourceError
from ..files.json_values import common_schema, settled
from ..files.options import CsvFormat, check_json_options, listing
from ..files.source import Source, check_any
from ..files.texts import CONTENT, LINE, PATH, CsvHeaders, CsvTask, JsonTask, JsonTypes, Readable, Together, Unreadable
from .schema import tell_case_apart

Task = CsvTask | JsonTask

_FILES = f"{PATH} string, modificationTime timestamp, length bigint, {CONTENT} binary"
"""The columns of Spark's source of files, which a stream must be told. Those that are not selected are not read."""


@dataclass(frozen=True)
class SparkText:
    """Files, or lines of them, and what tasks are to make of them."""

    given: DataFrame
    task: Task

    def events(self) -> DataFrame:
        """What can be read."""
        return _mapped(self.given, Readable(self.task))

    def unreadable(self) -> DataFrame:
        """The lines that cannot be read, as a quarantine."""
        return _mapped(self.given, Unreadable(self.task))

    def together(self) -> DataFrame:
        """Both in one: lines that cannot be read are rows with CORRUPT_LINE and CORRUPT_REASON (`files.lines`)."""
        return _mapped(self.given, Together(self.task))


def opened(spark: SparkSession, source: Source, *, by_path: bool) -> SparkText:
    """The files that are there; `by_path` if the executors have them under the same path."""
    given = _given(spark.read, source, by_path)
    return SparkText(given, _distinct_in_case(spark, task_of(given, source)))


def followed(spark: SparkSession, source: Source, schema: T.StructType | None, *, by_path: bool) -> SparkText:
    """The files that are there, and those to come; if none is yet, the schema tells the columns."""
    task = _task_by(source, schema) if schema else task_of(_given(spark.read, source, by_path), source)
    return SparkText(_given(spark.readStream, source, by_path), _distinct_in_case(spark, task))


def json_messages(values: DataFrame, schema: T.StructType) -> DataFrame:
    """Messages that are JSON objects, in the column LINE, as rows of the schema, CORRUPT_LINE and CORRUPT_REASON."""
    return SparkText(values.select(LINE), JsonTask(_columns(schema), are_messages=True)).together()


def task_of(given: DataFrame, source: Source) -> Task:
    """How to read files, with the columns of all of them. For JSON that takes one pass over the files."""
    if source.format == "csv":
        format = _csv_format(source)
        rows = _mapped(given, CsvHeaders(format)).collect()
        for row in rows:
            if row["error"] is not None:
                raise SourceError(row["error"])
        names = dict.fromkeys(name for row in sorted(rows) for name in row["names"])
        return CsvTask(format, tuple(check_any(names, source)))
    schemas = _mapped(given, JsonTypes()).collect()
    schema = settled(common_schema(pa.ipc.read_schema(pa.py_buffer(row["columns"])) for row in schemas))
    check_any(schema.names, source)
    return JsonTask(schema)


def _task_by(source: Source, schema: T.StructType) -> Task:
    if source.format == "csv":
        return CsvTask(_csv_format(source), tuple(schema.names))
    return JsonTask(_columns(schema))


def _columns(schema: T.StructType) -> pa.Schema:
    """The columns that people name, as the reader has them: times and decimals are texts, to be read by the engine."""
    return pa.schema([(field.name, _type(field.type)) for field in to_arrow_schema(schema)])


def _type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_floating(kind):
        return pa.float64()
    if pa.types.is_list(kind):
        return pa.list_(_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _type(field.type)) for field in kind])
    return kind if pa.types.is_boolean(kind) else pa.string()


def _csv_format(source: Source) -> CsvFormat:
    ours = set(source.options) - set(listing(source.options))
    return CsvFormat.of({name: source.options[name] for name in ours})


def _given(reader: Any, source: Source, by_path: bool) -> DataFrame:
    """The files of a source, as rows; `reader` is for tables or for streams."""
    options = {"recursiveFileLookup": "true", **listing(source.options)}
    if source.format == "json":
        check_json_options({name: value for name, value in source.options.items() if name not in options})
        text: DataFrame = reader.format("text").schema(f"{LINE} string").options(**options).load(source.path)
        return text.select(F.col(LINE).cast("binary").alias(LINE))
    files: DataFrame = reader.format("binaryFile").schema(_FILES).options(**options).load(source.path)
    return files.select(PATH) if by_path else files.select(PATH, CONTENT)


def _mapped(given: DataFrame, work: Any) -> DataFrame:
    return given.mapInArrow(work, from_arrow_schema(work.schema))


def _distinct_in_case(spark: SparkSession, task: Task) -> Task:
    tell_case_apart(spark, task.schema.names)
    return task
