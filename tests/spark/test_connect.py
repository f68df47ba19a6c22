"""Spark Connect: a client without a Java virtual machine of its own, and a server on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest

from parity import random_rules
from parity.tables import as_outcomes, as_table, by_fold, by_local
from sojourn.rules import Rule, seen
from spark.cluster import LONGEST_S
from stream.scene import EPOCH, flush, moved
from stream.test_shard_parity import as_told

pytestmark = pytest.mark.connect

PROGRAM = Path(__file__).with_name("connect_program.py")
RULE = Rule("r", "open", seen("a", times=2), within=3, per="each", cancels="stop")


def ran(what: str, path: Path) -> str:
    """A process of its own: one that has a session of Spark itself cannot have one of Spark Connect."""
    command = [sys.executable, str(PROGRAM), what, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def test_a_session_of_spark_connect_decides_as_the_local_engine(tmp_path: Path) -> None:
    random = Random(3)
    rules = [random_rules.rule(random, f"r{i}") for i in range(10)]
    log = random_rules.log(random, 300)
    pq.write_table(as_table(log), tmp_path / "log.parquet")
    (tmp_path / "rules").write_text("\f".join(rule.to_toml() for rule in rules))
    said = ran("batch", tmp_path)
    assert "a session of pyspark.sql.connect.session" in said
    expected = by_local(rules, log, as_of="log")
    assert as_outcomes(pq.read_table(tmp_path / "outcomes.parquet")) == expected
    assert as_outcomes(pq.read_table(tmp_path / "of-files.parquet")) == expected
    assert len(expected) > 50
    assert pq.read_table(tmp_path / "given.parquet")["outcome"].to_pylist() == ["completed"]
    assert pq.read_table(tmp_path / "aside.parquet").num_rows > 0


def test_a_stream_on_spark_connect_tells_what_the_fold_decides(tmp_path: Path) -> None:
    random = Random(4)
    log = moved([event for event in random_rules.log(random, 150) if event not in random_rules.UNUSABLE])
    (tmp_path / "events").mkdir()
    for place, part in enumerate((log[:50], log[50:100], log[100:], [flush(EPOCH + 10**8)])):
        file = tmp_path / "events" / f"{place}.parquet"
        pq.write_table(as_table(part), file)
        os.utime(file, (place, place))  # Spark takes files by age
    (tmp_path / "rules").write_text(RULE.to_toml())
    said = ran("stream", tmp_path)
    told = sorted(map(as_told, by_fold([RULE], log)))
    for name in ("told", "by-function"):
        assert as_outcomes(pq.read_table(tmp_path / name)) == told
    assert len(told) > 5
    for what in ("write", "deliver", "pending"):
        assert f"{what}: ConfigError: stream.write, stream.deliver and what reads a checkpoint use" in said
