"""A stream into a database of one's own, to be killed: `python -m stream.own_sink_victim PATH [BATCH]`.

With the number of a micro-batch it kills itself, and the JVM with it, once the database has that one.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.pipeline import stream
from stream.scene import Scene
from stream.victim import LATE, RULE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = ("operation_id", "outcome", "waited_ms")


class Database:
    """SQLite, as one would write it: the rows and the key of their micro-batch in one transaction."""

    def __init__(self, path: Path) -> None:
        self._file = path / "outcomes.db"
        with self.opened() as database:
            database.execute("CREATE TABLE IF NOT EXISTS batches (key TEXT PRIMARY KEY)")
            database.execute(f"CREATE TABLE IF NOT EXISTS outcomes ({', '.join(COLUMNS)})")
        database.close()

    def opened(self) -> sqlite3.Connection:
        return sqlite3.connect(self._file)

    def take(self, rows: DataFrame, batch: stream.MicroBatch) -> None:
        with self.opened() as database:
            if database.execute("INSERT OR IGNORE INTO batches VALUES (?)", [batch.key]).rowcount:
                told = [tuple(row) for row in rows.select(*COLUMNS).collect()]
                database.executemany("INSERT INTO outcomes VALUES (?, ?, ?)", told)
        database.close()

    def rows(self) -> list[tuple[str, str, int]]:
        database = self.opened()
        found = database.execute("SELECT * FROM outcomes ORDER BY 1").fetchall()
        database.close()
        return found


def run(spark: SparkSession, path: Path, kill_in: int | None = None) -> Database:
    scene, database = Scene(spark, path, late=f"{LATE} ms"), Database(path)

    def take(rows: DataFrame, batch: stream.MicroBatch) -> None:
        database.take(rows, batch)
        if batch.number == kill_in:
            os.killpg(0, signal.SIGKILL)

    outcomes = stream.outcomes(scene.frame(), RULE, **scene.options)
    query = stream.deliver(outcomes, take, checkpoint=str(scene.checkpoint), available_now=True)
    query.awaitTermination()
    return database


def main(path: str, batch: str) -> None:
    from pyspark.sql import SparkSession  # noqa: PLC0415  (an extra)

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    run(builder.config("spark.sql.shuffle.partitions", "2").getOrCreate(), Path(path), int(batch))


if __name__ == "__main__":
    main(*sys.argv[1:])
