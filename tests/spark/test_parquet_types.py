"""Times and durations in Parquet, whoever wrote it: the same outcomes and the same quarantine from every engine."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn import ConfigError
from sojourn.pipeline.files.source import Source
from sojourn.pipeline.local_replay import LocalReplay
from sojourn.pipeline.replay import Job
from sojourn.pipeline.results.explain import explain_outcomes
from sojourn.pipeline.schema import OUTCOMES
from sojourn.pipeline.spark.files import READ, parquet_files
from sojourn.rules import Rule, column, until_column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = dt.datetime(2024, 2, 29, 12)
FAR = dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)
HOUR = dt.timedelta(hours=1)
ALLOWED = Rule("allowed", "sent", "payment", column("allowed"))
DUE = Rule("due", "sent", "payment", until_column("due"))
PLAIN = Rule("plain", "sent", "payment", "1 h")

KEYS = ["a", "a", "b", "b", "c", "d"]
KINDS = ["sent", "payment", "sent", "payment", "sent", "sent"]
TIMES = [NOON, NOON + HOUR, NOON, NOON + dt.timedelta(hours=1, microseconds=1_000), FAR - HOUR, None]
"""Paid at the last moment, a millisecond late, never and far away, and without a time."""

ENDS = {("a", "completed", 3_600_000), ("b", "expired", 3_600_000), ("c", "expired", 3_600_000)}


@pytest.fixture
def spark(spark: SparkSession) -> Iterator[SparkSession]:
    """Without what one of these tests may have set."""
    yield spark
    spark.conf.unset(READ)
    spark.conf.unset("spark.sql.legacy.parquet.nanosAsLong")


def log(at: pa.Array | None = None, **others: pa.Array) -> pa.Table:
    at = pa.array(TIMES, pa.timestamp("us")) if at is None else at
    return pa.table({"key": KEYS[: len(at)], "kind": KINDS[: len(at)], "at": at, **others})


def ends(outcomes: pa.Table) -> set[tuple[str, str, int]]:
    return set(zip(*(outcomes[name].to_pylist() for name in ("key", "outcome", "waited_ms")), strict=True))


def replayed(
    spark: SparkSession, path: Path, rule: Rule, *, compare_rows: bool = True
) -> tuple[pa.Table, Counter[str]]:
    """What every engine makes of the files, once they have been found to agree."""
    from sojourn.pipeline import batch  # noqa: PLC0415  (an extra)
    from sojourn.pipeline.spark import source as spark_source  # noqa: PLC0415
    from sojourn.pipeline.spark.replay import SparkReplay  # noqa: PLC0415

    job = Job(Source.of(path, "parquet"), (rule,), as_of="complete")
    by_local = LocalReplay(job)
    rows = sorted(by_local.outcomes.cast(OUTCOMES).to_pylist(), key=lambda row: row["operation_id"])
    for reader in ("arrow", "spark"):
        spark.conf.set(READ, reader)
        by_spark = SparkReplay(job, spark)
        there = by_spark.outcomes.cast(OUTCOMES).to_pylist()
        assert sorted(there, key=lambda row: row["operation_id"]) == rows
        assert by_spark.quarantined == by_local.quarantined
        if compare_rows:
            aside = batch.quarantined(spark_source.read(spark, job.source).events, rule).toArrow()
            assert sorted(aside.to_pylist(), key=str) == sorted(by_local.quarantine.to_pylist(), key=str)
    return by_local.outcomes, by_local.quarantined


@pytest.mark.parametrize(
    ("unit", "zone"),
    [("s", None), ("ms", "UTC"), ("us", "Europe/Berlin"), ("us", None), ("ns", "Europe/Berlin"), ("ns", None)],
)
def test_timestamps_of_every_unit_and_zone(spark: SparkSession, tmp_path: Path, unit: str, zone: str | None) -> None:
    times = TIMES if unit != "ns" else [*TIMES[:4], dt.datetime(2262, 1, 1), None]
    at = pa.array(times, pa.timestamp("us")).cast(pa.timestamp(unit), safe=False)
    if zone:  # instants are the same wherever they are shown
        at = at.cast(pa.timestamp(unit, zone))
    pq.write_table(log(at), tmp_path / "log.parquet")
    outcomes, aside = replayed(spark, tmp_path, PLAIN)
    late = ("b", "completed", 3_600_000) if unit == "s" else ("b", "expired", 3_600_000)
    assert ends(outcomes) == (ENDS - {("b", "expired", 3_600_000)}) | {late}
    assert aside == {"no time": 1}


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()], ids=str)
def test_dates(spark: SparkSession, tmp_path: Path, kind: pa.DataType) -> None:
    days = [NOON.date(), NOON.date(), NOON.date(), NOON.date() + dt.timedelta(days=1), FAR.date(), None]
    pq.write_table(log(pa.array(days, kind)), tmp_path / "log.parquet")
    outcomes, aside = replayed(spark, tmp_path, PLAIN)
    assert ends(outcomes) == {("a", "completed", 0), *ENDS - {("a", "completed", 3_600_000)}}
    assert aside == {"no time": 1}


def test_what_spark_writes_by_itself(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame(log(pa.array(TIMES, pa.timestamp("us", "UTC"))))
    frame.write.parquet(str(tmp_path / "log"))
    file = next((tmp_path / "log").glob("*.parquet"))
    assert pq.read_metadata(file).schema.column(2).physical_type == "INT96"
    assert parquet_files(spark.read.parquet(str(tmp_path / "log")), ["key", "kind", "at"]) is not None
    outcomes, aside = replayed(spark, tmp_path / "log", PLAIN)
    assert ends(outcomes) == ENDS
    assert aside == {"no time": 1}


def test_the_old_timestamps_of_arrow(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(log(), tmp_path / "log.parquet", use_deprecated_int96_timestamps=True)
    outcomes, _ = replayed(spark, tmp_path, PLAIN)
    assert ends(outcomes) == ENDS


def test_what_pandas_writes(spark: SparkSession, tmp_path: Path) -> None:
    hour = pd.Timedelta(HOUR)
    pandas = pd.DataFrame(
        {
            "key": KEYS[:4],
            "kind": KINDS[:4],
            "at": pd.to_datetime([1, 1 + 3_600 * 10**9, 1, 1 + 3_600 * 10**9 + 10**6]),
            "allowed": [hour, None, hour - pd.Timedelta(1), None],  # a nanosecond less is rounded up
            "due": pd.to_datetime([10**9 * 3_600 + 999, None, 0, None]),
        }
    )
    pandas.to_parquet(tmp_path / "log.parquet")
    assert pq.read_schema(tmp_path / "log.parquet").field("allowed").type == pa.duration("ns")
    outcomes, _ = replayed(spark, tmp_path, ALLOWED)
    assert ends(outcomes) == {("a", "completed", 3_600_000), ("b", "expired", 3_600_000)}
    outcomes, _ = replayed(spark, tmp_path, DUE)
    assert ends(outcomes) == {("a", "completed", 3_600_000), ("b", "expired", 0)}


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_of_every_unit(spark: SparkSession, tmp_path: Path, unit: str) -> None:
    per_hour = {"s": 3_600, "ms": 3_600_000, "us": 3_600 * 10**6, "ns": 3_600 * 10**9}[unit]
    counts = [per_hour, None, per_hour, None, -1, None]
    pq.write_table(log(allowed=pa.array(counts, pa.duration(unit))), tmp_path / "log.parquet")
    outcomes, aside = replayed(spark, tmp_path, ALLOWED)
    assert ends(outcomes) == {end for end in ENDS if end[0] != "c"}
    assert aside == {"no time": 1, "allowed of 'sent' is a negative duration": 1}


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_durations_that_nothing_can_hold_are_set_aside(spark: SparkSession, tmp_path: Path, unit: str) -> None:
    counts = [2**63 - 1, None, -(2**62), None, 0, None]
    pq.write_table(log(allowed=pa.array(counts, pa.duration(unit))), tmp_path / "log.parquet")
    # Spark shows the longest that it has.
    outcomes, aside = replayed(spark, tmp_path, ALLOWED, compare_rows=unit == "us")
    assert ends(outcomes) == {("c", "expired", 0)}
    assert aside == {"no time": 1, "allowed of 'sent' is a negative duration": 1, "allowed of 'sent' is too long": 1}


def test_the_intervals_that_spark_writes(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415  (an extra)

    frame = spark.createDataFrame(log(pa.array(TIMES, pa.timestamp("us", "UTC"))))
    frame = frame.withColumn("allowed", F.expr("INTERVAL '01:00' HOUR TO MINUTE"))
    frame.write.parquet(str(tmp_path / "log"))
    assert pq.read_schema(next((tmp_path / "log").glob("*.parquet"))).field("allowed").type == pa.int64()
    outcomes, _ = replayed(spark, tmp_path / "log", ALLOWED)
    assert ends(outcomes) == ENDS


def test_months_are_no_duration(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415  (an extra)

    from sojourn.pipeline.spark.replay import SparkReplay  # noqa: PLC0415  (an extra)

    frame = spark.createDataFrame(log()).withColumn("allowed", F.expr("INTERVAL '1' MONTH"))
    frame.write.parquet(str(tmp_path / "log"))
    job = Job(Source.of(tmp_path / "log"), (ALLOWED,), as_of="complete")
    for replay in (lambda: LocalReplay(job).tallies, lambda: SparkReplay(job, spark)):
        with pytest.raises(ConfigError, match="column 'allowed' is interval of months; a duration is milliseconds"):
            replay()


def test_files_that_differ_in_what_they_mean_are_one_log(spark: SparkSession, tmp_path: Path) -> None:
    hour = pa.scalar(HOUR, pa.duration("us"))
    (tmp_path / "year=2024").mkdir()
    whole = log(pa.array([*TIMES[:4], NOON, None], pa.timestamp("us")), allowed=pa.repeat(hour, 6))
    finer = pa.schema([whole.schema[0], whole.schema[1], ("at", pa.timestamp("ns")), ("allowed", pa.duration("ns"))])
    pq.write_table(whole.slice(0, 2).cast(finer), tmp_path / "year=2024" / "0.parquet")
    pq.write_table(whole.slice(2), tmp_path / "year=2024" / "1.parquet")
    outcomes, aside = replayed(spark, tmp_path, ALLOWED)
    assert ends(outcomes) == ENDS
    assert aside == {"no time": 1}


def test_a_file_that_only_spark_can_reach(spark: SparkSession, tmp_path: Path) -> None:
    from sojourn.pipeline.spark import source as spark_source  # noqa: PLC0415  (an extra)

    at = pa.array([*TIMES[:4]], pa.timestamp("ns", "UTC"))
    due = pa.array([*TIMES[:4]], pa.timestamp("ns"))
    pq.write_table(log(at, due=due, allowed=pa.array([HOUR] * 4, pa.duration("ns"))), tmp_path / "log.parquet")
    url = (tmp_path / "log.parquet").as_uri()
    events = spark_source.read(spark, Source.of(url)).events
    names = {field.name: field.dataType.simpleString() for field in events.schema}
    assert names | {"at": "timestamp", "due": "timestamp_ntz", "allowed": "interval day to second"} == names
    assert [row.allowed for row in events.collect()] == [HOUR] * 4


def test_microseconds_that_no_float_can_count_are_exact(spark: SparkSession, tmp_path: Path) -> None:
    counts = [1_700_000_000_000_000_000 + ms * 10**6 for ms in (0, 101, 0, 106)]
    pq.write_table(log(pa.array(counts, pa.timestamp("ns"))), tmp_path / "log.parquet")
    outcomes, _ = replayed(spark, tmp_path, Rule("r", "sent", "payment", "101 ms"))
    assert ends(outcomes) == {("a", "completed", 101), ("b", "expired", 101)}


def test_what_our_spark_writes_is_microseconds_in_utc(spark: SparkSession, tmp_path: Path) -> None:
    from sojourn.pipeline.spark.replay import SparkReplay  # noqa: PLC0415  (an extra)

    pq.write_table(log(), tmp_path / "log.parquet")
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    SparkReplay(Job(Source.of(tmp_path / "log.parquet"), (PLAIN,)), spark).write(
        str(tmp_path / "out"), str(tmp_path / "quarantine")
    )
    assert spark.conf.get("spark.sql.parquet.outputTimestampType") == "INT96"
    spark.conf.unset("spark.sql.parquet.outputTimestampType")
    written = pq.read_schema(next((tmp_path / "out").glob("*.parquet")))
    assert {written.field(name).type for name in ("opened_at", "deadline", "at", "met_at")} == {
        pa.timestamp("us", "UTC")
    }


def test_the_year_9999_is_explained_as_such_also_from_old_timestamps(spark: SparkSession, tmp_path: Path) -> None:
    from sojourn.pipeline import batch  # noqa: PLC0415  (an extra)

    pq.write_table(log(), tmp_path / "log.parquet")
    batch.outcomes(spark.read.parquet(str(tmp_path / "log.parquet")), PLAIN, as_of="complete").write.parquet(
        str(tmp_path / "out")
    )
    assert pq.read_metadata(next((tmp_path / "out").glob("*.parquet"))).schema.column(3).physical_type == "INT96"
    found = explain_outcomes(Source.of(tmp_path / "out"), "c")
    assert "9999-12-31 23:59:59.999 UTC" in found[0].sentence()


KEY_TYPES: dict[str, pa.Array] = {
    "string_view": pa.array(["1", "1", "2", "2"], pa.string_view()),
    "large_string": pa.array(["1", "1", "2", "2"], pa.large_string()),
    "dictionary": pa.array(["1", "1", "2", "2"]).dictionary_encode(),
    "uint64": pa.array([1, 1, 2**64 - 1, 2**64 - 1], pa.uint64()),
    "decimal(20,0)": pa.array([Decimal(1)] * 2 + [Decimal(10**19)] * 2, pa.decimal128(20, 0)),
    "decimal(9,2)": pa.array([Decimal(1)] * 2 + [Decimal("1.50")] * 2, pa.decimal128(9, 2)),
}


@pytest.mark.parametrize("keys", KEY_TYPES.values(), ids=KEY_TYPES)
def test_keys_of_every_type_that_is_text_or_whole(spark: SparkSession, tmp_path: Path, keys: pa.Array) -> None:
    table = log(pa.array(TIMES[:4], pa.timestamp("us")))
    pq.write_table(table.set_column(0, "key", keys), tmp_path / "log.parquet")
    outcomes, aside = replayed(spark, tmp_path, PLAIN)
    if keys.type == pa.decimal128(9, 2):
        assert aside == {"key is neither a text nor a whole number": 2}
    assert set(outcomes["key"].to_pylist()) == set(map(str, keys.to_pylist())) - {"1.00", "1.50"} | {"1"}


@pytest.mark.parametrize(
    "keys", [pa.array([True]), pa.array([b"a"]), pa.array([b"a"], pa.large_binary()), pa.array([b"a"], pa.binary(1))]
)
def test_keys_of_other_types_are_refused_by_every_engine_in_the_same_words(
    spark: SparkSession, tmp_path: Path, keys: pa.Array
) -> None:
    from sojourn.pipeline.spark.replay import SparkReplay  # noqa: PLC0415  (an extra)

    table = log(pa.array(TIMES[:1], pa.timestamp("us")))
    pq.write_table(table.set_column(0, "key", keys), tmp_path / "log.parquet")
    job = Job(Source.of(tmp_path / "log.parquet"), (PLAIN,), as_of="complete")
    with pytest.raises(ConfigError) as by_local:
        LocalReplay(job).tallies  # noqa: B018
    for reader in ("arrow", "spark"):
        spark.conf.set(READ, reader)
        with pytest.raises(ConfigError) as by_spark:
            SparkReplay(job, spark).tallies  # noqa: B018
        assert str(by_spark.value) == str(by_local.value)
