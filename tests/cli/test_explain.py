"""`sojourn explain` says why, from an outcome table or event by event from a log."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from cli.command import sojourn
from replay.logs import DAY, orders, write_orders, write_rule
from sojourn import Outcome, Rule, reached
from sojourn.pipeline.results.explain import note

COLUMNS = ("--key", "order", "--kind", "event")


def explained(folder: Path, *who: str, **settings: str) -> list[str]:
    """What is said of ORDERS under a rule."""
    ended = sojourn("explain", write_orders(folder), *who, "--rule", write_rule(folder, **settings), *COLUMNS)
    assert (ended.code, ended.err) == (0, "")
    return ended.out.splitlines()


def test_a_timely_signal_completes(tmp_path: Path) -> None:
    assert explained(tmp_path, "b") == [
        "paid/b/86400000: completed by paid at 1970-03-03 00:00:00 UTC after 60 days",
        "  1970-01-02 00:00:00 UTC      ordered: opens it",
        "  1970-03-03 00:00:00 UTC      paid: counts, and completes it",
    ]


def test_a_late_signal_is_shown_to_be_late(tmp_path: Path) -> None:
    assert explained(tmp_path, "c") == [
        "paid/c/172800000: expired at 1970-03-04 00:00:00 UTC after 60 days; met 38 days late; missing paid",
        "  1970-01-03 00:00:00 UTC      ordered: opens it",
        "  1970-04-11 00:00:00 UTC      paid: too late, by 38 days",
    ]


def test_a_cancellation_is_named(tmp_path: Path) -> None:
    assert explained(tmp_path, "e", cancels="withdrawn") == [
        "paid/e/345600000: cancelled by withdrawn at 1970-01-06 00:00:00 UTC after 1 day; missing paid",
        "  1970-01-05 00:00:00 UTC      ordered: opens it",
        "  1970-01-06 00:00:00 UTC      withdrawn: cancels it",
    ]


def test_an_operation_is_found_by_its_id_and_several_are_explained_in_turn(tmp_path: Path) -> None:
    lines = explained(tmp_path, "paid/d/259200000", "a")
    assert [line for line in lines if not line.startswith(" ")] == [
        "paid/d/259200000: expired at 1970-03-05 00:00:00 UTC after 60 days; missing paid",
        "paid/a/0: completed by paid at 1970-01-11 00:00:00 UTC after 10 days",
    ]


def test_an_outcome_table_says_the_same_without_the_events(tmp_path: Path) -> None:
    (tmp_path / "outcomes").mkdir()
    parquet.write_table(orders(), tmp_path / "outcomes" / "part-0.parquet")
    from_events = [line for line in explained(tmp_path, "a", "c", "d") if not line.startswith(" ")]
    ended = sojourn("explain", tmp_path / "outcomes", "a", "paid/c/172800000", "d")
    assert (ended.code, ended.out.splitlines()) == (0, from_events)


def test_a_program_reads_json(tmp_path: Path) -> None:
    ended = sojourn("explain", write_orders(tmp_path), "a", "--rule", write_rule(tmp_path), *COLUMNS, "--json")
    told = json.loads(ended.out)
    assert (told["operation_id"], told["outcome"], told["at"]) == ("paid/a/0", "completed", 10 * DAY)
    assert told["sentence"] == "paid/a/0: completed by paid at 1970-01-11 00:00:00 UTC after 10 days"
    assert told["set_aside"] == []
    assert told["events"] == [
        {"at": 0, "kind": "ordered", "source": None, "note": "opens it"},
        {"at": 10 * DAY, "kind": "paid", "source": None, "note": "counts, and completes it"},
    ]


def test_sources_are_named_where_the_rule_counts_them(tmp_path: Path) -> None:
    log = pa.table(
        {"key": ["w"] * 4, "kind": ["write", "ack", "ack", "ack"], "at": [0, 1, 2, 3], "source": list("-aab")}
    )
    parquet.write_table(log, tmp_path / "acks.parquet")
    rule = write_rule(
        tmp_path,
        "[rule]\nname = 'quorum'\nopens = 'write'\nwithin = '1 s'\n"
        "until = { seen = 'ack', times = 2, distinct = 'source' }\n",
    )
    ended = sojourn("explain", tmp_path / "acks.parquet", "w", "--rule", rule, "--unit", "ms")
    assert [line.split("UTC")[1].strip() for line in ended.out.splitlines()[1:]] == [
        "write (-): opens it",
        "ack (a): counts",
        "ack (a): counts",
        "ack (b): counts, and completes it",
    ]


def test_rows_that_could_not_be_used_are_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("order,event,at\na,ordered,2007-01-20\na,paid,someday\n")
    ended = sojourn("explain", tmp_path / "log.csv", "a", "--rule", write_rule(tmp_path))
    assert ended.out.splitlines()[-1].startswith("  set aside, time cannot be read")
    assert '"at": "someday"' in ended.out


@pytest.mark.parametrize(
    ("who", "message"),
    [
        ("z", "has no operation and no key 'z'; its keys are 'a', 'b', 'c', ..."),
        ("paid/a/7", "'paid/a/7' has events, but no operation that they open is meant by it"),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, who: str, message: str) -> None:
    ended = sojourn("explain", write_orders(tmp_path), who, "--rule", write_rule(tmp_path), *COLUMNS)
    assert (ended.code, ended.out) == (3, "")
    assert message in ended.err


def test_what_is_not_in_an_outcome_table_is_said(tmp_path: Path) -> None:
    parquet.write_table(orders(), tmp_path / "outcomes.parquet")
    ended = sojourn("explain", tmp_path / "outcomes.parquet", "z")
    assert ended.code == 3
    assert "has no operation and no key 'z'; its keys are 'a', 'b', 'c', ..." in ended.err


def test_an_event_log_without_a_rule_is_refused_with_the_way_out(tmp_path: Path) -> None:
    ended = sojourn("explain", write_orders(tmp_path), "a")
    assert ended.code == 3
    assert "an outcome table; if this is an event log, give --rule too" in ended.err


LEVEL = Rule("r", "open", reached("level", 5), within=100, cancels="stop")
ALIVE = Rule("r", "open", within=100, keeps_alive="beat")
EACH = Rule("r", "open", "done", within=100, per="each")
FIRST = Rule("r", "open", "done", within=100, per="first")


def outcome(ending: str, at: int, decided_by: str) -> Outcome:
    return Outcome("r/k/1000", "r", "k", 1_000, 1_100, ending, at, at - 1_000, None, decided_by, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "ended", "at", "kind", "said"),
    [
        (LEVEL, outcome("completed", 1_000, "level"), 900, "level", "counts, being a level"),
        (LEVEL, outcome("cancelled", 1_050, "stop"), 1_050, "stop", "cancels it"),
        (LEVEL, outcome("completed", 1_050, "level"), 1_050, "stop", "would cancel it"),
        (LEVEL, outcome("completed", 1_050, "level"), 1_060, "stop", "it had ended"),
        (LEVEL, outcome("expired", 1_100, "deadline"), 1_101, "stop", "too late, by 1 ms"),
        (ALIVE, outcome("expired", 1_100, "deadline"), 1_000, "beat", "keeps it alive"),
        (ALIVE, outcome("expired", 1_100, "deadline"), 1_102, "beat", "too late, by 2 ms"),
        (EACH, outcome("expired", 1_100, "deadline"), 1_040, "open", "opens another one"),
        (FIRST, outcome("expired", 1_100, "deadline"), 1_040, "open", "opens nothing: only the first does"),
        (FIRST, outcome("expired", 1_100, "deadline"), 990, "done", "too early, by 10 ms"),
    ],
)
def test_each_event_is_told_its_part(rule: Rule, ended: Outcome, at: int, kind: str, said: str) -> None:
    assert note(rule, ended, at, kind) == said
