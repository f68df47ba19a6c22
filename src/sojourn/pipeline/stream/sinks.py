"""Where outcomes go: Parquet, Delta, Kafka or the screen, each named by a word such as `parquet:outcomes/`."""

from __future__ import annotations

import importlib.util

from pyspark.sql import DataFrame, SparkSession

from ...errors import ConfigError
from ..spark.parquet import writing
from ..spark.source import located
from . import kafka
from .files import Files
from .sink import OUTCOMES, Batch, Folder, Sink

FORMS = "parquet:FOLDER, delta:FOLDER, kafka:HOST:PORT/TOPIC and console"

_ROWS_SHOWN = 20


def sink_of(spark: SparkSession, text: str, checkpoint: str) -> Sink:
    """The sink of that name. What is set aside goes to the same folder, or else into that of the checkpoint.

    Exactly once: Parquet, Delta. Others get a micro-batch again that was repeated after a failure; the operation_id of
    an outcome is the same then.
    """
    what, _, where = text.partition(":")
    files = Files(spark)
    beside = Folder(files, f"{checkpoint.rstrip('/')}/aside")
    match what:
        case "parquet" if where:
            folder = Folder(files, located(spark, where))
            return Sink(folder.publish, folder)
        case "delta" if where:
            return Sink(Delta(located(spark, where)), Folder(files, located(spark, where)))
        case "kafka" if where:
            kafka.Address.of(where)
            return Sink(lambda rows, table, batch: kafka.send(rows, where), beside)
        case "console" if not where:
            return Sink(show, beside)
    raise ConfigError(f"sink {text!r} is not known; there are {FORMS}")


class Delta:
    """A Delta table, `outcomes` in a folder; it knows which micro-batches it has of which stream."""

    def __init__(self, path: str) -> None:
        if importlib.util.find_spec("delta") is None:
            raise ConfigError("a Delta table needs Delta Lake: pip install delta-spark, and its jar for this Spark")
        self._path = path

    def __call__(self, rows: DataFrame, table: str, batch: Batch) -> None:
        options = {"txnAppId": f"sojourn {batch.stream}", "txnVersion": str(batch.number)}
        with writing(rows.sparkSession):
            rows.write.format("delta").mode("append").options(**options).save(f"{self._path}/{OUTCOMES}")


def show(rows: DataFrame, table: str, batch: Batch) -> None:
    print(f"batch {batch.number}")
    rows.show(_ROWS_SHOWN, truncate=False)
