"""A stream in a process of its own, to be killed: `python -m stream.victim PATH [WHICH [POINT BATCH]]`, or by Spark.

WHICH is one of STREAMS. With a point, a method of the folder, it kills itself after that, and the JVM with it, in
the micro-batch of that number.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.pipeline.stream.doors.sink import Folder
from sojourn.rules import Rule, all_of, reached, seen, total
from stream.given_scene import GivenScene
from stream.scene import Scene

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULE = Rule("r", "open", seen("a", times=2), within=3, per="each", cancels="stop")
RULES = [
    RULE,
    Rule("first", "open", all_of("a", total("b", at_least=1)), within=4),
    Rule("levels", "a", reached("b", at_least=0.6, by=2), within=5, per="each"),
    Rule("alive", "open", keeps_alive="a", within=2, per="each", cancels="stop"),
]
GIVEN_RULE = Rule("r", "open", all_of(seen("a", 2, "source"), total("b", at_least=1)), within=3, cancels="stop")
LATE = 3

ONE_RULE, SEVERAL_RULES, OPERATIONS = "one-rule", "several-rules", "operations"
STREAMS: dict[str, Callable[[SparkSession, Path], None]] = {
    ONE_RULE: lambda spark, path: Scene(spark, path, late=f"{LATE} ms").run(RULE),
    SEVERAL_RULES: lambda spark, path: Scene(spark, path, late=f"{LATE} ms").run(RULES),
    OPERATIONS: lambda spark, path: GivenScene(spark, path, late=f"{LATE} ms").run(GIVEN_RULE),
}


def main(path: str, which: str = ONE_RULE, point: str | None = None, batch: str = "0") -> None:
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
    STREAMS[which](spark, Path(path))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
