"""`sojourn stream`, from the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pandas
import pyarrow.dataset as ds
import pytest
from pyspark.sql.pandas.utils import require_minimum_pandas_version

from cli.command import sojourn
from sojourn.cli.spark.session import spark_session
from sojourn.cli.stream import run
from sojourn.cli.stream.screen import size_text
from sojourn.cli.stream.status import row_texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULE = """
[rule]
name = "fine-paid"
opens = "Notified"
until = "Payment"
within = "60 days"
[columns]
key = "case_id"
kind = "activity"
at = "timestamp"
"""
HEAD = "case_id,activity,timestamp\n"
EVENTS = f"""\
{HEAD}A1,Notified,2007-01-15
A1,Payment,2007-02-01
A2,Notified,2007-01-20
A3,Notified,2007-06-01
,Payment,2007-06-01
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "rule.toml").write_text(RULE)
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "1.csv").write_text(EVENTS)
    return tmp_path


def test_a_folder_of_files_becomes_a_folder_of_outcomes_and_the_checkpoint_knows_what_is_pending(
    spark: SparkSession, place: Path
) -> None:
    source, rule, sink, checkpoint = (
        f"file:{place}/events",
        place / "rule.toml",
        f"parquet:{place}/out",
        place / "state",
    )
    where = ("--from", source, "--rule", rule, "--to", sink, "--checkpoint", checkpoint)
    ended = sojourn("stream", *where, "--late", "1 day", "--shards", "2", "--available-now")
    assert ended.code == 0
    assert "pending 1 · completed 1 · expired 1 · cancelled 0 · set aside 1" in ended.err
    outcomes = ds.dataset(place / "out" / "outcomes", partitioning="hive").to_table()
    told = dict(zip(outcomes["operation_id"].to_pylist(), outcomes["outcome"].to_pylist(), strict=True))
    assert told == {"fine-paid/A1/1168819200000": "completed", "fine-paid/A2/1169251200000": "expired"}
    found = json.loads(sojourn("stream", "status", checkpoint, "--json").out)
    assert (found["pending"], found["opened_at"], found["watermark"]) == (1, 1180656000000, 1180569599999)
    text = sojourn("stream", "status", checkpoint).out
    assert "pending      1\n" in text
    assert "oldest       opened 2007-06-01 00:00:00 UTC" in text
    assert sojourn("stream", "status", checkpoint, "--out", place / "pending").code == 2


def test_several_rules_share_a_checkpoint_and_one_is_removed_as_it_is_said(spark: SparkSession, place: Path) -> None:
    (place / "other.toml").write_text(RULE.replace("fine-paid", "soon").replace("60 days", "900 days"))
    rules = ("--rule", place / "rule.toml", "--rule", place / "other.toml")
    rest = ("--from", f"file:{place}/events", "--to", f"parquet:{place}/out", "--checkpoint", place / "state")
    options = (*rest, "--late", "1 day", "--shards", "2", "--available-now", "--remember", "90 days")
    ended = sojourn("stream", *rules, *options)
    assert (ended.code, "pending 3 · completed 2 · expired 1 · cancelled 0" in ended.err) == (0, True)
    found = json.loads(sojourn("stream", "status", place / "state", "--json").out)
    assert [(rule["name"], rule["pending"], rule["since"]) for rule in found["rules"]] == [
        ("fine-paid", 1, None),
        ("soon", 2, None),
    ]
    assert "900 days: 2 pending" in sojourn("stream", "status", place / "state").out
    (place / "events" / "2.csv").write_text(f"{HEAD}A3,Payment,2007-06-03\nA9,Notified,2008-01-01\n")
    ended = sojourn("stream", *rules[:2], *options)
    assert (ended.code, "has also rule 'soon'; give it too" in ended.err) == (3, True)
    ended = sojourn("stream", *rules[:2], *options, "--removed", "cancel")
    assert (ended.code, "pending 1 · completed 1 · expired 0 · cancelled 2" in ended.err) == (0, True)
    outcomes = ds.dataset(place / "out" / "outcomes", partitioning="hive").to_table().to_pylist()
    cancelled = {row["operation_id"]: row["decided_by"] for row in outcomes if row["outcome"] == "cancelled"}
    assert cancelled == {"soon/A2/1169251200000": "removal", "soon/A3/1180656000000": "removal"}


