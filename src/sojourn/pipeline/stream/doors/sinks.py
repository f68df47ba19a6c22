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

_ROWS_SHOWN = 20


def sink_of(spark: SparkSession, text: str, checkpoint: str) -> Sink:
    """The sink that a text names. What is set aside goes to the same folder, or else to the checkpoint's.

    Exactly once: Parquet, Delta, Iceberg. The others get a micro-batch again if it is repeated after a failure, with
    the same operation_id for each outcome.
    """
    what, _, where = text.partition(":")
    files = Files(spark)
    beside = Folder(files, f"{checkpoint.rstrip('/')}/aside")
    match what:
        case "parquet" if where:
            folder = Folder(files, located(spark, where))
            return Sink(folder.publish, folder)
        case "delta" if where:
            return Sink(Delta(spark, located(spark, where)), Folder(files, located(spark, where)))
        case "iceberg" if where:
            return Sink(Iceberg(spark, where), beside)
        case "kafka" if where:
            kafka.Address.of(where)
            return Sink(lambda rows, table, batch: kafka.send(rows, where), beside)
        case "console" if not where:
            return Sink(show, beside)
    raise ConfigError(f"sink {text!r} is not known; there are {FORMS}")


def show(rows: DataFrame, table: str, batch: MicroBatch) -> None:
    print(f"batch {batch.number}")
    rows.show(_ROWS_SHOWN, truncate=False)
