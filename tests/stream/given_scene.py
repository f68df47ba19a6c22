"""A stream on Spark whose operations come from a stream of their own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from parity.operations import Given
from parity.operations import as_table as as_operations
from sojourn.pipeline import stream
from sojourn.rules import Rule
from stream.scene import EPOCH, Scene

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE = "operation_id string, rule string, keys array<string>, opened_at long, within long"


class GivenScene(Scene):
    """With operations, a file a micro-batch, beside the events."""

    def __init__(self, spark: SparkSession, path: Path, **options: Any) -> None:
        super().__init__(spark, path, **options)
        self.given = path / "given"
        self.given.mkdir(exist_ok=True)

    def ask(self, given: Sequence[Given]) -> None:
        place = len(list(self.given.iterdir()))
        file = self.given / f"{place:04}.parquet"
        pq.write_table(as_operations(given), file)
        os.utime(file, (place, place))

    def operations(self) -> DataFrame:
        return self.spark.readStream.schema(TABLE).option("maxFilesPerTrigger", 1).parquet(str(self.given))

    def run(self, rule: Rule) -> None:  # type: ignore[override]
        outcomes = stream.outcomes(self.frame(), rule, operations=self.operations(), **self.options)
        query = stream.write(outcomes, str(self.out), checkpoint=str(self.checkpoint), available_now=True)
        try:
            query.awaitTermination()
        finally:
            query.stop()
        self.progress += query.recentProgress


def later(given: Sequence[Given]) -> list[Given]:
    """The same, as `scene.moved` has events."""
    return [each._replace(opened_at=each.opened_at + EPOCH) for each in given]


def far(name: str, at: int) -> Given:
    """An operation that shows how late it is by now."""
    return Given(name, "r", ["nobody"], at, 10**9)