def test_a_checkpoint_gives_the_rows_that_a_replay_as_of_its_watermark_calls_pending(
    spark: SparkSession, place: Path
) -> None:
    (place / "events" / "2.csv").write_text(f"{HEAD}A4,Notified,2007-06-10\nA5,Notified,2007-06-09\n")
    where = ("--from", f"file:{place}/events", "--rule", place / "rule.toml", "--to", f"parquet:{place}/out")
    checkpoint = place / "state"
    options = ("--late", "1 day", "--shards", "2", "--available-now")
    assert sojourn("stream", *where, "--checkpoint", checkpoint, *options).code == 0
    found = json.loads(sojourn("stream", "status", checkpoint, "--pending", "--json").out)
    replayed = place / "replayed"
    rule = ("--rule", place / "rule.toml", "--engine", "local", "--as-of", found["as_of"])
    assert sojourn("replay", place / "events", *rule, "--unit", "ms", "--out", replayed).code == 0
    rows = ds.dataset(replayed).to_table().to_pylist()
    pending = {row["operation_id"]: row["waited_ms"] for row in rows if row["outcome"] == "pending"}
    assert {row["operation_id"]: row["waited_ms"] for row in found["rows"]} == pending
    assert len(pending) == 1  # A4 and A5 were opened after the watermark
    text = sojourn("stream", "status", checkpoint, "--pending", "--out", place / "pending").out
    assert text.endswith("\n2 operations not listed: opened after the watermark, and listed once it is past them\n")
    assert "A3/1180656000000: due 2007-07-31 00:00:00 UTC, pending for 7d23h59m59s999ms, 52d1ms left, missing" in text
    assert ds.dataset(place / "pending").to_table().num_rows == 1
    assert sojourn("stream", "status", checkpoint, "--pending", "--out", place / "pending").code == 3


def test_operations_come_from_a_stream_of_their_own(spark: SparkSession, place: Path) -> None:
    asked = place / "asked"
    asked.mkdir()
    (asked / "1.json").write_text(
        '{"operation_id": "one", "keys": ["A1", "A2"], "opened_at": "2007-01-20", "within": "60 days"}\n'
        '{"operation_id": "two", "keys": ["A2"], "opened_at": "2007-01-20", "within": "30 days"}\n'
        '{"operation_id": "far", "keys": ["A9"], "opened_at": "2007-06-01", "within": "30 days"}\n'
    )
    where = ("--from", f"file:{place}/events", "--rule", place / "rule.toml", "--to", f"parquet:{place}/out")
    options = (*where, "--checkpoint", place / "state", "--late", "1 day", "--shards", "2", "--available-now")
    columns = "operation_id string, keys array<string>, opened_at string, within string"
    given = ("--operations", f"file:{asked}", "--operations-schema", columns)
    ended = sojourn("stream", *options, *given)
    assert (ended.code, "pending 1 · completed 1 · expired 1 · cancelled 0" in ended.err) == (0, True), ended.err
    rows = ds.dataset(place / "out" / "outcomes", partitioning="hive").to_table().to_pylist()
    assert {row["operation_id"]: row["outcome"] for row in rows} == {"one": "completed", "two": "expired"}
    (place / "events" / "2.csv").write_text(f"{HEAD}A9,Payment,2007-06-02\nA9,Notified,2008-01-01\n")
    (asked / "2.json").write_text('{"operation_id": "end", "keys": ["A1"], "opened_at": "2008-01-01"}\n')
    ended = sojourn("stream", *options, *given)
    assert (ended.code, "completed 1 · expired 0" in ended.err, "pending" in ended.err) == (0, True, False), ended.err
    ended = sojourn("stream", *options)
    assert (ended.code, "operations" in ended.err) == (3, True)


def test_operations_do_not_come_from_the_clock_and_only_they_have_their_columns(
    spark: SparkSession, place: Path
) -> None:
    rest = ("--from", f"file:{place}/events", "--rule", place / "rule.toml", "--checkpoint", place / "state")
    ended = sojourn("stream", *rest, "--operations", "rate:5")
    assert ended.code == 3
    assert "source 'rate:5' is not known; there are file:FOLDER, delta:FOLDER, iceberg" in ended.err
    assert sojourn("stream", *rest, "--operations-schema", "key string").code == 2


