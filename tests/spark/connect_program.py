"""A client of Spark Connect, for the tests: `python connect_program.py batch|stream PATH`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from sojourn import ConfigError
from sojourn.pipeline import batch, ship, stream
from sojourn.rules import Rule

LOG = "key string, kind string, at long, source string, value double, allowed long, due long, amount double"
GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "connect-a-stream.md"


def session() -> SparkSession:
    """Starts a server on loopback."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    print("a session of", type(spark).__module__)
    ship(spark)
    return spark


def decide(spark: SparkSession, path: Path, rules: list[Rule]) -> None:
    table = pq.read_table(path / "log.parquet")
    events = spark.createDataFrame(table)
    keep(batch.outcomes(events, rules, unit="ms"), path / "outcomes.parquet")
    files = spark.read.parquet(str(path / "log.parquet"))
    keep(batch.outcomes(files, rules, unit="ms"), path / "of-files.parquet")
    keep(batch.quarantined(events, rules, unit="ms"), path / "aside.parquet")
    both = spark.createDataFrame([("a", "paid", 5), ("b", "paid", 7)], "key string, kind string, at long")
    given = spark.createDataFrame([("o", ["a", "b"], 0)], "operation_id string, keys array<string>, opened_at long")
    rule = Rule("r", "open", "paid", within=10)
    keep(batch.outcomes(both, rule, unit="ms", operations=given), path / "given.parquet")


def keep(rows: DataFrame, file: Path) -> None:
    table: pa.Table = rows.toArrow()
    pq.write_table(table, file)


def follow(spark: SparkSession, path: Path, rules: list[Rule]) -> None:
    events = spark.readStream.schema(LOG).option("maxFilesPerTrigger", 1).parquet(str(path / "events"))
    given: dict[str, Any] = {"spark": spark, "stream": stream, "events": events, "rule": rules[0]}
    exec(recipe().replace('"outcomes/"', f'"{path}/told"').replace('"state/"', f'"{path}/state"'), given)
    given["query"].awaitTermination()
    told = stream.outcomes(events, rules[0], late="1 hour", shards=3)
    out = str(path / "by-function")

    def take(rows: DataFrame, number: int) -> None:
        rows.where("aside IS NULL").drop("aside").write.mode("overwrite").parquet(f"{out}/batch={number}")

    each = told.writeStream.foreachBatch(take).option("checkpointLocation", str(path / "state-2"))
    each.trigger(availableNow=True).start().awaitTermination()
    refused("write", lambda: stream.write(told, str(path / "out"), checkpoint=str(path / "state-3")))
    refused("deliver", lambda: stream.deliver(told, lambda rows, batch: None, checkpoint=str(path / "state-3")))
    refused("pending", lambda: stream.pending(str(path / "state"), spark))


def recipe() -> str:
    """The snippet of the guide."""
    section = GUIDE.read_text().partition("## Spark Connect\n")[2]
    return re.findall(r"```python3\n(.*?)```", section, re.DOTALL)[0]


def refused(what: str, call: Callable[[], object]) -> None:
    try:
        call()
    except ConfigError as error:
        print(f"{what}: ConfigError: {error}")


def main(what: str, folder: str) -> None:
    path = Path(folder)
    rules = [Rule.from_toml(text) for text in (path / "rules").read_text().split("\f")]
    spark = session()
    {"batch": decide, "stream": follow}[what](spark, path, rules)
    spark.stop()


main(*sys.argv[1:])
