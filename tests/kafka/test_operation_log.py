"""The headline: the log alone, read by the law, gives every request the outcome that it had."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from pyarrow.parquet import read_table

from kafka.scene import Scene, by_law, by_log
from sojourn.errors import ConfigError, SojournError
from sojourn.kafka import RULES, JsonLinesLog, MemoryLog, ParquetLog, Tee, open_log, read_log
from sojourn.kafka.operation_log import COLUMNS
from sojourn.kafka.requests.request import DelayedRequest
from sojourn.kafka.simulation import Simulation, harsh_scenario
from sojourn.rules import Event, Rule
from sojourn.rules.law import outcomes


def run(seed: int) -> tuple[list[DelayedRequest[object]], list[Event]]:
    """All requests of a run with faults, and its log."""
    log = MemoryLog()
    simulation = Simulation(harsh_scenario(seed), log)
    requests: list[DelayedRequest[object]] = []
    follow = simulation.audit.follow

    def keep(request: DelayedRequest[object]) -> None:
        requests.append(request)
        follow(request)

    simulation.audit.follow = keep  # type: ignore[method-assign]
    simulation.run()
    return requests, log.events


@pytest.mark.parametrize("seed", range(25))
def test_the_law_over_the_log_gives_the_outcomes_that_the_requests_had(seed: int) -> None:
    requests, events = run(seed)
    found = by_law(events)
    for request in requests:
        if request.key is not None:
            assert found[request.key] == (request.outcome, request.ended_ms)
    assert found == by_log(events)


def test_every_kind_of_request_and_every_end_comes_up() -> None:
    seen = {
        (key.rpartition("-")[0], outcome) for seed in range(25) for key, (outcome, _) in by_log(run(seed)[1]).items()
    }
    kinds = set(RULES) - {"initial-join", "session"}
    assert {kind for kind, outcome in seen if outcome == "completed"} == kinds
    assert {kind for kind, outcome in seen if outcome == "expired"} >= {
        "create-topics",
        "delete-records",
        "fetch",
        "initial-join",
        "produce",
        "replica-fetch",
        "session",
    }
    assert {"session", "produce", "fetch", "replica-fetch"} <= {kind for kind, end in seen if end == "cancelled"}


def test_the_law_says_how_much_was_missing(scene: Scene) -> None:
    scene.topic()
    scene.isolate(2)
    scene.produce(b"x", timeout_ms=100)
    scene.advance(100)
    outcome = outcomes(RULES["produce"], scene.log.events)[0]
    assert (outcome.outcome, outcome.waited_ms, outcome.missing) == (
        "expired",
        100,
        "1000000 of 1000000 value in settled",
    )


def test_a_request_has_an_opening_its_signals_and_an_end(scene: Scene) -> None:
    scene.topic()
    request = scene.produce(b"x", timeout_ms=900)
    opened_ms = scene.clock.now_ms
    request.result()
    own = [event[:5] for event in scene.log.events if event.key == request.key]
    ended_ms = scene.clock.now_ms
    assert own[0] == (request.key, "produce", opened_ms, "broker-0", 900)
    assert own[1] == own[2] == (request.key, "touched", opened_ms, None, 1)
    assert own[-2:] == [
        (request.key, "settled", ended_ms, "t-0", 1_000_000),
        (request.key, "completed", ended_ms, None, ended_ms - opened_ms),
    ]


def test_a_request_that_did_not_wait_in_a_purgatory_is_not_in_the_log(scene: Scene) -> None:
    scene.topic()
    before = len(scene.log.events)
    scene.produce(b"x", acks=1)
    assert not any(event.kind == "produce" for event in scene.log.events[before:])


def test_the_shares_of_seven_parts_are_a_whole(scene: Scene) -> None:
    scene.place("t", *([0] for _ in range(7)))
    scene.cluster.leader("t", 0).produce({("t", i): [b"x"] for i in range(7)})
    shares = [event.value for event in scene.log.events if event.kind == "settled" and event.key == "produce-1"]
    assert (len(shares), sum(share or 0 for share in shares)) == (7, 1_000_000)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.name)
def test_a_rule_can_be_written_to_a_file_and_read_back(rule: Rule) -> None:
    assert Rule.from_toml(rule.to_toml()) == rule


EVENTS = [
    Event("produce-1", "produce", 10, "broker-0", 500),
    Event("produce-1", "settled", 12, "t-0", 1_000_000),
    Event("produce-1", "completed", 12, None, 2),
]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_log_in_a_file_reads_back_and_gives_the_same_outcomes(tmp_path: Path, suffix: str) -> None:
    memory, path = MemoryLog(), tmp_path / f"log{suffix}"
    with Tee(memory, open_log(path)) as log:
        Simulation(harsh_scenario(3), log).run()
    assert list(read_log(path)) == memory.events
    assert by_law(read_log(path)) == by_log(memory.events)


def test_json_lines_have_the_pipelines_columns(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = JsonLinesLog(path)
    for event in EVENTS:
        log.write(event)
    log.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [tuple(line) for line in lines] == [COLUMNS] * 3
    assert lines[0] == {"key": "produce-1", "kind": "produce", "at": 10, "source": "broker-0", "value": 500}


def test_parquet_has_the_pipelines_columns_and_types(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    log = ParquetLog(path)
    for event in EVENTS:
        log.write(event)
    log.close()
    schema = read_table(path).schema
    assert [(field.name, str(field.type)) for field in schema] == [
        ("key", "string"),
        ("kind", "string"),
        ("at", "int64"),
        ("source", "string"),
        ("value", "int64"),
    ]


def test_a_file_that_does_not_say_its_format_is_refused(tmp_path: Path) -> None:
    for use in (open_log, read_log):
        with pytest.raises(ConfigError, match=r"does not say its format; let it end in .jsonl or .parquet"):
            use(tmp_path / "log.txt")


def test_without_pyarrow_the_error_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SojournError, match=r"pip install 'sojourn\[pipeline\]'"):
        open_log(tmp_path / "log.parquet")
