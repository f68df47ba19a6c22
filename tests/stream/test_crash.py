"""A stream that is killed goes on where it was: nothing lost, nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from parity import random_rules
from parity.tables import by_fold
from sojourn.rules import Event, Outcome
from stream.scene import EPOCH, Scene, flush, moved
from stream.test_shard_parity import as_told
from stream.victim import LATE, RULE

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


def arriving(random: Random, size: int) -> tuple[list[Event], list[Outcome]]:
    log = moved([event for event in random_rules.log(random, size) if event not in random_rules.UNUSABLE])
    log = [event._replace(at=event.at + 10 * (i // 20)) for i, event in enumerate(log)]
    return sorted(log, key=lambda e: e.at + random.uniform(0, LATE)), sorted(map(as_told, by_fold([RULE], log)))


def test_a_stream_killed_when_its_rows_were_written_but_not_committed_tells_them_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    log, decided = arriving(Random(2), 120)
    scene = Scene(spark, tmp_path, late=f"{LATE} ms")
    for start in range(0, len(log), 40):
        scene.add(log[start : start + 40])
    scene.add([flush(EPOCH + 10**6)])
    killed = victim(tmp_path, "publish", "2")
    assert killed.wait() == -signal.SIGKILL
    assert 0 < len(scene.outcomes()) < len(decided)
    assert not (scene.checkpoint / "commits" / "2").exists()
    scene.run(RULE)
    assert scene.outcomes() == decided
    assert len(decided) > 10
    assert not list(scene.out.glob("_draft*"))


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


def _kill(process: subprocess.Popen[bytes], path: Path, random: Random) -> None:
    """Once it has written so many files more, anywhere."""
    written = _files(path)
    enough = random.randrange(1, 60)
    while process.poll() is None and len(_files(path) - written) < enough:
        time.sleep(0.005)
    assert process.poll() is None, "the stream ended before it could be killed"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _files(path: Path) -> set[str]:
    return {os.path.join(root, file) for root, _, files in os.walk(path) for file in files}
