"""`sojourn recommend`: the deadline it takes, how sure that is, and that there may be none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from cli.command import Ended, sojourn
from replay.logs import DAY, write_rule

pytestmark = pytest.mark.usefixtures("orders_here")


def recommend(*arguments: object, engine: str = "local") -> Ended:
    ended = sojourn("recommend", "orders.parquet", "--rule", "paid.toml", "--engine", engine, *arguments)
    assert ended.code == 0, ended.err
    return ended


def told(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(recommend("--json", *arguments).out)
    return found


def test_the_deadline_is_said_with_its_interval_and_what_the_present_one_does() -> None:
    assert recommend("--share", "0.4").out.splitlines() == [
        "",
        "paid: from the first ordered, until paid, within 60 days",
        "  for 40% to complete, the deadline would have to be 60 days (10 days to no known end, with 95 % confidence); "
        "as it is, 40.0% complete",
    ]


def test_a_share_that_is_not_reached_has_no_deadline_and_the_most_that_is_known_is_said() -> None:
    assert recommend("--as-of", "complete").out.splitlines()[-1].strip() == (
        "no deadline is known under which 95% complete: 60.0% do under any deadline"
    )
    assert recommend("--as-of", "1970-03-20").out.splitlines()[-1].strip() == (
        "no deadline is known under which 95% complete: 40.0% do under 76 days, the longest seen"
    )


def test_each_group_has_a_deadline_of_its_own_the_largest_first() -> None:
    shown = [line.split() for line in recommend("--share", "0.5", "--by", "region").out.splitlines() if line]
    assert shown[2:] == [
        ["region", "deadline", "from", "to", "opened", "completed"],
        ["north", "10", "days", "10", "days", "not", "reached", "2", "100%"],
        ["south", "98", "days", "98", "days", "not", "reached", "2", "0%"],
        ["(none)", "not", "reached", "not", "reached", "not", "reached", "1", "0%"],
    ]


def test_in_json_durations_are_exact() -> None:
    found = told("--share", "0.4", "--by", "region")
    assert {name: found[name] for name in ("share", "as_of", "engine", "schema", "by", "warnings")} == {
        "share": 0.4,
        "as_of": "1970-04-11T00:00:00.000Z",
        "engine": "local",
        "schema": 1,
        "by": "region",
        "warnings": found["warnings"],
    }
    [rule] = found["rules"]
    assert [group["group"] for group in rule.pop("groups")] == ["north", "south", None]
    assert rule == {
        "rule": "paid",
        "opened": 5,
        "deadline": "60 days",
        "within_ms": 60 * DAY,
        "earliest_within_ms": 10 * DAY,
        "latest_within_ms": None,
        "completed": 0.4,
        "most": 1,
        "longest_within_ms": 98 * DAY,
    }


def test_where_each_has_a_deadline_of_its_own_it_is_moved(tmp_path: Path) -> None:
    hours = [1, 2, 3, 4]
    rows = [("a", "open", 0, hour * 3_600_000, i) for i, hour in enumerate(hours)]
    rows += [("b", "close", 2 * 3_600_000, None, i) for i in range(4)]
    _, kinds, times, allowed, keys = zip(*rows, strict=True)
    log = {"order": [str(key) for key in keys], "event": kinds, "allowed": pa.array(allowed, pa.int64())}
    at = pa.array(times, pa.int64()).cast(pa.timestamp("ms", "UTC"))
    parquet.write_table(pa.table({**log, "at": at}), tmp_path / "orders.parquet")
    text = '[rule]\nname = "r"\nopens = "open"\nuntil = "close"\nwithin = { column = "allowed" }\n'
    write_rule(tmp_path, text + '[columns]\nkey = "order"\nkind = "event"\n')
    assert "would have to be as it is (" in recommend("--share", "0.75").out
    assert "would have to be 1 h later (" in recommend("--share", "1").out
    assert "would have to be 1 h earlier (" in recommend("--share", "0.5").out
    assert told("--share", "0.5")["rules"][0]["shift_ms"] == -3_600_000


def test_a_rule_under_which_nothing_opens_is_warned_of(tmp_path: Path) -> None:
    write_rule(tmp_path, opens="order")
    ended = recommend()
    assert "nothing opens" in ended.err
    assert "0% do under any deadline" in ended.out


@pytest.mark.parametrize("share", ["0", "-0.5", "1.01", "95", "nan"])
def test_what_is_no_share_is_refused(share: str) -> None:
    ended = sojourn("recommend", "orders.parquet", "--rule", "paid.toml", "--share", share)
    assert ended.code == 2
    assert "not above 0 and at most 1" in " ".join(ended.err.split())


def test_a_column_that_is_not_there_is_refused() -> None:
    ended = sojourn("recommend", "orders.parquet", "--rule", "paid.toml", "--engine", "local", "--by", "team")
    assert ended.code == 3
    assert "no column 'team' for --by" in ended.err


@pytest.mark.java
def test_on_spark_it_says_the_same() -> None:
    arguments = ("--share", "0.4", "--by", "region", "--json")
    local, spark = (json.loads(recommend(*arguments, engine=engine).out) for engine in ("local", "spark"))
    assert {**spark, "engine": "local"} == local
