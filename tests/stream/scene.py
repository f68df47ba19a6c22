"""A stream on Spark: events as files, cut into micro-batches, through a query that ends when it has seen them all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from parity.tables import LOG, as_outcomes, as_table
from sojourn.pipeline import stream
from sojourn.pipeline.stream.checkpoint.changes import OnRemoval
from sojourn.rules import Event, Outcome, Rule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPARK_LOG = "key string, kind string, at long, source string, value double, allowed long, due long, amount double"
EPOCH = 1_000_000_000_000
"""Spark's watermark starts at the epoch, so these logs do not."""


class Scene:
    """Events go into `events`, a file a micro-batch; outcomes come out of `out`."""

    def __init__(self, spark: SparkSession, path: Path, **options: Any) -> None:
        self.spark, self.events, self.out, self.checkpoint = spark, path / "events", path / "out", path / "checkpoint"
        self.options = {"unit": "ms", "shards": 3, **options}
        self.progress: list[Any] = []
        self.events.mkdir(exist_ok=True)

    def add(self, log: Sequence[Event]) -> None:
        """One micro-batch more. Spark takes files by age, so each is a second younger than the one before."""
        place = len(list(self.events.iterdir()))
        file = self.events / f"{place:04}.parquet"
        pq.write_table(as_table(log), file)
        os.utime(file, (place, place))

    def frame(self) -> DataFrame:
        return self.spark.readStream.schema(SPARK_LOG).option("maxFilesPerTrigger", 1).parquet(str(self.events))

    def run(self, rules: Rule | Sequence[Rule], removed: OnRemoval | None = None) -> None:
        """Until all events that are there have been seen."""
        outcomes = stream.outcomes(self.frame(), rules, **self.options)
        options: dict[str, Any] = {"available_now": True, "removed": removed}
        query = stream.write(outcomes, str(self.out), checkpoint=str(self.checkpoint), **options)
        try:
            query.awaitTermination()
        finally:
            query.stop()
        self.progress += query.recentProgress

    def outcomes(self) -> list[Outcome]:
        table = self.table("outcomes")
        return as_outcomes(table.drop_columns(["batch"])) if table.num_rows else []

    def table(self, name: str) -> pa.Table:
        path = self.out / name
        return ds.dataset(path, partitioning="hive").to_table() if path.exists() else pa.table({})

    def counted(self, what: str) -> int:
        return sum(report.observedMetrics["sojourn"][what] for report in self.progress)


def moved(log: Sequence[Event]) -> list[Event]:
    """The same log, later."""
    return [
        event._replace(at=event.at + EPOCH, columns={**(event.columns or {}), "due": EPOCH + event.columns["due"]})
        if event.columns
        else event._replace(at=event.at + EPOCH)
        for event in log
    ]


def flush(at: int) -> Event:
    """An event that concerns no rule, but shows that it is so late by now."""
    return Event("nobody", "nothing", at)


assert LOG.names == [part.split()[0] for part in SPARK_LOG.split(", ")]
