from __future__ import annotations

from pathlib import Path

import pytest

from sojourn.kafka import read_log
from sojourn.kafka.__main__ import main
from sojourn.kafka.simulation import BrokenPromiseError, Simulation


def test_a_run_says_what_waited_for_how_long_and_what_expired(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--minutes", "2", "--seed", "7", "--faults", "crash,cut"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 brokers, 3 partitions, min.insync.replicas 2, seed 7"
    assert lines[1].startswith("faults: ")
    assert lines[3].split()[:5] == ["request", "opened", "completed", "expired", "cancelled"]
    assert [line.split()[0] for line in lines[4:7]] == ["produce", "fetch", "replica-fetch"]
    assert "none lost" in lines[-3]
    assert max(map(len, lines)) <= 80


def test_the_same_seed_prints_the_same_but_for_the_time_it_took(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for _ in range(2):
        main(["--minutes", "1", "--faults", "all"])
        outputs.append(capsys.readouterr().out.splitlines()[:-1])
    assert outputs[0] == outputs[1]


def test_the_log_is_written_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "day.jsonl"
    assert main(["--minutes", "0.2", "--log", str(path)]) == 0
    assert f"operation log: {path}" in capsys.readouterr().out
    assert sum(event.kind == "replica-fetch" for event in read_log(path)) > 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--faults", "flood"], "fault 'flood' is not known"),
        (["--log", "x.csv"], "'x.csv' does not say its format"),
        (["--log", "/nowhere/x.jsonl"], "No such file or directory"),
        (["--brokers", "0"], "brokers=0 is less than 1"),
        (["--partitions", "0"], "INVALID_PARTITIONS"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_in_a_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--minutes", "1", *arguments]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert len(printed.err.splitlines()) == 1


def test_a_broken_promise_is_told_with_the_seed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(self: Simulation) -> None:
        raise BrokenPromiseError("at 7 ms: all is lost")

    monkeypatch.setattr(Simulation, "run", fail)
    assert main(["--seed", "9"]) == 1
    assert "at 7 ms: all is lost" in (error := capsys.readouterr().err)
    assert "--seed 9" in error
