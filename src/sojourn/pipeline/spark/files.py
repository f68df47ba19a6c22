"""DataFrames that are Parquet files and nothing else: those are read with Arrow, where they are dealt out.

If Spark read them, it would make rows of columns, only for Python to make columns of rows. Whatever Spark and Arrow
might read differently is left to Spark: rare types, old calendars, files that are not alike, files on other machines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_type

from ..deal import in_parallel
from ..files.meanings import arrow_schema, int96_columns
from ..files.parquet import ParquetFiles, RowGroup, shares

try:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
except ImportError:  # the client of Spark Connect alone: nothing here raises it
    Py4JError = AttributeError

READ = "spark.sojourn.read"
"""A setting of the session: "arrow", the default, or "spark" to have Spark read everything."""

TASK_BYTES = 1 << 28

_ALIKE = {"string", "tinyint", "smallint", "int", "bigint", "float", "double", "timestamp", "timestamp_ntz", "date"}
_OLD_CALENDAR = {b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"}
_LISTING = {"", "path", "recursivefilelookup"}
"""Options that do not change how files are read."""
_WRITTEN_BY = b"org.apache.spark.version"


def parquet_files(
    frame: DataFrame, columns: Iterable[str], dictionary_columns: Iterable[str] = ()
) -> ParquetFiles | None:
    """The files of a DataFrame, of which these columns are to be read; None if they are to be left to Spark."""
    spark = frame.sparkSession
    names = tuple(dict.fromkeys(columns))
    paths = _paths(frame) if spark.conf.get(READ, "arrow") == "arrow" else None
    if not paths:
        return None
    wanted = {name: frame.schema[name].dataType.simpleString() for name in names}
    if not {kind.removeprefix("array<").removesuffix(">") for kind in wanted.values()} <= _ALIKE:
        return None
    try:
        groups = [group for found in in_parallel(lambda path: _row_groups(path, wanted), paths) for group in found]
    except (OSError, ValueError, TypeError):  # Arrow cannot read it, PySpark has no such type, or the files differ
        return None
    size = sum(group.size for group in groups)
    least = spark.sparkContext.defaultParallelism
    tasks = least * max(1, round(size / TASK_BYTES / least))
    texts = tuple(name for name in dict.fromkeys(dictionary_columns) if wanted[name] == "string")
    schema = arrow_schema(paths[0])
    return ParquetFiles(shares(groups, tasks), pa.schema([schema.field(name) for name in names]), texts)


def _paths(frame: DataFrame) -> list[str] | None:
    """The files behind a DataFrame that does nothing but read them, in the way that Spark does by itself."""
    try:
        plan: Any = frame._jdf.queryExecution().analyzed()
        if plan.getClass().getSimpleName() != "LogicalRelation":
            return None
        relation = plan.relation()
        if relation.getClass().getSimpleName() != "HadoopFsRelation" or relation.fileFormat().toString() != "Parquet":
            return None
        if not set(str(relation.options().keys().mkString(",")).lower().split(",")) <= _LISTING:
            return None
        urls = [urlparse(str(path)) for path in relation.location().inputFiles()]
    except (AttributeError, TypeError, Py4JError):  # another Spark: Connect, or a later one
        return None
    is_here = all(path.scheme == "file" and not path.netloc for path in urls)
    return [unquote(path.path) for path in urls] if is_here else None


def _row_groups(path: str, wanted: dict[str, str]) -> Sequence[RowGroup]:
    """The row groups of a file; `ValueError` if its types are not those that Spark reads."""
    metadata = pq.read_metadata(path)
    schema = arrow_schema(path)
    int96 = int96_columns(metadata)
    about = metadata.metadata or {}
    is_old = bool(_OLD_CALENDAR & about.keys()) or about.get(_WRITTEN_BY, b"4") < b"3.1"
    if is_old or any(_spark_name(schema, name, int96) != kind for name, kind in wanted.items()):
        raise ValueError(path)
    columns = [i for i in range(metadata.num_columns) if metadata.schema.column(i).path.partition(".")[0] in wanted]
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    sizes = [sum(group.column(i).total_uncompressed_size for i in columns) for group in groups]
    return [RowGroup(path, i, group.num_rows, size) for i, (group, size) in enumerate(zip(groups, sizes, strict=True))]


def _spark_name(schema: pa.Schema, name: str, int96: Collection[str]) -> str | None:
    place = schema.get_field_index(name)
    if place < 0:
        return None
    if name in int96:
        return "timestamp"
    kind = schema.field(place).type
    # Spark has microseconds, and would not read what is finer.
    is_finer = pa.types.is_timestamp(kind) and kind.unit == "ns"
    return None if is_finer else str(from_arrow_type(kind, prefer_timestamp_ntz=True).simpleString())
