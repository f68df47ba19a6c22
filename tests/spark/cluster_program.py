"""What is submitted to the cluster: a log and rules in, outcomes out, and where the executors found the package."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from sojourn.pipeline import batch, ship
from sojourn.rules import Rule


def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import sojourn  # noqa: PLC0415  (on the executor)

    for _ in batches:
        yield pa.record_batch({"file": [sojourn.__file__]})


def main(log: str, rules: str, out: str, shipped: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    if shipped == "shipped":
        ship(spark)
    events = spark.read.parquet(log)
    chosen = [Rule.from_toml(text) for text in Path(rules).read_text().split("\f")]
    batch.outcomes(events, chosen, unit="ms").write.parquet(out)
    print("master", spark.sparkContext.master)
    executors = spark._jsc.sc().getExecutorMemoryStatus().size() - 1  # type: ignore[union-attr]
    print("executors", executors)
    print("package", *{row.file for row in spark.range(10).mapInArrow(where, "file string").collect()})
    spark.stop()


main(*sys.argv[1:])
