"""Every snippet for Spark in the documentation runs: those of a page one after the other, in one session."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sojourn as sj

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

ROOT = Path(__file__).parents[2]
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if "```py\n" in page.read_text()]
RULE = sj.Rule("fine-paid", opens="Insert Fine Notification", until="Payment", within="60 days")
SCHEMA = "case_id string, activity string, timestamp timestamp"
ROWS = [
    ("A2", "Insert Fine Notification", datetime(2007, 1, 20)),
    ("A2", "Payment", datetime(2007, 3, 21)),
    ("A2", "Other", datetime(2008, 1, 1)),
]
WRITTEN = {"README.md": "outcomes/outcomes", "run-on-a-stream.md": "fines-out/outcomes"}
"""Where the stream of a page writes."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_page_runs(page: Path, spark: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path / "fines")
    spark.createDataFrame(ROWS, SCHEMA).write.parquet(folder)
    given: dict[str, Any] = {
        "spark": spark,
        "rule": RULE,
        "folder": folder,
        "events": spark.read.parquet(folder),
        "arriving": spark.readStream.schema(SCHEMA).parquet(folder),
    }
    for snippet in re.findall(r"```py\n(.*?)```", page.read_text(), re.DOTALL):
        exec(re.sub(r'"(\w+/)"', rf'"{tmp_path}/\1"', snippet), given)  # a folder is one in the JVM's working directory
    if "query" in given:
        told = first_rows(given["query"], spark, str(tmp_path / WRITTEN[page.name]))
        assert [(row.key, row.outcome) for row in told] == [("A2", "completed")]  # on the sixtieth day


def first_rows(query: StreamingQuery, spark: SparkSession, path: str) -> list[Row]:
    """What a query has written once there is something, or once it has ended: a minute is plenty."""
    try:
        query.processAllAvailable()
        for _ in range(60):
            rows = spark.read.parquet(path).collect()
            if rows or query.awaitTermination(1):
                break
        return spark.read.parquet(path).collect()
    finally:
        query.stop()
