"""`sojourn replay`, in this process: what it writes, prints and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from cli.command import Ended, sojourn
from replay.logs import DAY, order_events, orders, write_rule
from replay.page import parsed, section, table
from sojourn.pipeline import local_replay
from sojourn.pipeline.results.compare import differences

TOTALS = {
    "opened": 5,
    "completed": 2,
    "expired": 3,
    "cancelled": 0,
    "pending": 0,
    "met_late": 1,
    "never_met": 2,
    "quarantined": 0,
    "as_of": "1970-04-11T00:00:00.000Z",
    "engine": "local",
}
OF_THE_LOG = ("quarantined", "as_of", "engine")
PAID = {"rule": "paid", **{name: count for name, count in TOTALS.items() if name not in OF_THE_LOG}}
IN_JANUARY_1970 = (
    "rule 'paid': ALL 5 OPERATIONS OPEN IN JANUARY 1970, the last at 1970-01-05 00:00:00 UTC. "
    "Numbers there may be in another unit: name it with --unit s, ms, us, ns or yyyymmdd"
)
SUMMARY = {
    **TOTALS,
    "schema": 1,
    "by": None,
    "rules": [{**PAID, "groups": [], "what_if": []}],
    "reasons": [],
    "warnings": [IN_JANUARY_1970],
}


pytestmark = pytest.mark.usefixtures("orders_here")


def replay(*arguments: object, events: str = "orders.parquet", rule: str = "paid.toml") -> Ended:
    return sojourn("replay", events, "--rule", rule, "--engine", "local", *arguments)


def refused(*arguments: object, code: int = 3, **given: str) -> str:
    """What it says when it fails: one line, no traceback."""
    ended = replay(*arguments, **given)
    assert ended.code == code
    assert "Traceback" not in ended.err
    return ended.err.strip().splitlines()[-1]


def test_the_outcomes_are_written_as_the_law_has_them() -> None:
    assert replay("--out", "outcomes").code == 0
    written = parquet.read_table("outcomes")
    assert differences(written, orders(), 5) == (0, [])
    assert written.column_names == orders().column_names
    assert len(parquet.read_table("outcomes-quarantine")) == 0


def test_the_summary_is_as_documented() -> None:
    replay("--summary", "deep/summary.json")
    found = json.loads(Path("deep/summary.json").read_text())
    phases = found.pop("phases")
    assert found == SUMMARY
    assert list(found) == list(SUMMARY)
    assert {"start", "read", "decide", "count"} <= phases.keys()
    assert all(seconds >= 0 for seconds in phases.values())


def test_json_prints_the_summary_and_nothing_else() -> None:
    ended = replay("--json", "--out", "outcomes")
    found = json.loads(ended.out)
    assert found.pop("phases")
    assert (found, ended.err) == (SUMMARY, "")


def test_the_counts_are_printed_and_so_is_what_was_written() -> None:
    ended = replay("--what-if", "30 days,100 days,+38 days", "--summary", "s.json", "--report", "r.html")
    assert [line.split() for line in ended.out.splitlines() if line] == [
        ["paid:", "from", "the", "first", "ordered,", "until", "paid,", "within", "60", "days"],
        ["opened", "5"],
        ["completed", "2", "40.0%"],
        ["met", "late", "1", "20.0%"],
        ["never", "met", "2", "40.0%"],
        ["if", "30", "days", "1", "20.0%"],
        ["if", "100", "days", "3", "100%", "11.8%", "to", "100%,", "2", "pending"],  # those were seen for 97 days
        ["if", "+38", "days", "3", "100%", "11.8%", "to", "100%,", "2", "pending"],
        ["summary", "s.json"],
        ["report", "r.html"],
    ]


def test_without_a_terminal_progress_is_plain_lines_on_stderr() -> None:
    assert replay("--out", "outcomes").err.splitlines() == [
        "replaying orders.parquet in this process",
        f"warning: {IN_JANUARY_1970}",
    ]


def test_the_report_counts_by_the_column_named() -> None:
    replay("--report", "report.html", "--by", "region", "--what-if", "30 days")
    page = parsed(Path("report.html").read_text("utf-8"))
    assert table(section(page, "By region")) == [
        ["(none)", "", "0%", "not reached", "not reached", "not reached", "1"],
        ["south", "", "0%", "98 days", "98 days", "98 days", "2"],
        ["north", "", "100%", "10 days", "60 days", "60 days", "2"],
    ]
    assert table(section(page, "What if the deadline were different"))[0][:2] == ["30 days", "1"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "xes"])
def test_every_format_gives_the_same_outcomes(ending: str) -> None:
    rows = order_events().set_column(2, "at", order_events()["at"].cast(pa.string())).to_pylist()
    if ending == "csv":
        text = "".join(",".join(value or "" for value in row.values()) + "\n" for row in rows)
        Path("orders.csv").write_text("order,event,at,region\n" + text)
    elif ending == "jsonl":
        Path("orders.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        events = (
            f'<trace><string key="concept:name" value="{row["order"]}"/><event>'
            f'<string key="concept:name" value="{row["event"]}"/><date key="time:timestamp" value="{row["at"]}"/>'
            "</event></trace>"
            for row in rows
        )
        Path("orders.xes").write_text(f"<log>{''.join(events)}</log>")
        Path("paid.toml").write_text('[rule]\nname = "paid"\nopens = "ordered"\nuntil = "paid"\nwithin = "60 days"\n')
    assert replay("--out", "outcomes", events=f"orders.{ending}").code == 0
    assert differences(parquet.read_table("outcomes"), orders(), 5) == (0, [])


def test_columns_may_be_named_on_the_command_line() -> None:
    Path("paid.toml").write_text('[rule]\nname = "paid"\nopens = "ordered"\nuntil = "paid"\nwithin = "60 days"\n')
    assert replay("--key", "order", "--kind", "event", "--at", "at", "--out", "outcomes").code == 0
    assert differences(parquet.read_table("outcomes"), orders(), 5) == (0, [])


def test_bare_numbers_are_what_the_unit_says() -> None:
    days = [0, 2, 9]
    events = {"order": ["a"] * 3, "event": ["ordered", "x", "paid"], "at": [day * 86_400 for day in days]}
    parquet.write_table(pa.table(events), "orders.parquet")
    for unit, waited_ms in (("auto", 9 * DAY), ("s", 9 * DAY), ("ms", 9 * 86_400)):
        replay("--unit", unit, "--out", "outcomes")
        assert parquet.read_table("outcomes")["waited_ms"].to_pylist() == [waited_ms]


def test_several_rules_are_replayed_in_one_go(tmp_path: Path) -> None:
    write_rule(tmp_path, file="kept.toml", name="kept", until="", cancels="withdrawn")
    ended = replay("--rule", "kept.toml", "--json", "--report", "report.html")
    found = json.loads(ended.out)
    assert (found["opened"], found["completed"], found["cancelled"], found["expired"]) == (10, 2, 1, 7)
    assert [h.text for h in parsed(Path("report.html").read_text("utf-8")).all("h1")] == ["paid", "kept"]


def test_a_table_of_operations_opens_them_instead() -> None:
    operations = {
        "operation_id": ["first", "second"],
        "keys": [["a"], ["c"]],
        "opened_at": pa.array([0, 0]).cast(pa.timestamp("ms", "UTC")),
        "team": ["red", "blue"],
    }
    parquet.write_table(pa.table(operations), "operations.parquet")
    ended = replay("--operations", "operations.parquet", "--out", "outcomes", "--by", "team", "--report", "r.html")
    assert ended.code == 0, ended.err
    rows = parquet.read_table("outcomes").to_pylist()
    assert {row["operation_id"]: row["outcome"] for row in rows} == {"first": "completed", "second": "expired"}
    page = parsed(Path("r.html").read_text("utf-8"))
    assert [row[0] for row in table(section(page, "By team"))] == ["blue", "red"]


def bad_orders() -> None:
    """A log in which one row has no key, and one line is no row."""
    Path("orders.csv").write_text("order,event,at\na,ordered,2020-01-01\n,paid,2020-01-02\na\na,paid,2020-01-03\n")


def test_rows_that_cannot_be_used_are_counted_and_written_with_their_reason() -> None:
    bad_orders()
    ended = replay("--out", "outcomes", "--summary", "s.json", "--report", "r.html", events="orders.csv")
    assert ended.code == 0
    assert "warning: 2 rows set aside: no key (1); the line does not have as many fields as the header (1)" in ended.err
    assert sorted(parquet.read_table("outcomes-quarantine")["reason"].to_pylist()) == [
        "no key",
        "the line does not have as many fields as the header",
    ]
    assert json.loads(Path("s.json").read_text())["quarantined"] == 2
    assert len(table(section(parsed(Path("r.html").read_text("utf-8")), "Set aside"))) == 2


def test_strict_fails_instead_and_writes_nothing() -> None:
    bad_orders()
    said = refused("--strict", "--out", "outcomes", "--summary", "s.json", events="orders.csv", code=4)
    assert said.startswith("error: --strict: 2 rows set aside: ")
    assert not Path("outcomes").exists()
    assert not Path("s.json").exists()
    assert replay("--strict").code == 0


def test_replaying_again_replaces_what_was_written() -> None:
    replay("--out", "outcomes")
    assert replay("--out", "outcomes").code == 0
    assert len(parquet.read_table("outcomes")) == 5


def test_what_no_replay_wrote_is_not_written_over() -> None:
    Path("papers").mkdir()
    Path("papers/notes.txt").write_text("mine")
    assert "'papers' has 'notes.txt' in it, which no replay wrote" in refused("--out", "papers")
    assert "'papers/notes.txt' is a file; name a folder" in refused("--out", "papers/notes.txt")
    Path("events").mkdir()
    Path("events/part-00000.parquet").write_bytes(Path("orders.parquet").read_bytes())
    assert "'events' has 'part-00000.parquet' in it" in refused("--out", "events")
    Path("outcomes-quarantine").mkdir()
    Path("outcomes-quarantine/patient.txt").write_text("mine")
    assert "'outcomes-quarantine' has 'patient.txt' in it" in refused("--out", "outcomes")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--key", "orders"), "'orders.parquet' has no column 'orders' for key"),
        (("--key", "orders"), "It has: order, event, at, region; did you mean 'order'?"),
        (
            ("--by", "regoin"),
            "has no column 'regoin' for --by. It has: order, event, at, region; did you mean 'region'",
        ),
        (("--what-if", "30 dyas"), "error: --what-if: duration '30 dyas': 'dyas' is not a unit"),
        (("--what-if", "+30 dyas"), "error: --what-if: duration '30 dyas': 'dyas' is not a unit"),
        (("--option", "sep=;"), "option sep is for Spark"),
        (("--format", "avro"), "format 'avro' needs Spark"),
        (("--operations", "nothing.parquet"), "there is no 'nothing.parquet'"),
    ],
)
def test_what_does_not_fit_the_log_is_refused_with_what_would(arguments: tuple[str, ...], message: str) -> None:
    assert message in refused(*arguments)


def test_a_log_that_is_not_there_is_refused_with_the_nearest() -> None:
    assert refused(events="order.parquet") == "error: there is no 'order.parquet'; did you mean 'orders.parquet'?"


def test_a_rule_under_which_nothing_opens_is_warned_of_with_the_kinds_of_the_log(tmp_path: Path) -> None:
    write_rule(tmp_path, opens="orderd")
    warning = (
        "rule 'paid': nothing opens. The log has no event of kind 'orderd'. "
        "Its kinds are 'ordered' (5), 'paid' (3), 'withdrawn' (1); did you mean 'ordered'?"
    )
    ended = replay("--summary", "s.json")
    assert (ended.code, ended.err.splitlines()[-1]) == (0, f"warning: {warning}")
    assert json.loads(Path("s.json").read_text())["warnings"] == [warning]
    assert refused("--strict", code=4) == f"error: --strict: {warning}"


def test_a_rule_under_which_nothing_usable_opens_points_to_the_quarantine() -> None:
    Path("orders.csv").write_text("order,event,at\na,ordered,yesterday\n")
    said = "No event of kind 'ordered' can be used, of 1: each is in the quarantine"
    assert said in replay(events="orders.csv").err


def test_a_log_that_is_said_to_end_before_anything_opens_says_so() -> None:
    said = "comes after 1960-01-01 00:00:00 UTC, where it was said to end, or is in the quarantine"
    assert said in replay("--as-of", "1960-01-01").err


def test_an_end_that_is_no_time_is_refused_with_all_that_is_allowed() -> None:
    assert refused("--as-of", "yesterday") == (
        "error: --as-of 'yesterday' is not a time; allowed are ISO 8601 (2024-03-31T12:00:00Z), an epoch number, "
        "'log', 'complete'"
    )


def test_an_empty_day_is_a_day() -> None:
    """A log without events, and one rule of two that opens nothing: all outputs are written, and count nothing."""
    parquet.write_table(order_events().slice(0, 0), "orders.parquet")
    written = ("--out", "outcomes", "--summary", "s.json", "--report", "r.html", "--by", "region")
    ended = replay(*written, "--what-if", "30 days,+1 day")
    assert ended.code == 0, ended.err
    assert "warning: rule 'paid': nothing opens. The log has no events that can be used" in ended.err
    assert len(parquet.read_table("outcomes")) == 0
    found = json.loads(Path("s.json").read_text())
    assert (found["opened"], found["rules"][0]["opened"]) == (0, 0)
    assert [entry["opened"] for entry in found["rules"][0]["what_if"]] == [0, 0]
    assert "in which nothing opened" in Path("r.html").read_text("utf-8")


def test_an_idle_rule_beside_one_that_opens_is_counted_and_drawn(tmp_path: Path) -> None:
    write_rule(tmp_path, file="refused.toml", name="refused", opens="refused")
    ended = replay("--rule", "refused.toml", "--summary", "s.json", "--report", "r.html")
    assert ended.code == 0, ended.err
    rules = json.loads(Path("s.json").read_text())["rules"]
    assert [(rule["rule"], rule["opened"]) for rule in rules] == [("paid", 5), ("refused", 0)]
    assert [h.text for h in parsed(Path("r.html").read_text("utf-8")).all("h1")] == ["paid", "refused"]


def test_a_table_of_no_operations_is_an_empty_day_too() -> None:
    no_rows = {"operation_id": pa.array([], pa.string()), "key": pa.array([], pa.string())}
    parquet.write_table(pa.table({**no_rows, "opened_at": pa.array([], pa.timestamp("ms"))}), "operations.parquet")
    ended = replay("--operations", "operations.parquet", "--report", "r.html", "--json")
    assert (ended.code, json.loads(ended.out)["opened"]) == (0, 0)


def test_a_rule_that_awaits_what_never_comes_is_warned_of(tmp_path: Path) -> None:
    write_rule(tmp_path, until="payed")
    ended = replay()
    assert ended.code == 0
    assert "warning: rule 'paid': nothing completes. The log has no event of kind 'payed'." in ended.err
    assert "did you mean 'paid'?" in ended.err


def test_a_rule_that_cannot_be_read_names_file_and_line(tmp_path: Path) -> None:
    write_rule(tmp_path, within="60 dyas")
    assert "paid.toml, line 5: rule 'paid': within: duration '60 dyas': 'dyas' is not a unit" in refused()
    assert "there is no 'missing.toml'; name a rule file, in TOML" in refused(rule="missing.toml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("replay",), "Missing argument 'EVENTS'"),
        (("replay", "orders.parquet"), "Invalid value for --rule: is missing"),
        (("replay", "x", "--rule", "y", "--engine", "flink"), "'flink' is not one of"),
        (("replay", "x", "--rule", "y", "--option", "sep"), "'sep' is not NAME=VALUE"),
        (("replay", "x", "--rule", "y", "--conf", "=1"), "'=1' is not NAME=VALUE"),
        (("relpay",), "No such command 'relpay'"),
    ],
)
def test_a_command_line_that_cannot_be_understood_is_refused(arguments: tuple[str, ...], message: str) -> None:
    ended = sojourn(*arguments)
    assert ended.code == 2
    assert message in " ".join(ended.err.replace("│", " ").split())


def test_an_unexpected_error_is_one_line_and_with_debug_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero\nand more")

    monkeypatch.setattr(local_replay, "decide_opened", broken)
    assert refused(code=70) == "error: ZeroDivisionError: by zero (--debug shows where)"
    ended = sojourn("--debug", "replay", "orders.parquet", "--rule", "paid.toml", "--engine", "local")
    assert (ended.code, ended.err.splitlines()[1]) == (70, "Traceback (most recent call last):")
    assert ended.err.splitlines()[-1] == "error: ZeroDivisionError: by zero (--debug shows where)"
    assert refused(code=70).endswith("(--debug shows where)")


def test_of_a_workers_traceback_the_last_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("from the worker:\nTraceback (most recent call last):\n  File\nKeyError: 'x'\n")

    monkeypatch.setattr(local_replay, "decide_opened", broken)
    assert refused(code=70) == "error: RuntimeError: KeyError: 'x' (--debug shows where)"


def test_an_interruption_is_not_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(local_replay, "decide_opened", interrupted)
    assert refused(code=130) == "interrupted"
