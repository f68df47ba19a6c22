"""`sojourn verify`, `inspect`, `backup`, `compact` and `report`, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sojourn as sj
from cli.command import sojourn
from sojourn.testing import ManualClock

RULE = sj.Rule("shipped", opens="order", until=sj.all_of("paid", "packed"), within="30 min")
WALL_MS = 1_700_000_000_000


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a hub that had three orders: one shipped, one too late, one pending."""
    monkeypatch.chdir(tmp_path)
    clock = ManualClock(wall_ms=WALL_MS)
    with sj.Hub("orders", data="data", clock=clock) as hub:
        hub.register(RULE)
        hub.wait("a", rule="shipped", id="req-a")
        hub.wait("b", rule="shipped")
        hub.signal("a", "paid")
        hub.signal("b", "paid")
        clock.advance(60_000)
        hub.signal("a", "packed")
        clock.advance(30 * 60_000)
        hub.signal("b", "packed")
        hub.wait("c", rule="shipped")
    return Path("data")


def damage() -> None:
    segment = Path("data/log-00000001.sj")
    found = segment.read_bytes()
    segment.write_bytes(found.replace(b'"req-a"', b'"req-x"', 1))


def test_verify_says_how_many_came_out_again() -> None:
    ended = sojourn("verify", "data")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "2 of 2 outcomes told came out again, at their times (in this process)",
        "1 wait pending as of 2023-11-14 22:44:20 UTC",
    ]
    verified = json.loads(sojourn("verify", "data", "--json").out)
    assert (verified["checked"], verified["different"], verified["pending"]) == (2, 0, 1)


def test_verify_shows_what_differs_and_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    from sojourn.durable.dataset import history  # noqa: PLC0415

    monkeypatch.setattr(history, "_shared", lambda signals: history.EVENTS.empty_table())
    ended = sojourn("verify", "data")
    assert ended.code == 1
    assert (
        "req-a: outcome 1, told at 2023-11-14 22:14:20: completed at 2023-11-14 22:14:20 UTC; by the law: expired"
        in (ended.out)
    )
    assert ended.err == "error: 1 outcome did not come out as told\n"


@pytest.mark.java
def test_verify_runs_on_spark(spark: object) -> None:
    ended = sojourn("verify", "data", "--engine", "both")
    assert (ended.code, ended.err) == (0, "")
    assert "2 of 2 outcomes told came out again, at their times (in this process and on Spark)" in ended.out


def test_inspect_describes_a_folder() -> None:
    ended = sojourn("inspect", "data")
    assert ended.code == 0
    lines = dict(
        line.split(maxsplit=1) for line in ended.out.splitlines() if not line.startswith(("next", "last", "data"))
    )
    assert lines["segments"].startswith("1, 1 to 1, ")
    assert lines["records"] == "1 start, 1 rule, 3 wait, 4 signal, 2 told, 1 close"
    assert lines["pending"] == "1 (1 shipped)"
    found = json.loads(sojourn("inspect", "data", "--json").out)
    assert (found["standing"]["pending"], found["damages"], found["is_owned"]) == (1, [], False)


def test_inspect_finds_damage_and_repairs_it_elsewhere() -> None:
    damage()
    ended = sojourn("inspect", "data")
    assert ended.code == 1
    assert "damage       log-00000001.sj is damaged at offset" in ended.out
    assert "sojourn inspect --repair data --to NEW" in ended.err
    assert sojourn("verify", "data").code == 3
    mended = sojourn("inspect", "--repair", "data", "--to", "mended")
    assert mended.code == 0
    assert "lost: waits 1 to 1" in mended.out
    assert mended.out.endswith("mended: 1 wait pending\n")
    assert sojourn("inspect", "mended").code == sojourn("verify", "mended").code == 0
    again = sojourn("inspect", "--repair", "data", "--to", "mended")
    assert (again.code, again.err) == (3, "error: 'mended' is there already; name a folder that is not\n")


def test_repair_needs_a_place() -> None:
    assert sojourn("inspect", "--repair", "data").code == 2
    assert sojourn("inspect", "data", "--to", "mended").code == 2


def test_a_folder_of_a_newer_format_is_refused_with_both_versions() -> None:
    segment = Path("data/log-00000001.sj")
    segment.write_bytes(segment.read_bytes().replace(b"SOJOURN LOG 1\n", b"SOJOURN LOG 7\n"))
    for command in ("verify", "inspect", "compact"):
        ended = sojourn(command, "data")
        assert ended.code == 3
        assert "has format 7, and this Sojourn reads up to format 1" in ended.err


