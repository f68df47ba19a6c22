"""What a Parquet file means by its columns, beyond what Parquet itself has types for.

Arrow and pandas leave their own schema in a file, which says of whole numbers that they are durations. Spark leaves one
too, which says that they are intervals. Neither reads the other's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping

import pyarrow as pa
from pyarrow import dataset
from pyarrow import parquet as pq

from ..columns.kinds import table_without_views

INT96 = "us"
"""The unit in which Arrow reads INT96, the old timestamps that Spark still writes. In nanoseconds, Arrow's default, the
year 9999 would become 1816."""


def parquet_format(dictionary_columns: Iterable[str] = ()) -> dataset.ParquetFileFormat:
    """Parquet, as it is read here. The columns that are named have few different values."""
    return dataset.ParquetFileFormat(coerce_int96_timestamp_unit=INT96, dictionary_columns=set(dictionary_columns))


_SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_DAY_TIME = re.compile(r"interval (day|hour|minute|second)")
_YEAR_MONTH = re.compile(r"interval (year|month)")


def arrow_schema(path: str) -> pa.Schema:
    """The columns of a file as Arrow reads them."""
    with pq.ParquetFile(path, coerce_int96_timestamp_unit=INT96) as file:
        return file.schema_arrow


def int96_columns(about: pq.FileMetaData) -> set[str]:
    """The columns of old timestamps. They are instants, though Arrow reads them without a zone."""
    columns = map(about.schema.column, range(about.num_columns))
    return {column.name for column in columns if column.physical_type == "INT96" and column.path == column.name}


def not_for_spark(schema: pa.Schema) -> dict[str, pa.DataType]:
    """The columns that Spark reads as mere whole numbers, if it reads them at all, and what they are."""
    return {field.name: field.type for field in schema if _is_not_for_spark(field.type)}


def columns_of(path: str) -> tuple[frozenset[str], dict[str, pa.DataType]]:
    """The names of a file's columns, and which of them Spark has to take for whole numbers, and what they are.

    Spark makes microseconds of milliseconds as it reads, and gives up on a file in which that is too much for one row.
    """
    with pq.ParquetFile(path, coerce_int96_timestamp_unit=INT96) as file:
        schema: pa.Schema = file.schema_arrow
        far = _with_far_times(file.metadata)
    return frozenset(schema.names), {**{name: schema.field(name).type for name in far}, **not_for_spark(schema)}


def _with_far_times(about: pq.FileMetaData) -> set[str]:
    """The columns of milliseconds that would not fit as microseconds, as far as the file itself tells."""
    columns = [about.schema.column(place) for place in range(about.num_columns)]
    in_ms = [place for place, column in enumerate(columns) if _is_in_ms(column)]
    groups = [about.row_group(place) for place in range(about.num_row_groups)]
    return {columns[place].name for place in in_ms for group in groups if _is_far(group.column(place).statistics)}


def _is_in_ms(column: pq.ColumnSchema) -> bool:
    kind = json.loads(column.logical_type.to_json())
    is_time = bool(kind.get("Type") == "Timestamp" and kind.get("timeUnit") == "milliseconds")
    return is_time and bool(column.path == column.name)


def _is_far(found: pq.Statistics | None) -> bool:
    most = (2**63 - 1) // 1000
    return bool(found is not None and found.has_min_max and (found.max_raw > most or found.min_raw < -most))


def _is_not_for_spark(kind: pa.DataType) -> bool:
    return bool(pa.types.is_duration(kind) or (pa.types.is_timestamp(kind) and kind.unit == "ns"))


def with_all_columns(files: dataset.Dataset) -> pa.Schema:
    """The columns of the first file, with the types that it has, and those that only others have."""
    found: pa.Schema = files.schema
    there = set(found.names)
    for fragment in list(files.get_fragments())[1:]:
        for field in fragment.physical_schema:
            if field.name not in there:
                there.add(field.name)
                found = found.append(field)
    return found


def read(files: dataset.Dataset, columns: Collection[str] | None = None) -> pa.Table:
    """All rows of files that are alike, with the types that their writers had in mind; of all columns, or of these."""
    table = _with_intervals(table_without_views(files.to_table(None if columns is None else list(columns))))
    first = next(files.get_fragments(), None)
    instants = int96_columns(first.metadata) if isinstance(first, dataset.ParquetFileFragment) else set()
    for name in instants.intersection(table.column_names):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table.column(place).cast(pa.timestamp(INT96, "UTC")))
    return table


def _with_intervals(table: pa.Table) -> pa.Table:
    """With the intervals that Spark has left in files."""
    for name, kind in _spark_types(table.schema.metadata or {}).items():
        place = table.schema.get_field_index(name)
        if place >= 0 and isinstance(kind, str) and pa.types.is_integer(table.schema.field(place).type):
            table = table.set_column(place, name, _interval(table.column(place), kind))
    return table


def _spark_types(about: Mapping[bytes, bytes]) -> dict[str, object]:
    fields = json.loads(about.get(_SPARK_SCHEMA, b"{}")).get("fields", [])
    return {field["name"]: field["type"] for field in fields}


def _interval(column: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    if _DAY_TIME.match(kind):
        return column.cast(pa.duration("us"))
    if _YEAR_MONTH.match(kind):
        months = [None if count is None else (count, 0, 0) for count in column.to_pylist()]
        return pa.chunked_array([pa.array(months, pa.month_day_nano_interval())])
    return column
