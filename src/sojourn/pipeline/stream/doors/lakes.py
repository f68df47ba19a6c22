"""Delta and Iceberg tables as sinks: a table remembers which micro-batches it has, so that none is written twice."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)

from ....errors import ConfigError
from ...spark.parquet import writing
from .sink import OUTCOMES, MicroBatch


class Lake(NamedTuple):
    """A format of tables, by its name in Spark, and the jar that brings it: a class in it, and its name at Maven."""

    format: str
    class_name: str
    package: str

    def check(self, spark: SparkSession) -> None:
        """`ConfigError` if the jar is not there."""
        if not has_class(spark, self.class_name):
            raise ConfigError(
                f"{self.format} needs its jar for this Spark, {spark.version}: spark.jars.packages={self.package}:...; "
                "not every version of Spark has one"
            )


DELTA = Lake("delta", "io.delta.sql.DeltaSparkSessionExtension", "io.delta:delta-spark")
ICEBERG = Lake("iceberg", "org.apache.iceberg.spark.SparkCatalog", "org.apache.iceberg:iceberg-spark-runtime")

_BATCH = "sojourn-batch"
"""A property of a snapshot of an Iceberg table: the key of the micro-batch that it added."""


def has_class(spark: SparkSession, name: str) -> bool:
    """Whether Spark has a class: whether the jar that brings it is there."""
    try:
        spark._jvm.org.apache.spark.util.Utils.classForName(name, True, False)  # type: ignore[union-attr]
    except Exception:
        return False
    return True


class Delta:
    """A Delta table, `outcomes` in a folder; it knows which micro-batches it has of which stream."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        DELTA.check(spark)
        self._path = path

    def __call__(self, rows: DataFrame, table: str, batch: MicroBatch) -> None:
        options = {"txnAppId": f"sojourn {batch.stream}", "txnVersion": str(batch.number)}
        with writing(rows.sparkSession):
            rows.write.format("delta").mode("append").options(**options).save(f"{self._path}/{OUTCOMES}")


class Iceberg:
    """An Iceberg table, CATALOG.DATABASE.TABLE, which is created if it is not there.

    A micro-batch becomes a snapshot that carries its key. One whose key a snapshot has is not written again: what is
    repeated after a failure is the last micro-batch, so only young snapshots matter. Keep those of some days.
    """

    def __init__(self, spark: SparkSession, table: str) -> None:
        ICEBERG.check(spark)
        self._table = table

    def __call__(self, rows: DataFrame, table: str, batch: MicroBatch) -> None:
        spark = rows.sparkSession
        if not spark.catalog.tableExists(self._table):
            rows.limit(0).writeTo(self._table).createOrReplace()
        if not self._has(spark, batch):
            rows.writeTo(self._table).option(f"snapshot-property.{_BATCH}", batch.key).append()

    def _has(self, spark: SparkSession, batch: MicroBatch) -> bool:
        snapshots = spark.read.format("iceberg").load(f"{self._table}.snapshots")
        return not snapshots.where(F.col("summary").getItem(_BATCH) == batch.key).isEmpty()