def test_ctrl_c_stops_after_the_micro_batch_and_the_next_run_goes_on(spark: SparkSession, place: Path) -> None:
    where = ("--from", f"file:{place}/events", "--rule", place / "rule.toml", "--to", f"parquet:{place}/out")
    options = (*where, "--checkpoint", place / "state", "--late", "1 day", "--shards", "2")
    process = subprocess.Popen(
        [sys.executable, "-m", "sojourn", "stream", *map(str, options)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for _ in range(1200):  # two minutes
        if process.poll() is not None or (place / "state" / "commits" / "1").exists():
            break
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    _, said = process.communicate(timeout=120)
    assert (process.returncode, "Traceback" in said) == (0, False)
    assert "stopping after this micro-batch" in said
    batches = [{int(file.name) for file in (place / "state" / log).glob("[0-9]*")} for log in ("offsets", "commits")]
    assert batches[0] == batches[1] >= {0, 1}
    (place / "events" / "2.csv").write_text(
        "case_id,activity,timestamp\nA3,Payment,2007-06-02\nA9,Notified,2008-01-01\n"
    )
    assert sojourn("stream", *options, "--available-now").code == 0
    outcomes = ds.dataset(place / "out" / "outcomes", partitioning="hive").to_table()
    assert sorted(outcomes["outcome"].to_pylist()) == ["completed", "completed", "expired"]


@pytest.mark.parametrize("missing", ["--from", "--rule", "--checkpoint"])
def test_what_a_stream_cannot_do_without_is_asked_for(place: Path, missing: str) -> None:
    given = {"--from": "file:x", "--rule": place / "rule.toml", "--checkpoint": "x"}
    ended = sojourn("stream", *(part for name, value in given.items() if name != missing for part in (name, value)))
    assert ended.code == 2
    assert missing in ended.err


def test_sources_and_sinks_that_are_not_known_are_refused(spark: SparkSession, place: Path) -> None:
    rest = ("--rule", place / "rule.toml", "--checkpoint", place / "state")
    ended = sojourn("stream", "--from", "ftp:x", *rest)
    assert (ended.code, ended.err) == (
        3,
        "error: source 'ftp:x' is not known; there are file:FOLDER, delta:FOLDER, iceberg:CATALOG.DATABASE.TABLE, "
        "kafka:HOST:PORT/TOPIC and rate:ROWS_PER_SECOND\n",
    )
    ended = sojourn("stream", "--from", f"file:{place}/events", "--to", "void:x", *rest)
    assert ended.code == 3
    assert "sink 'void:x' is not known; there are parquet:FOLDER, delta:FOLDER" in ended.err


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--to", "parquet:events/"), 2, "'events/' is read here, and the outcomes 'events/' would go into it; name"),
        (("--to", "parquet:link/out"), 2, "'events/' is read here, and the outcomes 'link/out' would go into it"),
        (("--to", "delta:events"), 2, "and the outcomes 'events' would go into it"),
        (("--checkpoint", "events/"), 2, "'events/' is read here, and the checkpoint 'events/' would go into it"),
        (("--from", "file:out/outcomes/", "--to", "parquet:out"), 2, "'out/outcomes/' is read here, and the outcomes"),
        (("--from", "file:./*", "--to", "parquet:out"), 2, "'./*' is read here, and the checkpoint 'state' would"),
        (("--operations", "file:asked", "--to", "parquet:asked"), 2, "'asked' is read here, and the outcomes 'asked'"),
        (("--late", "1 hourz"), 3, "error: --late: duration '1 hourz': 'hourz' is not a unit; allowed are"),
        (("--remember", "1 hourz"), 3, "error: --remember: duration '1 hourz': 'hourz' is not a unit; allowed are"),
        (("--to", "void:x"), 3, "error: sink 'void:x' is not known; there are parquet:FOLDER, delta:FOLDER"),
        (("--to", "parquet:"), 3, "error: sink 'parquet:' is not known"),
        (("--to", "console:x"), 3, "error: sink 'console:x' is not known"),
    ],
)
def test_what_cannot_be_is_refused_before_spark_is_started(
    place: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], code: int, said: str
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.delattr(run, "spark_session")
    (place / "link").symlink_to("events")
    before = sorted(place.rglob("*"))
    given = {"--from": "file:events/", "--rule": "rule.toml", "--to": "console", "--checkpoint": "state"}
    given |= dict(zip(options[::2], options[1::2], strict=True))
    ended = sojourn("stream", *(part for pair in given.items() for part in pair))
    assert (ended.code, said in ended.err) == (code, True), ended.err
    assert sorted(place.rglob("*")) == before


def test_the_columns_of_a_stream_are_those_of_its_files(spark: SparkSession, place: Path) -> None:
    where = ("--from", f"file:{place}/events", "--rule", place / "rule.toml", "--checkpoint", place / "state")
    ended = sojourn("stream", *where, "--key", "nokey")
    assert ended.err.endswith("It has: case_id, activity, timestamp\n")


def test_what_pyspark_thinks_of_pandas_is_not_shown_and_other_warnings_are(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pandas, "__version__", "3.0.0")
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with spark_session(None, {}, is_quiet=True):
            require_minimum_pandas_version()
            warnings.warn("another", FutureWarning, stacklevel=1)
    assert [str(warning.message) for warning in shown] == ["another"]


def test_a_folder_that_is_no_checkpoint_has_no_status(spark: SparkSession, place: Path) -> None:
    ended = sojourn("stream", "status", place)
    assert ended.code == 3
    assert "is not the checkpoint of a Sojourn stream: there is no sojourn.json in it" in ended.err


def test_where_all_that_is_pending_is_listed_nothing_more_is_said_and_where_none_is_the_reason_is() -> None:
    assert row_texts([], 0, 0) == []
    assert row_texts([], 30, 29) == ["", "... 30 more; --json or --out DIR gives all"]
    said = "1 operation not listed: opened after the watermark, and listed once it is past them"
    assert row_texts([], 0, 1) == ["", said]


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2.5e9, "2.5 GB")])
def test_sizes_are_told_in_the_unit_that_fits(size: float, text: str) -> None:
    assert size_text(size) == text
