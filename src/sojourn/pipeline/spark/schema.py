"""The tables of `schema`, as Spark has them."""

from __future__ import annotations

import socket
from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812  (as everybody does)

from ..schema import DECIDED, GROUP, QUARANTINE
from .parcels import PARCELS

_TYPES = {
    pa.string(): T.StringType(),
    pa.int32(): T.IntegerType(),
    pa.int64(): T.LongType(),
    pa.binary(): T.BinaryType(),
    pa.bool_(): T.BooleanType(),
    pa.float64(): T.DoubleType(),
}


def spark_schema(schema: pa.Schema) -> T.StructType:
    return T.StructType([T.StructField(f.name, _TYPES.get(f.type, T.TimestampType()), f.nullable) for f in schema])


def tell_case_apart(spark: SparkSession, names: Iterable[str]) -> None:
    """Spark does not tell Key from key unless it is told to: and it is where a log has both."""
    there = set(names)
    if len({name.lower() for name in there}) < len(there):
        spark.conf.set("spark.sql.caseSensitive", "true")


def decided_schema(*, is_grouped: bool = False) -> T.StructType:
    """Outcomes inside the engines; with the group of each operation, if they are grouped."""
    return spark_schema(DECIDED.append(pa.field(GROUP, pa.string())) if is_grouped else DECIDED)


SPARK_QUARANTINE = spark_schema(QUARANTINE)
SPARK_PARCELS = spark_schema(PARCELS)

ARROW = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
}
"""How Spark cuts what it hands to Python. With a limit in bytes it measures the batch again after every row, a quarter
of its work in a replay. So there is only one in rows, low enough for keys of a megabyte."""

SOCKETS = {"spark.python.unix.domain.socket.enabled": "true"} if hasattr(socket, "AF_UNIX") else {}
"""How Java and its Python processes talk. Over TCP, which is Spark's own choice, what one of them says in small pieces
waits until the other has acknowledged the piece before: for some forty milliseconds, several times in every task."""

MICROS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
"""How Spark writes times to Parquet. By itself it writes INT96, an old form that other readers take for nanoseconds."""

UNCHECKED = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
"""Options of the Java virtual machine: Arrow does not check at every value whether it is there, as Spark does so."""

ON_ONE_MACHINE = {"spark.shuffle.compress": "false"}
"""On one machine, compressing what is shuffled takes longer than writing it."""
