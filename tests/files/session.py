"""A Spark session for tests: small, silent, far from UTC, with scratch space of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def small_session(scratch: Path) -> SparkSession:
    from pyspark.sql import SparkSession  # noqa: PLC0415  (an extra)

    from sojourn.pipeline.spark.schema import SOCKETS  # noqa: PLC0415  (needs Spark)

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "America/New_York")
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.local.dir", str(scratch / "local"))
        .config("spark.log.level", "ERROR")
        .config("spark.ui.showConsoleProgress", "false")
        .config(map=SOCKETS)
        .getOrCreate()
    )
