"""A worker of a cluster is killed while a micro-batch runs: nothing lost, nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from spark.cluster import HOST, SPARK_CLASS, Cluster, cluster
from stream.scene import EPOCH, Scene, flush
from stream.test_crash import TESTS, arriving

BATCH = 3
"""The micro-batch in which it happens."""


@pytest.mark.chaos
def test_a_worker_killed_while_a_batch_runs_changes_nothing(tmp_path: Path) -> None:
    log, decided = arriving(Random(7), 300)
    scene = Scene(None, tmp_path)  # type: ignore[arg-type]
    for start in range(0, len(log), 40):
        scene.add(log[start : start + 40])
    scene.add([flush(EPOCH + 10**6)])
    with cluster(tmp_path, workers=2) as it:
        driver = victim(it, tmp_path)
        begun = scene.checkpoint / "offsets" / str(BATCH)
        while driver.poll() is None and not begun.exists():
            pass
        kill_a_worker()
        assert driver.wait() == 0
    assert scene.outcomes() == decided
    assert len(decided) > 30


def victim(it: Cluster, path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            str(Path(SPARK_CLASS).with_name("spark-submit")),
            *("--master", it.url, "--py-files", it.py_files, "--conf", "spark.ui.enabled=false"),
            *("--conf", "spark.executor.memory=512m", "--conf", "spark.task.maxFailures=8"),
            str(Path(__file__).with_name("victim.py")),
            str(path),
        ],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(TESTS), it.py_files]),  # the driver starts a processor too
            "PYSPARK_PYTHON": it.python,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": HOST,
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def kill_a_worker() -> None:
    """One of those that we started, and its executor with it."""
    worker = next(pid for pid, command in _children(os.getpid()) if "deploy.worker.Worker" in command)
    for pid, _ in [*_children(worker), (worker, "")]:
        os.kill(pid, signal.SIGKILL)


def _children(parent: int) -> list[tuple[int, str]]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                status = (folder / "stat").read_text()
                command = (folder / "cmdline").read_text()
            except OSError:  # it has just ended
                continue
            if int(status.rpartition(")")[2].split()[1]) == parent:
                found.append((int(folder.name), command))
    return found