@pytest.mark.parametrize("command", ["verify", "inspect", "compact", "report"])
def test_what_is_no_data_folder_is_refused(command: str) -> None:
    Path("empty").mkdir()
    for folder, said in (("empty", "is no data folder"), ("nowhere", "there is no folder 'nowhere'")):
        ended = sojourn(command, folder)
        assert ended.code == 3
        assert said in ended.err


def test_backup_copies_a_folder() -> None:
    ended = sojourn("backup", "data", "copy")
    assert ended.code == 0
    assert ended.out.startswith("copy: 1 file, ")
    assert "1 wait pending, 2 outcomes told" in ended.out
    assert sojourn("verify", "copy").code == 0
    assert sojourn("backup", "data", "copy").code == 3


def test_compact_makes_parquet_of_all_that_is_sealed() -> None:
    ended = sojourn("compact", "data")
    assert (ended.code, ended.out) == (0, "1 segment converted to Parquet, 0 segments removed from the log\n")
    assert [path.name for path in Path("data/events").iterdir()] == ["day=2023-11-14"]
    assert sojourn("verify", "data").code == 0
    with sj.Hub("orders", data="data", max_step="9999 days"):
        beside = sojourn("compact", "data")
    assert beside.code == 0
    assert "what is not sealed is left for later: data folder 'data' is owned by hub 'orders'" in beside.out


def test_report_draws_a_hub_s_own_history() -> None:
    ended = sojourn("report", "data", "--what-if", "1 h", "--summary", "summary.json")
    assert ended.code == 0
    assert "shipped: from the first order, until paid and packed, within 30 min" in ended.out
    counts = json.loads(Path("summary.json").read_text())
    assert (counts["opened"], counts["completed"], counts["expired"], counts["pending"]) == (3, 1, 1, 1)
    assert counts["met_late"] == 1
    assert counts["rules"][0]["what_if"][0]["completed"] == 2
    assert "shipped" in Path("report.html").read_text()


def test_a_data_folder_is_replayed_under_its_own_rules_or_under_others() -> None:
    own = json.loads(sojourn("replay", "data", "--engine", "local", "--json").out)
    assert (own["completed"], own["pending"]) == (1, 1)
    Path("other.toml").write_text(sj.Rule("packed", opens="order", until="packed", within="1 h").to_toml())
    other = json.loads(sojourn("replay", "data", "--rule", "other.toml", "--engine", "local", "--json").out)
    assert (other["opened"], other["completed"], other["pending"]) == (3, 2, 1)


def test_recommend_says_which_deadline_a_hub_s_own_waits_would_take() -> None:
    ended = sojourn("recommend", "data", "--engine", "local", "--share", "0.5", "--json")
    assert ended.code == 0
    (found,) = json.loads(ended.out)["rules"]
    assert (found["rule"], found["within_ms"]) == ("shipped", 60_000)
    said = sojourn("recommend", "data", "--engine", "local", "--share", "0.5")
    assert "the deadline would have to be 1 min" in said.out
    Path("other.toml").write_text(sj.Rule("packed", opens="order", until="packed", within="1 h").to_toml())
    other = sojourn("recommend", "data", "--rule", "other.toml", "--engine", "local", "--json")
    assert json.loads(other.out)["rules"][0]["rule"] == "packed"


@pytest.mark.parametrize("command", ["replay", "recommend"])
def test_replaying_anything_else_needs_a_rule(command: str) -> None:
    Path("log.csv").write_text("key,kind,at\na,order,2024-01-01\n")
    ended = sojourn(command, "log.csv", "--engine", "local")
    assert ended.code == 2
    assert "only the data folder of a hub has rules of its own" in " ".join(ended.err.replace("│", "").split())


def test_how_a_data_folder_is_read_cannot_be_said() -> None:
    ended = sojourn("replay", "data", "--engine", "local", "--format", "csv")
    assert ended.code == 3
    assert "a data folder says itself how it is read" in ended.err


def test_explain_goes_through_the_events_of_a_wait() -> None:
    ended = sojourn("explain", "data", "req-a")
    assert ended.code == 0
    assert ended.out.startswith("req-a: completed by packed at 2023-11-14 22:14:20 UTC after 1 min")


def test_explain_names_the_folder_where_nobody_is_there() -> None:
    for rule in ((), ("--rule", "shipped.toml")):
        Path("shipped.toml").write_text(RULE.to_toml())
        ended = sojourn("explain", "data", "nobody", *rule)
        assert "error: 'data' has no operation and no key 'nobody'; its keys are " in ended.err


def test_a_bad_duration_names_its_option() -> None:
    for command, option in (("compact", "--keep"), ("report", "--what-if")):
        ended = sojourn(command, "data", option, "7 dayz")
        assert (ended.code, ended.err.startswith(f"error: {option}: duration '7 dayz': 'dayz' is not a unit")) == (
            3,
            True,
        )
