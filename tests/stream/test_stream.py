"""What a stream on Spark does beside deciding: rows set aside, settings checked, idle streams woken."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sojourn import ConfigError
from sojourn.pipeline import stream
from sojourn.pipeline.stream.checkpoint.files import Files
from sojourn.pipeline.stream.doors.sink import LOCAL_CHECKPOINT, configured
from sojourn.rules import Event, Rule, seen
from stream.scene import EPOCH, Scene, flush

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
RULE = Rule("r", "open", seen("a", times=2, distinct="source"), within="1 s")


def test_late_and_useless_rows_are_set_aside_with_their_reason_and_counted(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path, late="1 s")
    scene.add([Event("k", "open", EPOCH), Event(None, "a", EPOCH), Event("k", "a", None), flush(EPOCH + 5000)])  # type: ignore[arg-type]
    scene.add([Event("k", "a", EPOCH + 3999, "x"), Event("k", "a", EPOCH + 4000, "y"), flush(EPOCH)])
    scene.run(RULE)
    assert [(outcome.outcome, outcome.at) for outcome in scene.outcomes()] == [("expired", EPOCH + 1000)]
    aside = scene.table("quarantine").select(["reason", "row"]).to_pylist()
    rows = [(row["reason"], json.loads(row["row"])) for row in sorted(aside, key=lambda row: row["reason"])]
    assert [(reason, row["key"], row["kind"], row["source"]) for reason, row in rows] == [
        ("more than 1 s late", "k", "a", "x"),
        ("no key", None, "a", None),
        ("no time", "k", "a", None),
    ]
    counts = {"opened": 1, "completed": 0, "expired": 1, "cancelled": 0, "late": 1, "quarantined": 2}
    assert {what: scene.counted(what) for what in counts} == counts


@pytest.mark.parametrize("inner", ["", "deep"])
def test_a_stream_writes_neither_outcomes_nor_its_checkpoint_where_it_reads(
    spark: SparkSession, tmp_path: Path, inner: str
) -> None:
    for what in ("out", "checkpoint"):
        scene = Scene(spark, tmp_path, late="1 s")
        scene.add([Event("k", "open", EPOCH)])
        setattr(scene, what, scene.events / inner)
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(ConfigError, match=rf"{inner}\S* is in \S*events, which this stream reads: what it writes"):
            scene.run(RULE)
        assert sorted(tmp_path.rglob("*")) == before


def test_a_checkpoint_goes_on_under_its_own_settings_only(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path, late="1 s")
    scene.add([Event("k", "open", EPOCH)])
    scene.run(RULE)
    other = Rule("r", "open", seen("a"), within="1 s")
    with pytest.raises(ConfigError, match=r"was written with rule 'r': until = .*times = 2.*, not until = .a.;"):
        scene.run(other)
    with pytest.raises(ConfigError, match="was written with shards: 3, not 4"):
        Scene(spark, tmp_path, late="1 s", shards=4).run(RULE)
    with pytest.raises(ConfigError, match="was written with columns of rule 'r': key = key, not key = source"):
        Scene(spark, tmp_path, late="1 s", key="source").run(RULE)
    (scene.checkpoint / "sojourn.json").unlink()
    scene.out = tmp_path / "elsewhere"
    scene.add([Event("k", "a", EPOCH)])
    with pytest.raises(Exception, match="the checkpoint was written under other rules"):
        scene.run(other)


def test_a_folder_takes_the_outcomes_of_one_checkpoint_only(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path, late="1 s")
    scene.add([Event("k", "open", EPOCH), Event("k", "a", EPOCH, "x"), Event("k", "a", EPOCH, "y")])
    scene.add([flush(EPOCH + 5000)])
    scene.run(RULE)
    first, scene.checkpoint = scene.checkpoint, tmp_path / "another"
    with pytest.raises(ConfigError, match=f"of another stream, whose checkpoint is file:{first};"):
        scene.run(Rule("other", "open", "b", within="1 s"))
    assert not (scene.checkpoint / "offsets").exists()
    assert [outcome.rule for outcome in scene.outcomes()] == ["r"]
    scene.checkpoint = first
    scene.run(RULE)


def test_spark_starts_no_process_for_each_file_of_a_checkpoint_on_a_local_disk(
    spark: SparkSession, tmp_path: Path
) -> None:
    scene = Scene(spark, tmp_path, late="1 s")
    scene.add([Event("k", "open", EPOCH), flush(EPOCH + 5000)])
    with chosen(spark, {FILE_MANAGER: "nobody.knows.This"}), pytest.raises(Exception, match=r"nobody\.knows\.This"):
        scene.run(RULE)
    scene.run(RULE)
    assert [outcome.outcome for outcome in scene.outcomes()] == ["expired"]
    assert FILE_MANAGER not in spark.conf.getAll
    for is_local, manager in ((True, LOCAL_CHECKPOINT[FILE_MANAGER]), (False, None)):
        with configured(spark, 1, is_local=is_local):
            assert spark.conf.getAll.get(FILE_MANAGER) == manager
    files = Files(spark)
    assert files.is_local(str(tmp_path))
    assert not files.is_local("hdfs://127.0.0.1:9/state")


@contextmanager
def chosen(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            spark.conf.unset(name)


def test_an_idle_stream_expires_by_its_heartbeat(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path, late="1 s", heartbeat=True)
    scene.add([Event("k", "open", EPOCH)])
    query = stream.write(
        stream.outcomes(scene.frame(), RULE, **scene.options), str(scene.out), checkpoint=str(scene.checkpoint)
    )
    try:
        while query.isActive and not scene.outcomes():
            pass
    finally:
        query.stop()
    assert [outcome.outcome for outcome in scene.outcomes()] == ["expired"]


def test_a_time_before_1970_does_not_keep_a_shard_from_waking(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path, late="1 s", shards=1)
    scene.add([Event("old", "open", -EPOCH), Event("k", "open", EPOCH)])
    scene.add([flush(EPOCH + 2001)])  # concerns no shard: the watermark is one past the deadline
    scene.run(RULE)
    assert [(outcome.key, outcome.at) for outcome in scene.outcomes()] == [("k", EPOCH + 1000), ("old", 1000 - EPOCH)]


def test_what_is_not_a_stream_is_refused(spark: SparkSession) -> None:
    table = spark.createDataFrame([], "key string, kind string, at timestamp")
    with pytest.raises(ConfigError, match="the events are a table, not a stream"):
        stream.outcomes(table, RULE)
    with pytest.raises(ConfigError, match=r"write takes what stream\.outcomes gives"):
        stream.write(table, "nowhere", checkpoint="nowhere")


@pytest.mark.parametrize("shards", [0, -1, True, 1.5])
def test_a_number_of_shards_that_makes_no_sense_is_refused(spark: SparkSession, tmp_path: Path, shards: int) -> None:
    scene = Scene(spark, tmp_path, shards=shards)
    with pytest.raises(ConfigError, match=f"shards={shards!r} must be a whole number of at least 1"):
        scene.run(RULE)
