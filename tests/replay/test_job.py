"""Which columns a job reads: what the command says, else the rule, else the format, else our own word."""

from __future__ import annotations

from sojourn import Rule
from sojourn.pipeline.files.source import Source
from sojourn.pipeline.replay import Job

PLAIN = Rule("plain", opens="a", until="b", within="1 s")
NAMED = Rule("named", opens="a", until="b", within="1 s", columns={"kind": "lifecycle:transition"})


def columns(format: str, rule: Rule, **given: str) -> dict[str, str]:
    return dict(Job(Source("log", format), (rule,), given).plan.columns)


def test_a_column_is_called_by_our_word_if_nobody_says_otherwise() -> None:
    assert columns("csv", PLAIN) == {"key": "key", "kind": "kind", "at": "at"}


def test_xes_has_names_of_its_own() -> None:
    assert columns("xes", PLAIN) == {"key": "case:concept:name", "kind": "concept:name", "at": "time:timestamp"}


def test_the_rule_has_its_say_over_the_format_and_the_command_over_both() -> None:
    assert columns("xes", NAMED)["kind"] == "lifecycle:transition"
    assert columns("xes", NAMED)["key"] == "case:concept:name"
    assert columns("xes", NAMED, kind="activity", key="id")["kind"] == "activity"
    assert columns("xes", NAMED, kind="activity", key="id")["key"] == "id"
