"""Numbers as times on the command line: in any unit, never silently in 1970, and with a warning where they are odd."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from cli.command import Ended, sojourn

DAY_S = 86_400
JANUARY_2024_S = 1_704_067_200
RULE = """[rule]
name = "paid"
opens = "sent"
until = "payment"
within = "60 days"
"""


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("paid.toml").write_text(RULE, "utf-8")


def replay(times: list[int], *arguments: object) -> Ended:
    """Of two cases, each with its bill and its payment."""
    events = pa.table({"key": ["a", "a", "b", "b"], "kind": ["sent", "payment"] * 2, "at": times})
    parquet.write_table(events, "log.parquet")
    return sojourn("replay", "log.parquet", "--rule", "paid.toml", "--engine", "local", *arguments)


def counts(ended: Ended) -> tuple[int, int, int]:
    assert ended.code == 0, ended.err
    summary = json.loads(ended.out)
    return summary["completed"], summary["expired"], summary["quarantined"]


@pytest.mark.parametrize("per_second", [1, 10**3, 10**6, 10**9])
@pytest.mark.parametrize("named", [True, False], ids=["named", "auto"])
def test_sixty_days_are_sixty_days_in_every_unit(per_second: int, named: bool) -> None:
    days = [0, 60 * DAY_S, 0, 60 * DAY_S + 1]
    unit = {1: "s", 10**3: "ms", 10**6: "us", 10**9: "ns"}[per_second]
    ended = replay(
        [(JANUARY_2024_S + day) * per_second for day in days], "--json", *(["--unit", unit] if named else [])
    )
    assert counts(ended) == (1, 1, 0)


def test_dates_in_digits_are_read_where_the_unit_says_so() -> None:
    assert counts(replay([20240101, 20240301, 20240101, 20240302], "--json", "--unit", "yyyymmdd")) == (1, 1, 0)


def test_dates_in_digits_are_set_aside_and_not_taken_for_1970() -> None:
    ended = replay([20240101, 20240301, 20240101, 20240302])
    assert "nothing opens" in ended.err
    assert "4 rows set aside" in ended.err
    strict = replay([20240101, 20240301, 20240101, 20240302], "--strict")
    assert strict.code == 4
    assert "with the unit yyyymmdd dates such as 20240131 (4)" in strict.err


@pytest.mark.parametrize(
    ("times", "unit", "when"),
    [
        ([45292, 45352, 45292, 45353], "auto", "JANUARY 1970"),
        ([JANUARY_2024_S] * 4, "ms", "JANUARY 1970"),
        ([JANUARY_2024_S * 1_000] * 4, "s", "AFTER THE YEAR 2200"),
    ],
    ids=["days of a spreadsheet", "seconds as milliseconds", "milliseconds as seconds"],
)
def test_a_log_that_lies_in_january_1970_or_beyond_2200_is_warned_about(times: list[int], unit: str, when: str) -> None:
    ended = replay(times, "--unit", unit)
    assert ended.code == 0
    assert f"warning: rule 'paid': ALL 2 OPERATIONS OPEN {'IN ' * ('1970' in when)}{when}" in ended.err
    assert "--unit s, ms, us, ns or yyyymmdd" in ended.err


@pytest.mark.parametrize("last", [31 * DAY_S, JANUARY_2024_S])
def test_a_log_that_lies_there_in_part_is_not(last: int) -> None:
    assert "ALL" not in replay([0, 0, last, last], "--unit", "s").err
    assert "ALL" not in replay([7_258_118_399, 0, 7_258_118_400, 0], "--unit", "s").err
    assert "ALL" in replay([0, last, 31 * DAY_S - 1, last], "--unit", "s").err
