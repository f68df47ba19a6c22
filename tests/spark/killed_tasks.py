"""A replay on Spark whose Python processes die while they write: run by `test_deliver.py`, in a process of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from sojourn.pipeline import batch
from sojourn.pipeline.files.source import Source
from sojourn.pipeline.phases import Phases
from sojourn.pipeline.replay import Job
from sojourn.pipeline.spark.deliver import Deliver, delivered
from sojourn.pipeline.spark.worker import Work
from sojourn.rules import Rule


@dataclass(frozen=True)
class DieOnce:
    """The first attempt of every task dies when it has something to write."""

    work: Work
    folder: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext  # noqa: PLC0415  (on the executor)

        context = TaskContext.get()
        for decided in self.work(batches):
            yield decided
            died = Path(self.folder, str(context.partitionId()))
            if not died.exists():
                died.touch()
                os._exit(1)


def main(log: str, out: str, deaths: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2,3]")  # each task has three attempts
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "3")
        .getOrCreate()
    )
    job = Job(Source.of(log), (Rule("paid", opens="order", until="payment", within="1 h"),), as_of="complete")
    shuffled, work = batch.decision(spark.read.parquet(log), job.plan)
    tallies = delivered(shuffled, Deliver(DieOnce(work, deaths), job.rules, (), out), Phases())
    print(tallies["paid"].counts.opened, len(os.listdir(deaths)))
    spark.stop()


if __name__ == "__main__":
    import pyspark.cloudpickle

    pyspark.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    main(*sys.argv[1:])
