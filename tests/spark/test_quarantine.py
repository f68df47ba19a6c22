"""Rows that cannot be used: set aside with a reason, the same by both engines; nothing crashes, nothing disappears."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sojourn import ConfigError
from sojourn.pipeline import batch, local
from sojourn.rules import Rule, column, reached, seen, total, until_column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAN, INF = float("nan"), float("inf")
MEGABYTE = "k" * 2**20

PAID = Rule("paid", "open", total("pay", at_least=10), column("allowed"), cancels="stop")
DUE = Rule("due", "open", reached("level", at_least=3, by=2), until_column("due"), per="each")
SEEN = Rule("seen", "open", seen("ack", times=2, distinct="source"), "1 h", per="each")
RULES = [PAID, DUE, SEEN]

EVENTS = pa.schema(
    [
        ("key", pa.string()),
        ("kind", pa.string()),
        ("at", pa.string()),
        ("source", pa.float64()),
        ("value", pa.float64()),
        ("allowed", pa.string()),
        ("due", pa.string()),
    ]
)
GOOD: dict[str, Any] = {
    "key": "k",
    "kind": "open",
    "at": "2007-01-05T10:00:00Z",
    "source": 1.0,
    "value": 1.0,
    "allowed": "1 h",
    "due": "2007-01-06",
}
UNREADABLE = (
    "time cannot be read; allowed are timestamps, ISO 8601 texts, epoch numbers, "
    "and with the unit yyyymmdd dates such as 20240131"
)

SPOILT: list[tuple[dict[str, Any], set[tuple[str | None, str]]]] = [
    ({"key": None}, {(None, "no key")}),
    ({"kind": None}, {(None, "no kind")}),
    ({"at": None}, {(None, "no time")}),
    ({"key": None, "kind": None, "at": "x"}, {(None, "no key")}),
    ({"kind": None, "at": "x"}, {(None, "no kind")}),
    ({"at": "yesterday"}, {(None, UNREADABLE)}),
    ({"at": "8999999999999999999"}, {(None, UNREADABLE)}),
    ({"at": "20240131"}, {(None, UNREADABLE)}),
    ({"source": 1.5}, {(None, "source is neither a text nor a whole number")}),
    ({"source": NAN}, {(None, "source is neither a text nor a whole number")}),
    ({"source": None}, set()),
    ({"kind": "of no concern", "value": NAN, "allowed": None}, set()),
    ({"kind": "of no concern", "key": None}, {(None, "no key")}),
    ({"kind": "pay", "value": None}, {("paid", "no value on 'pay'")}),
    ({"kind": "pay", "value": NAN}, {("paid", "value of 'pay' is not a number")}),
    ({"kind": "pay", "value": -1.0}, {("paid", "value of 'pay' cannot be added up; allowed are finite numbers >= 0")}),
    ({"kind": "pay", "value": INF}, {("paid", "value of 'pay' cannot be added up; allowed are finite numbers >= 0")}),
    ({"kind": "level", "value": None}, {("due", "no value on 'level'")}),
    ({"kind": "level", "value": NAN}, {("due", "value of 'level' is not a number")}),
    ({"kind": "level", "value": INF}, set()),
    ({"kind": "level", "value": -INF}, set()),
    ({"allowed": None}, {("paid", "no allowed on 'open'; the deadline stands in that column")}),
    ({"allowed": "soon"}, {("paid", "allowed of 'open' is no duration")}),
    ({"allowed": "-1 h"}, {("paid", "allowed of 'open' is a negative duration")}),
    ({"allowed": "9999999999999 weeks"}, {("paid", "allowed of 'open' is too far")}),
    ({"due": None}, {("due", "no due on 'open'; the deadline stands in that column")}),
    ({"due": "soon"}, {("due", "due of 'open' is no time")}),
    (
        {"due": "soon", "allowed": "soon"},
        {("due", "due of 'open' is no time"), ("paid", "allowed of 'open' is no duration")},
    ),
    ({"key": MEGABYTE}, set()),
    ({"key": ""}, set()),
    ({"at": "9999-12-31T23:59:59.999Z"}, set()),
    ({"at": "1948-05-01"}, set()),
]


def table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([{**GOOD, **row} for row in rows], EVENTS)


def reasons(aside: pa.Table) -> Counter[tuple[str | None, str]]:
    return Counter(zip(aside["rule"].to_pylist(), aside["reason"].to_pylist(), strict=True))


@pytest.mark.parametrize(("row", "expected"), SPOILT, ids=lambda part: str(part)[:60])
def test_a_row_that_cannot_be_used_is_set_aside_with_the_reason(
    row: dict[str, Any], expected: set[tuple[str | None, str]]
) -> None:
    aside = local.outcomes(table(row, {}), RULES).quarantine
    assert reasons(aside) == Counter(expected)
    for text in aside["row"].to_pylist():
        assert json.loads(text)["kind"] == {**GOOD, **row}["kind"]


def test_spark_sets_every_such_row_aside_for_the_same_reason(spark: SparkSession) -> None:
    rows = table(*(row for row, _ in SPOILT))
    events = spark.createDataFrame(rows)
    aside = batch.quarantined(events, RULES).toArrow()
    expected = Counter(entry for _, reasons in SPOILT for entry in reasons)
    assert reasons(aside) == expected
    assert reasons(local.outcomes(rows, RULES).quarantine) == expected
    assert {json.loads(text)["kind"] for text in aside["row"].to_pylist()} <= {None, *rows["kind"].to_pylist()}


def fuzzed(random: Random, size: int) -> pa.Table:
    """Rows in which anything may be anything."""
    choices: dict[str, list[Any]] = {
        "key": ["a", "b", "c", "", None, "a/b", "é\u0000"],
        "kind": ["open", "open", "pay", "level", "ack", "stop", "", None, "other"],
        "at": [*(f"2007-01-05T10:0{i}:00" for i in range(6)), "9999-12-31", "0001-01-01", "x", None, "1e5"],
        "source": [1.0, 2.0, 0.0, -1.0, None, NAN, 1.5, INF, 1e300],
        "value": [0.0, 1.0, 5.0, 0.1, None, NAN, INF, -INF, -1.0, 1e308, 5e-324],
        "allowed": ["1 min", "0 ms", "3 weeks", "x", None, "-1 s", "1.5 h"],
        "due": ["2007-01-05T10:03:00", "1948-01-01", "9999-12-31T23:59:59", None, "x", "-5"],
    }
    rows = [{name: random.choice(options) for name, options in choices.items()} for _ in range(size)]
    for row in rows[:3]:
        row["key"] = MEGABYTE
    return pa.Table.from_pylist(rows, EVENTS)


def test_whatever_is_in_the_rows_both_engines_agree_and_the_counts_add_up(spark: SparkSession) -> None:
    rows = fuzzed(Random(7), 400)
    here = local.outcomes(rows, RULES)
    events = spark.createDataFrame(rows).repartition(3)
    there = batch.outcomes(events, RULES).toArrow()
    assert Counter(map(str, comparable(here.outcomes))) == Counter(map(str, comparable(there)))
    assert reasons(batch.quarantined(events, RULES).toArrow()) == reasons(here.quarantine)
    for rule in RULES:
        opened = pc.sum(pc.equal(here.outcomes["rule"], rule.name)).as_py() or 0
        openings = [row for row in rows.to_pylist() if row["kind"] == rule.opens and is_usable(row, rule)]
        assert opened == (len(openings) if rule.per == "each" else len({row["key"] for row in openings}))
        assert opened > 0


def is_usable(row: dict[str, Any], rule: Rule) -> bool:
    alone = local.outcomes(pa.Table.from_pylist([row], EVENTS), rule)
    assert alone.outcomes.num_rows + alone.quarantine.num_rows == 1
    return bool(alone.outcomes.num_rows)


def comparable(outcomes: pa.Table) -> list[dict[str, Any]]:
    return outcomes.cast(pa.schema([pa.field(f.name, f.type) for f in local.S.OUTCOMES])).to_pylist()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"key": "case"}, "the log has no column 'case' for key"),
        ({"at": "when"}, "the log has no column 'when' for at"),
        ({"source": "who"}, "the log has no column 'who' for source"),
        ({"value": "how much"}, "the log has no column 'how much' for value"),
        ({"unit": "m"}, "unit='m' is not known; allowed are auto, s, ms, us, ns, yyyymmdd"),
    ],
)
def test_a_column_that_is_not_there_is_named_with_those_that_are(
    spark: SparkSession, columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        local.outcomes(table({}), RULES, **columns)
    with pytest.raises(ConfigError, match=message):
        batch.outcomes(spark.createDataFrame(table({})), RULES, **columns)


def test_rules_must_agree_about_columns_and_have_names_of_their_own() -> None:
    one = Rule("one", "open", "a", within=1, columns={"key": "case"})
    two = Rule("two", "open", "a", within=1, columns={"key": "order"})
    with pytest.raises(ConfigError, match="the column key is called 'case' by rule 'one', 'order' by rule 'two'"):
        local.outcomes(table({}), [one, two])
    with pytest.raises(ConfigError, match="2 rules are called 'one'"):
        local.outcomes(table({}), [one, one])
    with pytest.raises(ConfigError, match="no rule is given"):
        local.outcomes(table({}), [])


def test_a_deadline_that_no_timestamp_can_hold_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"rule 'far': within .* gives deadlines that no timestamp can hold"):
        local.outcomes(table({}), Rule("far", "open", "a", within=2**62 - 1))
