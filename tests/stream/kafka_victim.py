"""A stream to Kafka, to be killed: `python -m stream.kafka_victim PATH ADDRESS BATCH`.

It kills itself, and the JVM with it, once the outcomes of that micro-batch have arrived at the broker.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.pipeline import stream
from sojourn.pipeline.stream.doors import kafka
from sojourn.pipeline.stream.doors.sinks import sink_of
from stream.scene import Scene
from stream.victim import LATE, RULE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOLD = "told"


def run(spark: SparkSession, path: Path, address: str) -> None:
    scene = Scene(spark, path, late=f"{LATE} ms")
    checkpoint = str(scene.checkpoint)
    sink = sink_of(spark, f"kafka:{address}/{TOLD}", checkpoint)
    outcomes = stream.outcomes(scene.frame(), RULE, **scene.options)
    stream.start(outcomes, sink, checkpoint=checkpoint, available_now=True).awaitTermination()


def main(path: str, address: str, batch: str) -> None:
    from pyspark.sql import SparkSession  # noqa: PLC0415  (an extra)

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    send = kafka.send

    def killed(rows: DataFrame, where: str) -> None:
        send(rows, where)
        if (Path(path) / "checkpoint" / "offsets" / batch).exists():
            os.killpg(0, signal.SIGKILL)

    kafka.send = killed
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    run(builder.config("spark.sql.shuffle.partitions", "2").getOrCreate(), Path(path), address)


if __name__ == "__main__":
    main(*sys.argv[1:])
