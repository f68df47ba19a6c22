"""A sink of one's own gets every outcome, and with the key of the micro-batch none twice."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from sojourn.pipeline import stream
from sojourn.rules import Event
from stream.own_sink_victim import Database, run
from stream.scene import EPOCH, Scene, flush
from stream.test_crash import TESTS, arriving
from stream.victim import LATE, RULE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "connect-a-stream.md"


def test_a_database_that_keeps_the_key_of_a_micro_batch_has_each_outcome_once_though_it_is_repeated(
    spark: SparkSession, tmp_path: Path
) -> None:
    log, decided = arriving(Random(2), 120)
    scene = Scene(spark, tmp_path, late=f"{LATE} ms")
    for start in range(0, len(log), 40):
        scene.add(log[start : start + 40])
    scene.add([flush(EPOCH + 10**6)])
    killed = subprocess.Popen(
        [sys.executable, "-m", "stream.own_sink_victim", str(tmp_path), "2"],
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert killed.wait() == -signal.SIGKILL
    assert 0 < len(Database(tmp_path).rows()) < len(decided)
    assert not (scene.checkpoint / "commits" / "2").exists()
    told = run(spark, tmp_path).rows()
    assert told == sorted((each.operation_id, each.outcome, each.waited_ms) for each in decided)
    assert len(told) > 10


def test_a_database_as_the_guide_shows_it(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path, late=f"{LATE} ms")
    scene.add([Event("k", "open", EPOCH), Event("k", "a", EPOCH), Event("k", "a", EPOCH)])
    scene.add([flush(EPOCH + 10**6)])
    database = sqlite3.connect(tmp_path / "outcomes.db", check_same_thread=False)
    database.execute("CREATE TABLE batches (key TEXT PRIMARY KEY)")
    database.execute("CREATE TABLE outcomes (operation_id TEXT, outcome TEXT)")
    section = GUIDE.read_text().partition("## A sink of your own\n")[2].partition("\n## ")[0]
    given: dict[str, Any] = {
        "stream": stream,
        "database": database,
        "outcomes": stream.outcomes(scene.frame(), RULE, **scene.options),
        "checkpoint": str(scene.checkpoint),
    }
    exec(re.findall(r"```python3\n(.*?)```", section, re.DOTALL)[0], given)
    given["query"].awaitTermination()
    assert database.execute("SELECT * FROM outcomes").fetchall() == [(f"r/k/{EPOCH}", "completed")]
    database.close()


def test_what_is_repeated_comes_under_the_same_key_and_what_is_set_aside_goes_to_a_folder(
    spark: SparkSession, tmp_path: Path
) -> None:
    scene = Scene(spark, tmp_path, late=f"{LATE} ms")
    scene.add([Event("k", "open", EPOCH), Event(None, "a", EPOCH)])  # type: ignore[arg-type]
    scene.add([flush(EPOCH + 10**6)])
    seen: list[tuple[str, list[str]]] = []
    is_broken = True

    def take(rows: DataFrame, batch: stream.MicroBatch) -> None:
        nonlocal is_broken
        seen.append((batch.key, sorted(row.key for row in rows.collect())))
        if is_broken and seen[-1][1]:
            is_broken = False
            raise OSError("the database is away")

    def run() -> None:
        outcomes = stream.outcomes(scene.frame(), RULE, **scene.options)
        state, aside = str(scene.checkpoint), str(scene.out)
        stream.deliver(outcomes, take, checkpoint=state, aside=aside, available_now=True).awaitTermination()

    with pytest.raises(Exception, match="the database is away"):
        run()
    run()
    told = [each for each in seen if each[1]]
    assert told == [told[0], told[0]]
    assert told[0][1] == ["k"]
    assert len({key for key, _ in seen}) == len(seen) - 1
    assert scene.table("quarantine")["reason"].to_pylist() == ["no key"]
