"""`sojourn explain` says why, from an outcome table or event by event from a log."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from pyarrow import parquet

from cli.command import sojourn
from replay.logs import DAY, orders, write_orders, write_rule
from rules.strategies import MANY, logs, openings, rules
from sojourn import Event, Rule, all_of, n_of, reached, seen, total
from sojourn.pipeline.results.explain import note
from sojourn.rules.law import case_of
from sojourn.rules.operation import opened

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
        {"at": 0, "kind": "ordered", "source": None, "value": None, "note": "opens it"},
        {"at": 10 * DAY, "kind": "paid", "source": None, "value": None, "note": "counts, and completes it"},
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
        "ack (a): does not count: its source has been counted",
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
        ("paid/a/7", "'paid/a/7' has events, but they open no operation of that key or id"),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, who: str, message: str) -> None:
    ended = sojourn("explain", write_orders(tmp_path), who, "--rule", write_rule(tmp_path), *COLUMNS)
    assert (ended.code, ended.out) == (3, "")
    assert message in ended.err


def test_of_the_keys_that_are_there_none_is_missing_and_none_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("order,event,at\n1,ordered,2007-01-20\n,ordered,2007-01-20\n2,paid,2007-01-20\n")
    ended = sojourn("explain", tmp_path / "log.csv", "99", "--rule", write_rule(tmp_path))
    assert ended.err.endswith("has no operation and no key '99'; its keys are '1', '2'\n")


def test_what_is_not_in_an_outcome_table_is_said(tmp_path: Path) -> None:
    parquet.write_table(orders(), tmp_path / "outcomes.parquet")
    ended = sojourn("explain", tmp_path / "outcomes.parquet", "z")
    assert ended.code == 3
    assert "has no operation and no key 'z'; its keys are 'a', 'b', 'c', ..." in ended.err


def test_an_event_log_without_a_rule_is_refused_with_the_way_out(tmp_path: Path) -> None:
    ended = sojourn("explain", write_orders(tmp_path), "a")
    assert ended.code == 3
    assert "an outcome table; if this is an event log, give --rule too" in ended.err


LEVEL = Rule("r", "open", reached("level", 10), within=100, cancels="stop")
ALIVE = Rule("r", "open", within=100, keeps_alive="beat", cancels="stop")
EACH = Rule("r", "open", "done", within=100, per="each")
FIRST = Rule("r", "open", "done", within=100, per="first")
SUM = Rule("r", "open", total("paid", at_least=417.05), within=100)
TWO = Rule("r", "open", n_of(2, seen("a", 2), "b", "c"), within=100)
BOTH = Rule("r", "open", all_of(seen("a", 2, "source"), total("a", at_least=5)), within=100)

Told = tuple[Any, ...]


def notes(rule: Rule, *events: Told) -> list[str]:
    """What is said of events (kind, at, source, value) of an operation that was opened at 1,000."""
    opening = Event("k", "open", 1_000)
    log = [Event("k", *event) for event in events]
    case = case_of(opened(rule, opening), [*log, opening])
    return [note(case, opening, event) for event in log]


@pytest.mark.parametrize(
    ("rule", "events", "said"),
    [
        (LEVEL, [("level", 900, "x", 10)], ["counts, being a level"]),
        (LEVEL, [("level", 900, "x", 3)], ["does not count: less than 10"]),
        (LEVEL, [("level", 1_050, "x", 3)], ["does not count: less than 10"]),
        (
            LEVEL,
            [("level", 1_050, "x", Decimal("9.99")), ("level", 1_060, "x", 12.5)],
            ["does not count: less than 10", "counts, and completes it"],
        ),
        (LEVEL, [("level", 1_101, "x", 12)], ["too late, by 1 ms"]),
        (LEVEL, [("stop", 1_050), ("level", 1_060, "x", 12)], ["cancels it", "it had ended"]),
        (LEVEL, [("stop", 1_050), ("level", 1_050, "x", 12)], ["would cancel it", "counts, and completes it"]),
        (LEVEL, [("level", 1_050, "x", 12), ("stop", 1_060)], ["counts, and completes it", "it had ended"]),
        (LEVEL, [("stop", 1_101)], ["too late, by 1 ms"]),
        (LEVEL, [("stop", 999)], ["too early, by 1 ms"]),
        (
            ALIVE,
            [("beat", 1_000), ("beat", 1_100), ("beat", 1_203)],
            ["keeps it alive", "keeps it alive", "too late, by 3 ms"],
        ),
        (ALIVE, [("beat", 1_010), ("stop", 1_020), ("beat", 1_030)], ["keeps it alive", "cancels it", "it had ended"]),
        (EACH, [("open", 1_040)], ["opens another one"]),
        (FIRST, [("open", 1_040)], ["opens nothing: only the first does"]),
        (FIRST, [("done", 990)], ["too early, by 10 ms"]),
        (
            SUM,
            [("paid", 1_001, None, Decimal("82.72")), ("paid", 1_002, None, Decimal("334.33"))],
            ["counts", "counts, and completes it"],
        ),
        (
            TWO,
            [("a", 1_001), ("a", 1_002), ("a", 1_003), ("c", 1_004)],
            ["counts", "counts", "not needed any more", "counts, and completes it"],
        ),
        (
            BOTH,
            [("a", 1_001, "x", 4), ("a", 1_002, "x", 1), ("a", 1_003, "y", 1)],
            [
                "counts",
                "does not count: its source has been counted (2 a from distinct sources), counts (5 value in a)",
                "counts, and completes it (2 a from distinct sources), not needed any more (5 value in a)",
            ],
        ),
    ],
)
def test_each_event_is_told_its_part(rule: Rule, events: list[Told], said: list[str]) -> None:
    assert notes(rule, *events) == said


HAS_A_PART = ("counts", "cancel it", "cancels it", "keeps it alive")


@MANY
@given(rules, openings, logs)
def test_the_events_that_are_said_to_count_give_the_outcome_by_themselves(
    rule: Rule, opening: Event, log: list[Event]
) -> None:
    opening = opening._replace(kind=rule.opens)
    case = case_of(opened(rule, opening), [opening, *log])
    told = [event for event in [opening, *log] if any(part in note(case, opening, event) for part in HAS_A_PART)]
    again = case_of(case.operation, told).outcome
    assert again[:8] == case.outcome[:8]
    assert again[9:] == case.outcome[9:]


def test_numbers_are_shown_where_the_rule_reads_them(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(
        "key,kind,at,value\na,open,1970-01-01,\na,paid,1970-01-01,82.72\na,paid,1970-01-02,334.330\n"
    )
    rule = write_rule(
        tmp_path,
        "[rule]\nname = 'r'\nopens = 'open'\nwithin = '9 days'\nuntil = { total = 'paid', at_least = 417.05 }\n",
    )
    ended = sojourn("explain", tmp_path / "log.csv", "a", "--rule", rule)
    assert [line.split("UTC")[1].strip() for line in ended.out.splitlines()[1:]] == [
        "open: opens it",
        "paid 82.72: counts",
        "paid 334.33: counts, and completes it",
    ]


def test_a_row_that_was_set_aside_has_no_part(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("key,kind,at,value\na,open,1970-01-01,\na,paid,1970-01-01,much\n")
    rule = write_rule(
        tmp_path, "[rule]\nname = 'r'\nopens = 'open'\nwithin = '9 days'\nuntil = { total = 'paid', at_least = 1 }\n"
    )
    lines = sojourn("explain", tmp_path / "log.csv", "a", "--rule", rule).out.splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("  set aside, value of 'paid' is not a number")


def test_how_to_read_the_events_is_an_option(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("order;event;at\na;ordered;2007-01-20\na;paid;2007-01-21\n")
    options = ("--rule", write_rule(tmp_path), "--option", "delimiter=;")
    ended = sojourn("explain", tmp_path / "log.csv", "a", *options)
    assert ended.out.startswith("paid/a/1169251200000: completed by paid")


def test_operations_that_are_given_are_explained_by_the_events_of_all_their_keys(tmp_path: Path) -> None:
    table = pa.table({"operation_id": ["one", "two"], "keys": [["a", "b"], ["c"]], "opened_at": [0, 0]})
    parquet.write_table(table, tmp_path / "operations.parquet")
    log = pa.table({"key": list("abca"), "kind": ["ack"] * 4, "at": [1, 2, 3, 9]})
    parquet.write_table(log, tmp_path / "log.parquet")
    rule = write_rule(
        tmp_path,
        "[rule]\nname = 'r'\nopens = 'open'\nwithin = '5 ms'\nuntil = { seen = 'ack', times = 2 }\n",
    )
    asked = ("--rule", rule, "--operations", tmp_path / "operations.parquet", "--unit", "ms")
    ended = sojourn("explain", tmp_path / "log.parquet", "b", *asked)
    lines = ended.out.splitlines()
    assert lines[0].startswith("one: completed by ack at 1970-01-01 00:00:00.002 UTC")
    assert [line.rpartition("ack: ")[2] for line in lines[1:]] == ["counts", "counts, and completes it", "it had ended"]
    assert sojourn("explain", tmp_path / "log.parquet", "two", *asked).out.startswith("two: expired")
    ended = sojourn("explain", tmp_path / "log.parquet", "three", *asked)
    assert (ended.code, ended.out) == (3, "")
    assert "has no operation and no key 'three'" in ended.err
