"""Ctrl-C while Spark starts, in a real process group: nothing of it stays behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from replay.logs import write_orders, write_rule

JAVA = shutil.which("java") if "JAVA_HOME" not in os.environ else f"{os.environ['JAVA_HOME']}/bin/java"
LONGEST_S = 300
"""How long a test waits before it says that something hangs."""

WRAPPER = """#!/bin/sh
case "$*" in
    *org.apache.spark.deploy.SparkSubmit*) echo started > {fifo} ;;
esac
exec {java} "$@"
"""


def java_that_tells(folder: Path) -> tuple[Path, Path]:
    """A JAVA_HOME whose Java says so on a named pipe when it is about to become Spark's; and that pipe."""
    fifo, java = folder / "fifo", folder / "home" / "bin" / "java"
    os.mkfifo(fifo)
    java.parent.mkdir(parents=True)
    java.write_text(WRAPPER.format(fifo=fifo, java=JAVA))
    java.chmod(0o755)
    return folder / "home", fifo


@pytest.mark.skipif(JAVA is None, reason="needs Java")
@pytest.mark.parametrize("command", ["replay", "stream"])
def test_ctrl_c_while_spark_starts_leaves_no_process_behind(command: str, tmp_path: Path) -> None:
    write_rule(tmp_path)
    home, fifo = java_that_tells(tmp_path)
    arguments = {
        "replay": ["replay", str(write_orders(tmp_path)), "--rule", "paid.toml", "--out", "outcomes"],
        "stream": ["stream", "--from", "rate:1", "--rule", "paid.toml", "--checkpoint", "state"],
    }
    started = subprocess.Popen(
        [sys.executable, "-m", "sojourn", *arguments[command]],
        cwd=tmp_path,
        env={**os.environ, "JAVA_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        fifo.read_text()  # waits until somebody writes
        os.killpg(started.pid, signal.SIGINT)
        # Whoever is left has inherited stdout: it ends when the last of them has.
        _, err = started.communicate(timeout=LONGEST_S)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
    assert (started.returncode, err.splitlines()[-1]) == (130, "interrupted")
    assert "Traceback" not in err
    assert not (tmp_path / "outcomes").exists()
