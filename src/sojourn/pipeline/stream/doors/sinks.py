"""Where outcomes go: Parquet, Delta, Iceberg, Kafka or the screen, each named by a text such as `parquet:outcomes/`."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from ....errors import ConfigError
from ...spark.source import located
from ..checkpoint.files import Files
from . import kafka
from .lakes import Delta, Iceberg
from .sink import Folder, MicroBatch, Sink

FORMS = "parquet:FOLDER, delta:FOLDER, iceberg:CATALOG.DATABASE.TABLE, kafka:HOST:PORT/TOPIC and console"

_WITH_PLACE = ("parquet", "delta", "iceberg", "kafka")
_ROWS_SHOWN = 20


def check_sink(text: str) -> None:
    """`ConfigError` if the text names no sink: to be known before Spark is started."""
    what, _, where = text.partition(":")
    if bool(where) != (what in _WITH_PLACE) or what not in (*_WITH_PLACE, "console"):
        raise ConfigError(f"sink {text!r} is not known; there are {FORMS}")
    if what == "kafka":
        kafka.Address.of(where)


def folder_of(text: str) -> str | None:
    """The folder into which the sink that a text names writes; None if there is none."""
    what, _, where = text.partition(":")
    return where if what in ("parquet", "delta") else None


def sink_of(spark: SparkSession, text: str, checkpoint: str) -> Sink:
    """The sink that a text names. What is set aside goes to the same folder, or else to the checkpoint's.

    Exactly once: Parquet, Delta, Iceberg. The others get a micro-batch again if it is repeated after a failure, with
    the same operation_id for each outcome.
    """
    check_sink(text)
    what, _, where = text.partition(":")
    files = Files(spark)
    beside = Folder(files, f"{checkpoint.rstrip('/')}/aside")
    match what:
        case "parquet":
            folder = Folder(files, located(spark, where))
            return Sink(folder.publish, folder)
        case "delta":
            return Sink(Delta(spark, located(spark, where)), Folder(files, located(spark, where)))
        case "iceberg":
            return Sink(Iceberg(spark, where), beside)
        case "kafka":
            return Sink(lambda rows, table, batch: kafka.send(rows, where), beside)
    return Sink(show, beside)


def show(rows: DataFrame, table: str, batch: MicroBatch) -> None:
    print(f"batch {batch.number}")
    rows.show(_ROWS_SHOWN, truncate=False)
