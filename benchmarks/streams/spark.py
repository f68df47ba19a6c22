"""A Spark session for a measurement, and a query run to its end."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)

from sojourn.pipeline.spark.schema import ARROW, ON_ONE_MACHINE, SOCKETS, UNCHECKED
from sojourn.pipeline.stream.doors.sink import DEFAULTS, LOCAL_CHECKPOINT

from .events import FILES, SCHEMA

CORES = 2
SETTINGS = {
    "spark.master": f"local[{CORES}]",
    "spark.driver.memory": os.environ.get("SOJOURN_BENCHMARK_MEMORY", "4g"),
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": str(CORES),
    "spark.sql.streaming.numRecentProgressUpdates": "10000",
    "spark.driver.extraJavaOptions": UNCHECKED,
    **ARROW,
    **SOCKETS,
    **ON_ONE_MACHINE,
    **DEFAULTS,
    **LOCAL_CHECKPOINT,
}
"""The same for every peer: with what `sojourn stream` tells Spark on one machine."""

TOLD = "told"
"""The name of a count in the reports: of all rows that came out."""

Pipeline = Callable[[DataFrame], DataFrame]


def session() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.appName("sojourn benchmarks")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def run(spark: SparkSession, events: Path, checkpoint: Path, pipeline: Pipeline) -> list[dict[str, Any]]:
    """The reports of all micro-batches of a folder of events, into a sink that takes no time."""
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES).parquet(str(events))
    rows = pipeline(stream).observe(TOLD, F.count("*").alias(TOLD))
    writer = rows.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return [json.loads(report.json) for report in query.recentProgress]


def batch_ms(report: dict[str, Any]) -> float:
    return float(report["durationMs"]["triggerExecution"])


PHASES = {
    "finding what is new": ("latestOffset", "getBatch"),
    "planning": ("queryPlanning",),
    "logs of offsets and commits": ("walCommit", "commitOffsets"),
}


def phases_ms(report: dict[str, Any]) -> dict[str, float]:
    """Of one micro-batch. What the stateful step takes is a mean of its partitions, which run side by side."""
    spent = report["durationMs"]
    found = {name: float(sum(spent.get(part, 0) for part in parts)) for name, parts in PHASES.items()}
    state = [operator for operator in report["stateOperators"] if operator["numShufflePartitions"]]
    updates, commits = (
        sum(operator[name] / operator["numShufflePartitions"] for operator in state)
        for name in ("allUpdatesTimeMs", "commitTimeMs")
    )
    rest = max(0.0, spent["addBatch"] - updates - commits)
    return {**found, "reading, packing, shuffling, starting tasks": rest, "steps": updates, "writing state": commits}


def state_bytes(report: dict[str, Any]) -> int:
    """What RocksDB had on disk by then."""
    return sum(int(operator["customMetrics"]["rocksdbSstFileSize"]) for operator in report["stateOperators"])


def told(reports: list[dict[str, Any]]) -> int:
    return sum(int(report["observedMetrics"][TOLD][TOLD]) for report in reports)
