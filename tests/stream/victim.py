"""A stream in a process of its own, to be killed: `python -m stream.victim PATH [POINT BATCH]`, or by spark-submit.

With a point, a method of the folder, it kills itself after that, and the JVM with it, in
the micro-batch of that number.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sojourn.pipeline.stream.doors.sink import Folder
from sojourn.rules import Rule, seen
from stream.scene import Scene

RULE = Rule("r", "open", seen("a", times=2), within=3, per="each", cancels="stop")
LATE = 3


def main(path: str, point: str | None = None, batch: str = "0") -> None:
    from pyspark.sql import SparkSession  # noqa: PLC0415  (an extra)

    if point is not None:
        method: Callable[..., None] = getattr(Folder, point)

        def killed(folder: Folder, *arguments: Any) -> None:
            method(folder, *arguments)
            if arguments[-1].number == int(batch):
                os.killpg(0, signal.SIGKILL)

        setattr(Folder, point, killed)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
    spark = (builder if "SPARK_ENV_LOADED" in os.environ else builder.master("local[2]")).getOrCreate()
    Scene(spark, Path(path), late=f"{LATE} ms").run(RULE)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
