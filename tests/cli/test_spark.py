"""`sojourn replay` on Spark: the same as without it."""

from __future__ import annotations

import errno
import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from cli.command import Ended, sojourn
from replay.logs import order_events, orders, write_rule
from replay.plain import plain
from sojourn import Rule, SourceError
from sojourn.pipeline.files.source import Source
from sojourn.pipeline.local_replay import LocalReplay
from sojourn.pipeline.replay import Job
from sojourn.pipeline.report import Report
from sojourn.pipeline.results.compare import differences
from sojourn.pipeline.results.deadlines import deadlines
from sojourn.pipeline.schema import QUARANTINE
from sojourn.pipeline.spark import source as spark_source
from sojourn.pipeline.spark.replay import SparkReplay

BAD = "order,event,at,region\na,ordered,2020-01-01,north\n,paid,2020-01-02,\na\na,paid,2020-01-03,\nb,ordered,soon,\n"


pytestmark = pytest.mark.usefixtures("orders_here", "spark")


def replay(*arguments: object, events: str = "orders.parquet", engine: str = "spark") -> Ended:
    return sojourn("replay", events, "--rule", "paid.toml", "--engine", engine, *arguments)


def test_everything_is_written_as_without_spark() -> None:
    options = ("--what-if", "30 days,+40 days", "--by", "region")
    written = ("--out", "spark/outcomes", "--summary", "spark/s.json", "--report", "spark/r.html")
    ended = replay(*options, *written)
    assert ended.code == 0, ended.err
    assert replay(*options, "--report", "local/r.html", "--json", engine="local").code == 0
    assert differences(parquet.read_table("spark/outcomes"), orders(), 5) == (0, [])
    assert len(parquet.read_table("spark/outcomes-quarantine")) == 0
    summary = json.loads(Path("spark/s.json").read_text())
    assert (summary["opened"], summary["expired"], summary["engine"]) == (5, 3, "spark")
    pages = [Path(folder, "r.html").read_text("utf-8").replace("(spark)", "(local)") for folder in ("spark", "local")]
    assert pages[0] == pages[1]


def test_where_the_engines_differ_the_first_differences_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = orders().slice(1)
    monkeypatch.setattr(SparkReplay, "outcomes", lacking)
    ended = replay("--out", "outcomes", engine="both")
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "paid/a/0:",
        "  local: completed by paid at 1970-01-11 00:00:00 UTC after 10 days",
        "  spark: not there",
    ]
    assert ended.err.splitlines()[-1] == "error: the engines differ in 1 row"
    assert not Path("outcomes").exists()


def test_where_the_engines_set_aside_different_rows_they_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkReplay, "quarantined", Counter({"no key": 1}))
    ended = replay(engine="both")
    assert ended.code == 1
    assert "the engines set aside different rows" in ended.err


def test_rows_and_lines_that_cannot_be_used_are_set_aside_alike() -> None:
    Path("orders.csv").write_text(BAD)
    ended = replay("--out", "outcomes", events="orders.csv", engine="both")
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[0] == "identical: 1 outcome"
    reasons = Counter(parquet.read_table("outcomes-quarantine")["reason"].to_pylist())
    assert (reasons.total(), len(reasons)) == (3, 3)


def test_strict_fails_before_anything_is_written() -> None:
    rows = order_events()
    parquet.write_table(rows.set_column(0, "order", [[None, *rows["order"].to_pylist()[1:]]]), "orders.parquet")
    ended = replay("--strict", "--out", "outcomes")
    assert (ended.code, ended.err.splitlines()[-1]) == (4, "error: --strict: 1 row set aside: no key (1)")
    assert not Path("outcomes").exists()


def test_rows_that_cannot_be_used_are_counted_in_passing(spark: SparkSession) -> None:
    job = Job(Source.of("orders.parquet"), (Rule.from_toml("paid.toml"),))
    clean = SparkReplay(job, spark)
    assert not clean._passed.is_clean()  # nothing has gone through the log yet, so nobody knows
    assert clean.tallies["paid"].counts.opened == 5
    assert clean._passed.is_clean()
    assert clean.quarantined == Counter()
    rows = order_events()
    parquet.write_table(rows.set_column(0, "order", [[None, *rows["order"].to_pylist()[1:]]]), "orders.parquet")
    dirty = SparkReplay(job, spark)
    dirty.write("outcomes", "quarantine")
    assert not dirty._passed.is_clean()
    assert dirty.quarantined == Counter({"no key": 1})
    assert len(parquet.read_table("outcomes")) == 4
    assert parquet.read_table("quarantine")["reason"].to_pylist() == ["no key"]


def test_where_no_row_is_set_aside_the_empty_quarantine_takes_no_job(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkReplay, "_written", lambda *rows_and_folder: pytest.fail("Spark has written"))
    SparkReplay(Job(Source.of("orders.parquet"), (Rule.from_toml("paid.toml"),)), spark).write("outcomes", "quarantine")
    aside = parquet.read_table("quarantine")
    assert (len(aside), aside.column_names) == (0, QUARANTINE.names)


def test_a_rule_under_which_nothing_opens_names_the_kinds_of_the_log(tmp_path: Path) -> None:
    write_rule(tmp_path, opens="orderd")
    ended = replay("--report", "r.html")
    assert ended.code == 0
    assert "Its kinds are 'ordered' (5), 'paid' (3), 'withdrawn' (1); did you mean 'ordered'?" in ended.err


