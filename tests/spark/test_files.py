"""Parquet files that Arrow reads on the executors, and those that are left to Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn import ConfigError
from sojourn.pipeline import batch, local
from sojourn.pipeline.files.parquet import ParquetFiles, RowGroup, shares
from sojourn.pipeline.spark.files import READ, parquet_files
from sojourn.rules import Rule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PAID = Rule("paid", "sent", "payment", "1 h")
NOON = datetime(2007, 1, 5, 12, tzinfo=UTC)


def log(**columns: pa.Array) -> pa.Table:
    plain = {
        "key": pa.array(["a", "a", "b", None]),
        "kind": pa.array(["sent", "payment", "sent", "sent"]),
        "at": pa.array([NOON, NOON.replace(minute=30), NOON, NOON], pa.timestamp("us", "UTC")),
    }
    return pa.table({**plain, **columns})


@pytest.fixture
def written(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[..., DataFrame]]:
    def write(*tables: pa.Table, **settings: Any) -> DataFrame:
        spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")  # or Spark would not even open some of them
        for i, table in enumerate(tables):
            pq.write_table(table, tmp_path / f"{i}.parquet", **settings)
        return spark.read.parquet(str(tmp_path))

    yield write
    spark.conf.unset("spark.sql.legacy.parquet.nanosAsLong")


def rows(outcomes: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*(outcomes[name].to_pylist() for name in ("key", "outcome", "waited_ms")), strict=True))


ENDS = [("a", "completed", 30 * 60_000), ("b", "expired", 60 * 60_000)]


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"at": pa.array(["2007-01-05T12:00:00Z", "2007-01-05T12:30:00Z", "2007-01-05 12:00:00", "2007-01-05"])},
        {"at": pa.array([0, 1_800, 0, 0], pa.int64())},
        {"at": pa.array([0.0, 1_800.0, 0.0, 0.0])},
        {"at": pa.array([NOON.replace(tzinfo=None), NOON.replace(minute=30, tzinfo=None)] * 2, pa.timestamp("ms"))},
        {"key": pa.array(["a", "a", "b", None], pa.large_string())},
    ],
    ids=["as it is", "text", "whole", "float", "no zone", "large"],
)
def test_what_both_read_alike_is_read_by_arrow(
    written: Callable[..., DataFrame], spark: SparkSession, columns: dict[str, pa.Array]
) -> None:
    events = written(log(**columns))
    assert parquet_files(events, ["key", "kind", "at"]) is not None
    found = batch.outcomes(events, PAID, as_of="complete").toArrow()
    spark.conf.set(READ, "spark")
    assert parquet_files(events, ["key", "kind", "at"]) is None
    by_spark = batch.outcomes(events, PAID, as_of="complete").toArrow()
    spark.conf.unset(READ)
    assert rows(found) == rows(by_spark) == rows(local.outcomes(log(**columns), PAID, as_of="complete").outcomes)
    assert len(rows(found)) == 2


def test_whole_numbers_as_keys_are_texts(written: Callable[..., DataFrame]) -> None:
    events = written(log(key=pa.array([1, 1, 2, None], pa.int32())))
    assert parquet_files(events, ["key", "kind", "at"]) is not None
    assert rows(batch.outcomes(events, PAID, as_of="complete").toArrow()) == [("1", *ENDS[0][1:]), ("2", *ENDS[1][1:])]


@pytest.mark.parametrize(
    ("tables", "settings"),
    [
        ([log(key=pa.array([Decimal(1), Decimal(1), Decimal(2), None]))], {}),
        ([log(), log().drop_columns("at")], {}),
        ([log(), log(at=pa.array([1, 2, 3, 4]))], {}),
        ([log().replace_schema_metadata({"org.apache.spark.legacyDateTime": ""})], {}),
        ([log().replace_schema_metadata({"org.apache.spark.version": "2.4.5"})], {}),
        ([log().replace_schema_metadata({"org.apache.spark.legacyINT96": ""})], {}),
        ([log(at=log()["at"].cast(pa.timestamp("ns")))], {}),
    ],
    ids=["type", "column", "other type", "old calendar", "old writer", "old calendar of int96", "nanoseconds"],
)
def test_what_they_might_read_differently_is_left_to_spark(
    written: Callable[..., DataFrame], tables: list[pa.Table], settings: dict[str, Any]
) -> None:
    assert parquet_files(written(*tables, **settings), ["key", "kind", "at"]) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda events: events.where("key = 'a'"),
        lambda events: events.select("kind", "key", "at"),
        lambda events: events.withColumnRenamed("kind", "type").withColumnRenamed("type", "kind"),
        lambda events: events.union(events),
        lambda events: events.limit(1),
    ],
    ids=["filter", "project", "rename", "union", "limit"],
)
def test_a_frame_that_does_more_than_read_is_left_to_spark(
    written: Callable[..., DataFrame], change: Callable[[DataFrame], DataFrame]
) -> None:
    assert parquet_files(change(written(log())), ["key", "kind", "at"]) is None


def test_options_of_the_reader_are_left_to_spark(written: Callable[..., DataFrame], spark: SparkSession) -> None:
    path = written(log()).inputFiles()[0]
    assert parquet_files(spark.read.option("mergeSchema", "true").parquet(path), ["key"]) is None
    assert parquet_files(spark.read.schema("key string, kind string, at string").parquet(path), ["at"]) is None
    assert parquet_files(spark.read.format("json").load(path), []) is None


def test_a_name_with_odd_letters_is_a_path_all_the_same(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "a b%20ü#1"
    folder.mkdir()
    pq.write_table(log(), folder / "x y.parquet")
    events = spark.read.parquet(str(folder))
    assert parquet_files(events, ["key"]) is not None
    assert rows(batch.outcomes(events, PAID, as_of="complete").toArrow()) == ENDS


def test_folders_that_are_columns_do_not_stop_arrow_unless_they_are_asked_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "year=2007").mkdir()
    pq.write_table(log(), tmp_path / "year=2007" / "a.parquet")
    events = spark.read.parquet(str(tmp_path))
    assert parquet_files(events, ["key", "kind", "at"]) is not None
    assert parquet_files(events, ["key", "kind", "year"]) is None
    assert rows(batch.outcomes(events, PAID, as_of="complete").toArrow()) == ENDS


def test_a_log_without_rows_has_no_outcomes(written: Callable[..., DataFrame]) -> None:
    events = written(log().slice(0, 0))
    assert parquet_files(events, ["key", "kind", "at"]) is not None
    assert batch.outcomes(events, PAID, as_of="complete").toArrow().num_rows == 0


def test_deadlines_that_are_dates_are_read_alike(written: Callable[..., DataFrame], spark: SparkSession) -> None:
    from sojourn.rules import until_column  # noqa: PLC0415

    rule = Rule("due", "sent", "payment", until_column("due"))
    events = written(log(due=pa.array([date(2007, 1, 6), None, date(2007, 1, 5), None])))
    assert parquet_files(events, ["due"]) is not None
    found = batch.outcomes(events, rule, as_of="complete").toArrow()
    spark.conf.set(READ, "spark")
    by_spark = batch.outcomes(events, rule, as_of="complete").toArrow()
    spark.conf.unset(READ)
    assert rows(found) == rows(by_spark)
    assert len(rows(found)) == 2


def test_a_column_that_cannot_be_read_is_refused_at_once_and_named(written: Callable[..., DataFrame]) -> None:
    events = written(log(key=log()["at"]))
    with pytest.raises(ConfigError, match=r"column 'key' is timestamp.*texts or whole numbers"):
        batch.outcomes(events, PAID, as_of="complete")


def test_row_groups_are_shared_out_evenly_and_each_is_read_once(tmp_path: Path) -> None:
    table = pa.table({"place": range(1_000)})
    groups: list[RowGroup] = []
    for name, size in (("a", 10), ("b", 300)):
        pq.write_table(table, tmp_path / name, row_group_size=size)
        found = pq.read_metadata(tmp_path / name)
        groups += [
            RowGroup(str(tmp_path / name), i, found.row_group(i).num_rows, 1) for i in range(found.num_row_groups)
        ]
    shared = shares(groups, 4)
    assert [sum(group.rows for group in share) for share in shared] == [500, 500, 600, 400]
    assert sorted((g.path, g.place) for share in shared for g in share) == [(g.path, g.place) for g in groups]
    files = ParquetFiles(shared, table.schema)

    def read() -> Iterator[int]:
        for task in range(4):
            for part in files.tables([pa.record_batch({"id": [task]})]):
                yield from part["place"].to_pylist()

    assert sorted(read()) == sorted([*range(1_000)] * 2)


def test_rows_that_are_large_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["x" * 1_000] * 500}), tmp_path / "a")
    files = ParquetFiles(((RowGroup(str(tmp_path / "a"), 0, 500, 500 << 24),),), pa.schema([("text", pa.string())]))
    sizes = [part.num_rows for part in files.tables([pa.record_batch({"id": [0]})])]
    assert sum(sizes) == 500
    assert max(sizes) == 8
