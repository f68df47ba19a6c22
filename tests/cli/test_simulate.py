"""`sojourn simulate` runs the seeded cluster and says what waited."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli.command import sojourn
from sojourn.kafka.simulation import BrokenPromiseError, Simulation


def test_the_same_seed_is_the_same_run() -> None:
    first, again, other = (
        json.loads(sojourn("simulate", "--minutes", 1, "--json", "--seed", seed).out) for seed in (3, 3, 4)
    )
    assert first == again
    assert first["requests"] != other["requests"]


def test_every_request_ends_one_way() -> None:
    told = json.loads(sojourn("simulate", "--minutes", 1, "--json", "--faults", "none").out)
    assert told["virtual_ms"] == 180_000
    assert set(told["faults"].values()) <= {0}
    assert told["requests"]["produce"]["completed"] > 0
    for figures in told["requests"].values():
        assert figures["opened"] == figures["completed"] + figures["expired"] + figures["cancelled"]
        assert figures["p50_ms"] <= figures["p99_ms"] <= figures["max_ms"]


def test_people_get_a_table_of_the_same_figures(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    ended = sojourn("simulate", "--minutes", 1, "--brokers", 2, "--log", log)
    assert ended.code == 0
    assert ended.out.startswith("2 brokers, 3 partitions")
    produce = next(re.split(r"  +", line) for line in ended.out.splitlines() if line.startswith("produce"))
    told = json.loads(sojourn("simulate", "--minutes", 1, "--brokers", 2, "--json").out)["requests"]["produce"]
    assert produce[1:5] == [f"{told[name]:,}" for name in ("opened", "completed", "expired", "cancelled")]
    assert [time.rpartition(" ")[2] in ("ms", "s", "min") for time in produce[5:]] == [True] * 3
    assert len(log.read_text().splitlines()) > 100


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_broken_promise_is_the_exit_code(monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]) -> None:
    def broken(simulation: Simulation) -> None:
        raise BrokenPromiseError("a record was lost")

    monkeypatch.setattr(Simulation, "run", broken)
    ended = sojourn("simulate", "--minutes", 1, *options)
    assert ended.code == 1
    assert "a record was lost" in ended.err


def test_a_fault_that_is_not_known_is_refused() -> None:
    ended = sojourn("simulate", "--faults", "storm")
    assert ended.code == 3
    assert "fault 'storm' is not known; there are crash" in ended.err