@pytest.mark.parametrize("root", ["", "file://"])
def test_what_fails_at_the_end_leaves_earlier_outputs_as_they_are(
    root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a scheme the folders are moved by Spark's file systems, as on HDFS or in a bucket."""
    out = f"{root}{tmp_path}/x/outcomes"
    written = ("--out", out, "--summary", "s.json", "--report", "r.html")
    assert replay(*written).code == 0
    assert sorted(path.name for path in Path("x").iterdir()) == ["outcomes", "outcomes-quarantine"]
    before = {path: path.stat() for path in Path().rglob("*")}

    def full(*_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Report, "html", full)
        assert replay(*written).code == 3
    assert {path: path.stat().st_mtime_ns for path in Path().rglob("*") if path.is_file()} == {
        path: stat.st_mtime_ns for path, stat in before.items() if path.is_file()
    }
    assert set(Path().rglob("*")) == set(before)
    assert replay(*written).code == 0
    assert differences(parquet.read_table("x/outcomes"), orders(), 5) == (0, [])


def test_both_engines_write_where_only_spark_can(tmp_path: Path) -> None:
    ended = replay("--out", f"file://{tmp_path}/x", engine="both")
    assert ended.code == 0, ended.err
    assert differences(parquet.read_table("x"), orders(), 5) == (0, [])


def test_files_are_read_with_the_options_of_spark() -> None:
    Path("orders.txt").write_text("order;event;at\na;'ordered';2020-01-02\na;paid;2020-01-03\n")
    options = ("--format", "csv", "--option", "sep=;", "--option", "quote='")
    assert json.loads(replay(*options, "--json", events="orders.txt").out)["completed"] == 1


@pytest.mark.parametrize("ending", ["csv", "jsonl", "xes"])
def test_every_format_is_read_as_without_spark(spark: SparkSession, ending: str) -> None:
    rows = [{"k": "001", "t": "2020-01-01T00:00:00+02:00", "n": "7"}, {"k": "002", "t": "x", "n": None}]
    if ending == "csv":
        Path("log.csv").write_text("k,t,n\n" + "".join(",".join(v or "" for v in r.values()) + "\n" for r in rows))
    elif ending == "jsonl":
        Path("log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        attributes = ("".join(f'<string key="{k}" value="{v}"/>' for k, v in row.items() if v) for row in rows)
        Path("log.xes").write_text(f"<log><trace>{''.join(f'<event>{a}</event>' for a in attributes)}</trace></log>")
    source = Source.of(f"log.{ending}")
    events = spark_source.read(spark, source).events
    assert events.toArrow().to_pylist() == source.read().events.to_pylist() == rows


def test_times_in_nanoseconds_are_read(spark: SparkSession) -> None:
    times = pa.array([1_234_567_890_123_456_789, -1, None]).cast(pa.timestamp("ns"))
    parquet.write_table(pa.table({"at": times, "n": [1, 2, 3]}), "log.parquet")
    events = spark_source.read(spark, Source.of("log.parquet")).events
    micros = events.selectExpr("unix_micros(at) AS at", "n").toArrow().to_pylist()
    assert [(row["at"], row["n"]) for row in micros] == [(1_234_567_890_123_456, 1), (-1, 2), (None, 3)]


def test_what_spark_cannot_read_is_refused_in_a_line(spark: SparkSession) -> None:
    with pytest.raises(SourceError, match=r"'nothing' cannot be read as text: .*PATH_NOT_FOUND"):
        spark_source.read(spark, Source("nothing", "text"))
    Path("log.parquet").write_bytes(b"PAR1 this is no Parquet file")
    with pytest.raises(SourceError, match=r"'log.parquet' cannot be read as parquet: .*"):
        spark_source.read(spark, Source("log.parquet", "parquet"))


def same_tallies(job: Job, spark: SparkSession) -> list[str]:
    """The names of the rules, if both engines count the same."""
    on_spark, here = SparkReplay(job, spark).tallies, LocalReplay(job).tallies
    assert plain(on_spark) == plain(here)
    return list(here)


def test_tallies_and_groups_are_the_same_on_both(spark: SparkSession) -> None:
    cancelling = Rule("kept", opens="ordered", cancels="withdrawn", within="60 days", columns={"key": "order"})
    rules = (Rule.from_toml("paid.toml"), cancelling)
    job = Job(Source.of("orders.parquet"), rules, what_if=deadlines("1 day, +1 day"), by="region")
    assert same_tallies(job, spark) == ["paid", "kept"]


def test_the_groups_of_operations_of_their_own_are_the_same_on_both(spark: SparkSession) -> None:
    opened_at = pa.array([0, 0]).cast(pa.timestamp("ms", "UTC"))
    own = {"operation_id": ["x", "y"], "keys": [["a"], ["c", "b"]], "opened_at": opened_at, "team": ["red", "blue"]}
    parquet.write_table(pa.table(own), "operations.parquet")
    rules = (Rule.from_toml("paid.toml"),)
    job = Job(Source.of("orders.parquet"), rules, operations=Source.of("operations.parquet"), by="team")
    assert same_tallies(job, spark) == ["paid"]
