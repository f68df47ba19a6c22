"""What generated files have brought to light, each by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from files.compare import rows_of, written
from sojourn import SourceError
from sojourn.pipeline import local
from sojourn.pipeline.columns.quarantine import as_json
from sojourn.pipeline.files.source import Source
from sojourn.pipeline.local_replay import LocalReplay
from sojourn.pipeline.replay import Job
from sojourn.pipeline.schema import OUTCOMES, QUARANTINE
from sojourn.rules import Rule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULE = Rule("paid", "sent", "payment", "1 h")
TIMES = pa.timestamp("us", "UTC")


@pytest.fixture
def spark(spark: SparkSession) -> Iterator[SparkSession]:
    yield spark
    for name in ("spark.sql.legacy.parquet.nanosAsLong", "spark.sql.caseSensitive"):
        spark.conf.unset(name)


def log(keys: list[str | None], at: pa.Array | None = None, **others: pa.Array) -> pa.Table:
    at = pa.array([0] * len(keys), TIMES) if at is None else at
    return pa.table({"key": pa.array(keys, pa.string()), "kind": ["sent"] * len(keys), "at": at, **others})


def both(spark: SparkSession, source: Source, scratch: Path) -> tuple[list[str], list[str]]:
    """The keys of the outcomes and the rows set aside, once both engines agree on them."""
    from sojourn.pipeline.spark.replay import SparkReplay  # noqa: PLC0415  (an extra)

    job = Job(source, (RULE,))
    by_local = LocalReplay(job)
    SparkReplay(job, spark).write(str(scratch / "outcomes"), str(scratch / "quarantine"))
    keys = sorted(by_local.outcomes["key"].to_pylist())
    assert sorted(written(scratch / "outcomes", OUTCOMES)["key"].to_pylist()) == keys
    assert rows_of(written(scratch / "quarantine", QUARANTINE)) == rows_of(by_local.quarantine)
    return keys, by_local.quarantine["row"].to_pylist()


def test_an_empty_file_of_xes_does_not_hide_those_that_follow(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    for name, key in (("0", "a"), ("1", None), ("2", "b")):
        event = (
            '<event><string key="concept:name" value="sent"/><date key="time:timestamp" value="2024-01-01"/></event>'
        )
        trace = f'<trace><string key="concept:name" value="{key}"/>{event}</trace>' if key else ""
        (tmp_path / "log" / f"{name}.xes").write_text(f"<log>{trace}</log>")
    assert both(spark, Source.of(tmp_path / "log"), tmp_path)[0] == ["a", "b"]


def test_parquet_in_folders_of_folders_is_read(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "log" / "monday" / "morning").mkdir(parents=True)
    pq.write_table(log(["a"]), tmp_path / "log" / "0.parquet")
    pq.write_table(log(["b"]), tmp_path / "log" / "monday" / "morning" / "0.parquet")
    assert both(spark, Source.of(tmp_path / "log"), tmp_path)[0] == ["a", "b"]


def test_folders_of_which_only_some_are_columns_are_refused_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    from sojourn.pipeline.spark import source as spark_source  # noqa: PLC0415  (an extra)

    for folder in ("monday", "day=2"):
        (tmp_path / folder).mkdir()
        pq.write_table(log(["a"]), tmp_path / folder / "0.parquet")
    with pytest.raises(SourceError, match="'day=2', and in others, such as 'monday'; Spark reads one kind of folders"):
        spark_source.read(spark, Source.of(tmp_path))


def test_columns_that_only_some_files_have_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    pq.write_table(log(["a"]).drop_columns("at"), tmp_path / "log" / "0.parquet")
    pq.write_table(log(["b", None], note=pa.array(["x", "y"])), tmp_path / "log" / "1.parquet")
    keys, aside = both(spark, Source.of(tmp_path / "log"), tmp_path)
    assert keys == ["b"]
    assert [json.loads(row).get("note") for row in aside] == [None, "y"]


def test_a_time_that_spark_cannot_hold_costs_its_row_alone(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    at = pa.array([0, 2**62, -(2**62)], pa.int64()).view(pa.timestamp("ms"))
    pq.write_table(log(["a", "b", "c"], at), tmp_path / "log" / "0.parquet")
    pq.write_table(log(["d"], pa.array([0], pa.timestamp("ms"))), tmp_path / "log" / "1.parquet")
    keys, aside = both(spark, Source.of(tmp_path / "log"), tmp_path)
    assert keys == ["a", "d"]
    assert [json.loads(row)["at"][:7] for row in aside] == ["294247-", "-290308"]


def test_names_of_columns_may_have_dots_backticks_and_other_case(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    odd = {"a.b": pa.array(["x", "y"]), "`": pa.array([1, 2]), "Key": pa.array(["K", None])}
    pq.write_table(log(["a", None], **odd), tmp_path / "log" / "0.parquet")
    keys, (row,) = both(spark, Source.of(tmp_path / "log"), tmp_path)
    assert keys == ["a"]
    assert json.loads(row) | {"a.b": "y", "`": 2, "Key": None} == json.loads(row)


def test_a_folder_of_tsv_files_has_tabs(tmp_path: Path) -> None:
    (tmp_path / "0.tsv").write_text("key\tkind\tat\na,b\tsent\t2024-01-01\n")
    assert Source.of(tmp_path).read().events["key"].to_pylist() == ["a,b"]
    assert Source.of(tmp_path, options={"delimiter": ","}).options == {"delimiter": ","}


def test_a_log_may_have_columns_that_are_called_as_lines_that_cannot_be_read() -> None:
    odd = {name: pa.array(["x", "y"]) for name in ("_corrupt_record", "_corrupt_reason")}
    (row,) = local.outcomes(log(["a", None], **odd), RULE).quarantine["row"].to_pylist()
    assert json.loads(row) | {"_corrupt_record": "y", "_corrupt_reason": "y"} == json.loads(row)


def test_times_of_far_years_are_written_as_they_are() -> None:
    times = pa.array([2**43, None, 0], pa.int64()).view(pa.timestamp("s", "Europe/Berlin"))
    texts = [json.loads(row)["at"] for row in as_json(pa.table({"at": times})).to_pylist()]
    assert texts == ["280707-02-04 04:50:08Z", None, "1970-01-01 00:00:00Z"]
