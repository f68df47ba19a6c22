"""A stream that is killed goes on where it was: nothing lost, nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from parity import random_rules
from parity.operations import by_law, operations
from parity.tables import by_fold
from sojourn.rules import Event, Outcome, Rule
from stream.given_scene import GivenScene, far, later
from stream.scene import EPOCH, Scene, flush, moved
from stream.test_shard_parity import as_told
from stream.victim import GIVEN_RULE, LATE, ONE_RULE, OPERATIONS, RULE, RULES, SEVERAL_RULES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TESTS = Path(__file__).parents[1]


def victim(path: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A stream in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "stream.victim", str(path), *arguments],
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def in_time(random: Random, size: int) -> list[Event]:
    """A log that goes on for a while, every event at most so much later than its time."""
    log = moved([event for event in random_rules.log(random, size) if event not in random_rules.UNUSABLE])
    log = [event._replace(at=event.at + 10 * (i // 20)) for i, event in enumerate(log)]
    return sorted(log, key=lambda e: e.at + random.uniform(0, LATE))


def arriving(random: Random, size: int, rules: Sequence[Rule] = (RULE,)) -> tuple[list[Event], list[Outcome]]:
    log = in_time(random, size)
    return log, sorted(map(as_told, by_fold(rules, log)))


def test_a_stream_killed_when_its_rows_were_written_but_not_committed_tells_them_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    log, decided = arriving(Random(2), 120)
    scene = Scene(spark, tmp_path, late=f"{LATE} ms")
    for start in range(0, len(log), 40):
        scene.add(log[start : start + 40])
    scene.add([flush(EPOCH + 10**6)])
    killed = victim(tmp_path, ONE_RULE, "publish", "2")
    assert killed.wait() == -signal.SIGKILL
    assert 0 < len(scene.outcomes()) < len(decided)
    assert not (scene.checkpoint / "commits" / "2").exists()
    scene.run(RULE)
    assert scene.outcomes() == decided
    assert len(decided) > 10
    assert not list(scene.out.glob("_draft*"))


def test_operations_from_a_stream_killed_before_they_were_committed_are_told_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    scene, decided = given_scene(spark, tmp_path, Random(3), 120)
    killed = victim(tmp_path, OPERATIONS, "publish", "3")
    assert killed.wait() == -signal.SIGKILL
    assert 0 < len(scene.outcomes()) < len(decided)
    assert not (scene.checkpoint / "commits" / "3").exists()
    scene.run(GIVEN_RULE)
    assert scene.outcomes() == decided
    assert len(decided) > 10


def given_scene(
    spark: SparkSession, path: Path, random: Random, size: int, rows: int = 20
) -> tuple[GivenScene, list[Outcome]]:
    """Events and operations as they arrive, so many at a time, and what becomes of the operations."""
    log = in_time(random, size)
    given = later(operations(random, [GIVEN_RULE], size // 4, most_keys=3))
    given = [each._replace(opened_at=each.opened_at + 10 * (i // 5)) for i, each in enumerate(given)]
    asked = sorted(given, key=lambda each: each.opened_at + random.uniform(0, LATE))
    scene = GivenScene(spark, path, late=f"{LATE} ms")
    for start in range(0, size, rows):
        scene.add(log[start : start + rows])
        scene.ask(asked[start // 4 : (start + rows) // 4])
    scene.add([flush(EPOCH + 10**6)])
    scene.ask([far("far", EPOCH + 10**6)])
    return scene, sorted(map(as_told, by_law([GIVEN_RULE], given, log)))


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(3))
def test_several_rules_killed_at_random_points_lose_nothing_and_tell_nothing_twice(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    random = Random(seed)
    log, decided = arriving(random, 600, RULES)
    scene = Scene(spark, tmp_path, late=f"{LATE} ms")
    for start in range(0, len(log), 20):
        scene.add(log[start : start + 20])
    scene.add([flush(EPOCH + 10**6)])
    for _ in range(5):
        _kill(victim(tmp_path, SEVERAL_RULES), tmp_path, random)
    scene.run(RULES)
    assert scene.outcomes() == decided
    assert {outcome.rule for outcome in decided} == {rule.name for rule in RULES}


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(3))
def test_operations_from_a_stream_killed_at_random_points_are_all_told_once(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    random = Random(seed)
    scene, decided = given_scene(spark, tmp_path, random, 240)
    for _ in range(3):
        _kill(victim(tmp_path, OPERATIONS), tmp_path, random, most=200)  # two stateful steps write more files
    scene.run(GIVEN_RULE)
    assert scene.outcomes() == decided
    assert len(decided) > 20


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(3))
def test_a_stream_killed_at_random_points_loses_nothing_and_tells_nothing_twice(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    """Ten kills, each a random while after some file has appeared that the one before had not written."""
    random = Random(seed)
    log, decided = arriving(random, 600)
    scene = Scene(spark, tmp_path, late=f"{LATE} ms")
    for start in range(0, len(log), 20):
        scene.add(log[start : start + 20])
    scene.add([flush(EPOCH + 10**6)])
    for _ in range(10):
        _kill(victim(tmp_path), tmp_path, random)
    scene.run(RULE)
    assert scene.outcomes() == decided
    assert len(decided) > 50


def _kill(process: subprocess.Popen[bytes], path: Path, random: Random, most: int = 60) -> None:
    """Once it has written so many files more, anywhere."""
    written = _files(path)
    enough = random.randrange(1, most)
    while process.poll() is None and len(_files(path) - written) < enough:
        time.sleep(0.005)
    assert process.poll() is None, "the stream ended before it could be killed"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _files(path: Path) -> set[str]:
    return {os.path.join(root, file) for root, _, files in os.walk(path) for file in files}
