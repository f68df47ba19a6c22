"""`--summary`, `--json` and the screen: counts of each rule, group and what-if, in the form that is documented."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from cli.command import Ended, sojourn
from replay.logs import write_rule
from sojourn.pipeline.results.summary import by_frequency
from sojourn.pipeline.results.summary import summary as counts_of

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "summary.md"


pytestmark = pytest.mark.usefixtures("orders_here")


def replay(*arguments: object) -> Ended:
    ended = sojourn("replay", "orders.parquet", "--rule", "paid.toml", "--engine", "local", *arguments)
    assert ended.code == 0, ended.err
    return ended


def summary(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(replay("--json", *arguments).out)
    return found


def counts(
    opened: int, completed: int, met_late: int, never_met: int, cancelled: int = 0, pending: int = 0
) -> dict[str, int]:
    ended = {"completed": completed, "expired": met_late + never_met, "cancelled": cancelled, "pending": pending}
    return {"opened": opened, **ended, "met_late": met_late, "never_met": never_met}


def test_groups_are_counted_without_a_report() -> None:
    assert summary("--by", "region")["rules"][0]["groups"] == [
        {"group": "north", **counts(2, 2, 0, 0)},
        {"group": "south", **counts(2, 0, 1, 1)},
        {"group": None, **counts(1, 0, 0, 1)},
    ]


def test_other_deadlines_are_counted_in_the_order_of_their_length() -> None:
    found = summary("--what-if", "+38 days,100 days,30 days")["rules"][0]["what_if"]
    shares = [[round(tried.pop(name), 3) for name in ("share", "share_low", "share_high")] for tried in found]
    assert found == [
        {"deadline": "30 days", "within_ms": 30 * 86_400_000, **counts(5, 1, 2, 2), "unknown": 0},
        {"deadline": "100 days", "within_ms": 100 * 86_400_000, **counts(5, 3, 0, 0, pending=2), "unknown": 0},
        {"deadline": "+38 days", "shift_ms": 38 * 86_400_000, **counts(5, 3, 0, 0, pending=2), "unknown": 0},
    ]
    assert shares == [[0.2, 0.031, 0.796], [1, 0.118, 1], [1, 0.118, 1]]


def test_a_log_that_is_complete_leaves_nothing_pending() -> None:
    found = summary("--what-if", "100 days", "--as-of", "complete")
    assert found["as_of"] == "complete"
    tried = found["rules"][0]["what_if"][0]
    assert (tried["never_met"], tried["pending"], tried["share"]) == (2, 0, 0.6)


def test_what_is_pending_when_the_log_ends_is_counted_apart_and_shown() -> None:
    found = summary("--as-of", "1970-02-15")
    assert {name: found[name] for name in counts(0, 0, 0, 0)} == counts(5, 1, 0, 0, pending=4)
    assert found["as_of"] == "1970-02-15T00:00:00.000Z"
    shown = [line.split() for line in replay("--as-of", "1970-02-15").out.splitlines() if line]
    assert shown[1:] == [["opened", "5"], ["completed", "1", "20.0%"], ["pending", "4", "80.0%"]]


def test_each_rule_has_its_counts_and_the_totals_are_their_sums(tmp_path: Path) -> None:
    write_rule(tmp_path, file="kept.toml", name="kept", until="", cancels="withdrawn")
    found = summary("--rule", "kept.toml")
    assert [rule["rule"] for rule in found["rules"]] == ["paid", "kept"]
    for name in counts(0, 0, 0, 0):
        assert found[name] == sum(rule[name] for rule in found["rules"])
    assert found["cancelled"] == 1


def test_rows_that_were_set_aside_are_counted_by_reason() -> None:
    rows = {"order": [None, None, "a"], "event": ["ordered"] * 3, "at": ["2020-01-01", "2020-01-01", "soon"]}
    parquet.write_table(pa.table(rows), "orders.parquet")
    found = summary()
    assert found["quarantined"] == 3
    assert found["reasons"][0] == {"reason": "no key", "rows": 2}
    assert sum(entry["rows"] for entry in found["reasons"]) == 3


def test_reasons_that_are_equally_frequent_are_in_the_same_order_whoever_counted_them() -> None:
    counted = {"b": 1, "c": 2, "a": 1}
    orders = [counted, dict(reversed(counted.items()))]
    assert [by_frequency(Counter(order)) for order in orders] == [[("c", 2), ("a", 1), ("b", 1)]] * 2
    said = [[entry["reason"] for entry in counts_of({}, Counter(order), "local")["reasons"]] for order in orders]
    assert said == [["c", "a", "b"]] * 2


def test_groups_are_shown_on_the_screen_the_largest_first() -> None:
    shown = [line.split() for line in replay("--by", "region").out.splitlines() if line]
    assert shown[-4:] == [
        ["region", "opened", "completed"],
        ["north", "2", "2", "100%"],
        ["south", "2", "0", "0%"],
        ["(none)", "1", "0", "0%"],
    ]


def test_of_many_groups_the_screen_shows_some_and_says_how_many_more() -> None:
    many = {"order": [f"{i}" for i in range(20)], "event": ["ordered"] * 20, "at": ["2020-01-01"] * 20}
    parquet.write_table(pa.table({**many, "region": [f"[red]{i:02}" for i in range(20)]}), "orders.parquet")
    shown = replay("--by", "region").out.splitlines()
    assert [line.split()[0] for line in shown if "[red]" in line] == [f"[red]{i:02}" for i in range(12)]
    assert "  8 more" in [line.rstrip() for line in shown]


def test_every_field_is_documented_and_nothing_else() -> None:
    """The tables of the page, by the heading above each, name the fields in their order."""
    rows = {"order": [None, "a"], "event": ["ordered"] * 2, "at": ["2020-01-01"] * 2, "region": ["x", "y"]}
    parquet.write_table(pa.table(rows), "orders.parquet")
    found = summary("--what-if", "1 day,+1 day", "--by", "region")
    rule = found["rules"][0]
    assert documented("All rules together") == list(found)
    assert documented("Each rule") == list(rule)
    assert documented("Each group") == list(rule["groups"][0])
    assert documented("Each other deadline") == list({**rule["what_if"][0], **rule["what_if"][1]})
    assert documented("Each reason") == list(found["reasons"][0])


def documented(heading: str) -> list[str]:
    text = DOCS.read_text().partition(f"## {heading}")[2].partition("\n## ")[0]
    return [name for line in re.findall(r"^\| (`.+?) \|", text, re.MULTILINE) for name in re.findall(r"`(\w+)`", line)]
