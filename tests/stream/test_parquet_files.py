"""Parquet files as a stream, whoever wrote them: the outcomes of a replay, and microseconds where ours are written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sojourn import SourceError
from sojourn.pipeline import stream
from sojourn.pipeline.files.source import Source
from sojourn.pipeline.local_replay import LocalReplay
from sojourn.pipeline.replay import Job
from sojourn.rules import Rule, column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NANOS = "spark.sql.legacy.parquet.nanosAsLong"
RULE = Rule("paid", "sent", "payment", column("allowed"))
HOUR = pd.Timedelta("1h")
NOON = pd.Timestamp("2024-02-29T12:00:00")


@pytest.fixture
def spark(spark: SparkSession) -> Iterator[SparkSession]:
    yield spark
    spark.conf.unset(NANOS)


def write_log(folder: Path) -> None:
    """With times in nanoseconds and durations, as pandas writes them."""
    folder.mkdir()
    pandas = pd.DataFrame(
        {
            "key": ["a", "a", "b", "b", None],
            "kind": ["sent", "payment", "sent", "payment", "sent"],
            "at": [NOON, NOON + HOUR, NOON, NOON + HOUR + pd.Timedelta("1ms"), NOON + 30 * HOUR],
            "allowed": [HOUR] * 5,
        }
    )
    pandas.astype({"at": "datetime64[ns]", "allowed": "timedelta64[ns]"}).to_parquet(folder / "0.parquet")


@pytest.mark.parametrize(
    "schema", [None, "key string, kind string, at timestamp, allowed interval day to second"], ids=["found", "named"]
)
def test_a_stream_of_what_pandas_writes(spark: SparkSession, tmp_path: Path, schema: str | None) -> None:
    from sojourn.pipeline.stream.doors.sources import From  # noqa: PLC0415  (an extra)

    write_log(tmp_path / "log")
    events = From(f"file:{tmp_path / 'log'}", schema).read(spark, RULE, {})
    outcomes = stream.outcomes(events, RULE, shards=2, late="1 s")
    query = stream.write(outcomes, str(tmp_path / "out"), checkpoint=str(tmp_path / "state"), available_now=True)
    query.awaitTermination()
    found = ds.dataset(tmp_path / "out" / "outcomes", partitioning="hive").to_table()
    assert found.schema.field("opened_at").type == pa.timestamp("us", "UTC")
    by_local = LocalReplay(Job(Source.of(tmp_path / "log"), (RULE,)))
    names = ["key", "outcome", "opened_at", "at", "waited_ms"]
    there = by_local.outcomes.select(names).to_pylist()
    assert sorted(found.select(names).to_pylist(), key=str) == sorted(there, key=str)
    assert len(there) == 2
    aside = ds.dataset(tmp_path / "out" / "quarantine", partitioning="hive").to_table().select(["reason", "row"])
    assert aside.to_pylist() == by_local.quarantine.select(["reason", "row"]).to_pylist()


def test_files_that_differ_in_what_they_mean_are_refused_as_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    from sojourn.pipeline.stream.doors.sources import From  # noqa: PLC0415  (an extra)

    write_log(tmp_path / "log")
    whole = pq.read_table(tmp_path / "log" / "0.parquet")
    place = whole.schema.get_field_index("at")
    pq.write_table(whole.set_column(place, "at", whole["at"].cast(pa.timestamp("us"))), tmp_path / "log" / "1.parquet")
    with pytest.raises(SourceError, match=r"differ in their times or durations: at timestamp\[ns\].*one kind of files"):
        From(f"file:{tmp_path / 'log'}").read(spark, RULE, {})


def test_a_file_that_is_no_parquet_is_refused_in_a_line_as_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    from sojourn.pipeline.stream.doors.sources import From  # noqa: PLC0415  (an extra)

    (tmp_path / "0.parquet").write_bytes(b"PAR1 this is no Parquet file")
    with pytest.raises(SourceError, match=r"cannot be read as parquet: .*"):
        From(f"file:{tmp_path}").read(spark, RULE, {})
