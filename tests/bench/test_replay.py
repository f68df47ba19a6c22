"""The benchmark of whole commands: its log, its peers, and what it says of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from benchmarks.__main__ import main
from benchmarks.memory import PeakMemory, resident
from benchmarks.replay import data
from benchmarks.replay.check import first_difference, outcomes
from benchmarks.replay.commands import PEERS, Run
from benchmarks.replay.measure import checked_counts, measure
from benchmarks.replay.report import replay_bars, report
from benchmarks.results import Results

WITHOUT_JAVA = [name for name, peer in PEERS.items() if not peer.needs_java]
EVENTS = 3_000


@pytest.fixture
def by_hand() -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("polars")


@pytest.mark.usefixtures("by_hand")
def test_commands_of_every_peer_are_timed_and_write_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOJOURN_BENCHMARK_FOLDER", str(tmp_path))
    file = tmp_path / "replay.json"
    asked = ["--events", str(EVENTS), "--rounds", "1", "--peers", ",".join(WITHOUT_JAVA), "--json", str(file)]
    assert main(["replay", *asked]) == 0
    assert "counts: same" in capsys.readouterr().out
    rows = json.loads(file.read_text())["results"]
    assert [row["peer"] for row in rows] == WITHOUT_JAVA
    for row in rows:
        assert row["ns"] > 0
        assert row["bytes"] > 10 << 20
        assert row["opened"] == EVENTS // 3 == row["completed"] + row["expired"] + row["pending"]
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


@pytest.mark.usefixtures("by_hand")
def test_a_peer_that_writes_something_else_is_named_before_anything_is_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = tmp_path / "late.toml"
    late.write_text(Path("benchmarks/replay/fulfilled.toml").read_text().replace("30 minutes", "31 minutes"))
    monkeypatch.setattr("benchmarks.replay.commands.RULE", late)
    with pytest.raises(SystemExit, match="sojourn-local and duckdb differ in deadline"):
        main(["replay", "--peers", "sojourn-local,duckdb"])


def test_every_ending_is_in_the_log(tmp_path: Path) -> None:
    run = Run(data.log_path(30_000, tmp_path), 30_000, tmp_path)
    row = measure(PEERS["sojourn-local"], run)
    table = outcomes(run.out)
    assert row["opened"] == 10_000
    assert 6_000 < row["completed"] < 9_000
    assert min(row["expired"], row["pending"]) > 50
    assert set(table["missing"].to_pylist()) == {None, "paid", "packed", "paid and packed"}
    assert set(table["decided_by"].to_pylist()) == {None, "paid", "packed", "deadline"}
    was_late = pc.and_(pc.equal(table["outcome"], "expired"), table["met_at"].is_valid())
    assert pc.sum(was_late).as_py() > 500


def test_a_log_is_in_order_of_time_and_opens_every_key_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "DAY_EVENTS", 1_000)
    monkeypatch.setattr(data, "GROUP_ROWS", 100)
    path = data.log_path(2_500, tmp_path)
    log = pq.read_table(path)
    assert len(log) == 2_500
    assert pq.ParquetFile(path).num_row_groups == 25
    at = log["at"].cast(pa.int64()).to_pylist()
    assert all(before <= after for before, after in pairwise(at))
    opened = Counter(log.filter(pc.equal(log["kind"], "placed"))["key"].to_pylist())
    assert len(opened) == 333 + 333 + 166
    assert set(opened.values()) == {1}
    assert set(log["key"].to_pylist()) == set(opened)


def test_a_log_is_made_once_and_from_a_seed(tmp_path: Path) -> None:
    first, other = data.log_path(500, tmp_path / "a"), data.log_path(500, tmp_path / "b")
    assert first.read_bytes() == other.read_bytes()
    first.write_bytes(b"kept")
    assert data.log_path(500, tmp_path / "a").read_bytes() == b"kept"


@pytest.mark.parametrize("events", [1, 2, 3, 4, 5])
def test_a_log_may_be_tiny(tmp_path: Path, events: int) -> None:
    assert pq.read_metadata(data.log_path(events, tmp_path)).num_rows == events


def test_a_summary_that_disagrees_with_what_was_written_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"outcome": ["completed", "expired", "pending"]}), tmp_path / "part.parquet")
    counts = {"opened": 3, "completed": 1, "expired": 1, "pending": 1}
    assert checked_counts(tmp_path, counts) == counts
    with pytest.raises(RuntimeError, match="its summary says"):
        checked_counts(tmp_path, {**counts, "completed": 2})


def test_the_first_difference_is_told() -> None:
    left = {"operation_id": ["a", "b"], **{name: ["x", None] for name in OTHERS}}
    right = {**left, "missing": ["x", "paid"]}
    tables = {"left": pa.table(left), "same": pa.table(left), "right": pa.table(right)}
    assert first_difference(tables) == "left and right differ in missing: None and paid of b"
    del tables["right"]
    assert first_difference(tables) is None
    assert first_difference({**tables, "short": tables["left"].slice(1)}) == "left has 2 outcomes, short 1"


def test_memory_is_of_a_process_and_all_that_it_started() -> None:
    holds = "held = bytearray(1 << 26); print(len(held), flush=True); input()"
    starts = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {holds!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", starts], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with PeakMemory(process.pid, resident) as memory:
            pass
        process.communicate("\n")
    assert memory.peak > 1 << 26


def test_bars_are_ratios_of_one_run() -> None:
    rows = [
        row("sojourn-local", 10_000_000, ns=700),
        row("sojourn-local-report", 10_000_000, ns=800),
        row("sojourn-spark", 10_000_000, ns=3_000, started_ns=1_900),
        row("duckdb", 10_000_000, ns=1_000),
        row("duckdb-4g", 100_000_000, ns=900),
        row("sojourn-local", 100_000_000, ns=950, bytes=4 << 30),
    ]
    bars = replay_bars(Results(rows))
    assert [bar.measured for bar in bars[:4]] == pytest.approx([0.7, 950 / 900, 4, 1.9])
    assert [bar.verdict for bar in bars] == [
        "pass",
        "FAIL",
        "pass",
        "pass",
        *["not measured"] * 2,
        "FAIL",
        "not measured",
    ]


def test_different_counts_and_phases_are_printed() -> None:
    rows = [
        row("sojourn-local", 1_000, ns=2e6, started_ns=1e6, start_s=1, write_s=0.5),
        row("duckdb", 1_000, ns=1e6),
    ]
    text = report(Results(rows), [1_000])
    assert "counts: same" in text
    assert [line.split() for line in text.splitlines() if line.startswith("sojourn-local")] == [
        ["sojourn-local", "2.00", "2.0x", "1.00", "1.00", "3", "1", "1", "1"],
        ["sojourn-local", "1.00", "0.50"],
    ]
    rows[1]["completed"] = 2
    assert "counts: DIFFERENT" in report(Results(rows), [1_000])


OTHERS = (
    "rule",
    "key",
    "opened_at",
    "deadline",
    "outcome",
    "at",
    "waited_ms",
    "met_at",
    "decided_by",
    "missing",
)


def row(peer: str, n: int, **figures: float) -> dict[str, Any]:
    counts = {"opened": 3, "completed": 1, "expired": 1, "pending": 1}
    return {"workload": "replay", "peer": peer, "n": n, "op": "replay", "bytes": 1 << 30, **counts, **figures}
