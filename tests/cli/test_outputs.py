"""What `sojourn replay` writes: all of it or nothing, and nothing over what it did not write itself."""

from __future__ import annotations

import errno
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import parquet

from cli.command import Ended, sojourn
from sojourn import Hub, SourceError
from sojourn.cli.replay.outputs import Outputs
from sojourn.pipeline.files.drafts import Disk
from sojourn.pipeline.outlet import TableFile
from sojourn.pipeline.report import Report

WRITTEN = ("--out", "outcomes", "--summary", "s.json", "--report", "r.html")


pytestmark = pytest.mark.usefixtures("orders_here")


def replay(*arguments: object, events: str = "orders.parquet") -> Ended:
    return sojourn("replay", events, "--rule", "paid.toml", "--engine", "local", *arguments)


def files() -> dict[str, bytes]:
    """All that is here, hidden files too; empty folders with a slash."""
    here = sorted(Path().rglob("*"))
    empty = {f"{path}/": b"" for path in here if path.is_dir() and not any(path.iterdir())}
    return {**{str(path): path.read_bytes() for path in here if path.is_file()}, **empty}


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def half_a_table(file: TableFile, rows: object) -> None:
    Path(file._path).parent.mkdir(parents=True, exist_ok=True)
    Path(file._path).write_bytes(b"PAR1")
    full()


def half_a_file(path: Path, text: str, *_: object) -> None:
    path.write_bytes(text[:10].encode())
    full()


BREAK: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "outcomes": lambda patch: patch.setattr(TableFile, "write", half_a_table),
    "summary": lambda patch: patch.setattr(Path, "write_text", half_a_file),
    "report": lambda patch: patch.setattr(Report, "html", full),
    "move": lambda patch: patch.setattr(Disk, "rename", full),
}


def test_what_is_pending_is_written_without_an_end() -> None:
    assert replay("--as-of", "1970-01-21", "--out", "outcomes").code == 0
    rows = parquet.read_table("outcomes").to_pylist()
    ends = {row["key"]: (row["outcome"], row["at"], row["decided_by"]) for row in rows if row["key"] != "a"}
    assert ends == dict.fromkeys("bcde", ("pending", None, None))


@pytest.mark.parametrize("where", BREAK)
def test_on_a_full_disk_earlier_outputs_stay_as_they_are(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert replay(*WRITTEN).code == 0
    before = files()
    BREAK[where](monkeypatch)
    ended = replay(*WRITTEN)
    assert (ended.code, ended.err.splitlines()[-1]) == (3, "error: [Errno 28] No space left on device")
    assert files() == before


@pytest.mark.parametrize("where", BREAK)
def test_on_a_full_disk_nothing_is_left_where_nothing_was(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files()
    BREAK[where](monkeypatch)
    assert replay("--out", "deep/down/outcomes", "--summary", "also/s.json", "--report", "r.html").code == 3
    assert files() == before


def test_a_file_system_that_takes_no_more_is_told_in_a_line_and_nothing_is_lost() -> None:
    """Not a stand-in: the operating system itself refuses to let files grow."""
    assert replay(*WRITTEN).code == 0
    before = files()
    command = [sys.executable, "-m", "sojourn", "replay", "orders.parquet", "--rule", "paid.toml", "--engine", "local"]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))

    ended = subprocess.run([*command, *WRITTEN], capture_output=True, text=True, check=False, preexec_fn=limit)
    assert ended.returncode == 3
    assert "File too large" in ended.stderr.splitlines()[-1]
    assert files() == before


def test_a_replay_that_is_interrupted_or_refused_leaves_earlier_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert replay(*WRITTEN).code == 0
    before = files()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Report, "html", interrupted)
        assert replay(*WRITTEN).code == 130
    assert files() == before
    Path("paid.toml").write_text(Path("paid.toml").read_text().replace('"ordered"', '"orderd"'))
    before = files()
    assert replay("--strict", *WRITTEN).code == 4
    assert files() == before


def test_two_replays_side_by_side_have_a_quarantine_each() -> None:
    Path("odd.csv").write_text("order,event,at\n,ordered,2020-01-01\na,ordered,2020-01-01\n")
    assert replay("--out", "x/a", events="odd.csv").code == 0
    assert replay("--out", "x/b").code == 0
    assert parquet.read_table("x/a-quarantine")["reason"].to_pylist() == ["no key"]
    assert len(parquet.read_table("x/b-quarantine")) == 0
    assert len(parquet.read_table("x/a")) == 1


def test_the_quarantine_goes_where_it_is_sent_with_outcomes_or_without() -> None:
    assert replay("--out", "outcomes", "--quarantine", "aside/rows").code == 0
    assert len(parquet.read_table("aside/rows")) == 0
    assert not Path("outcomes-quarantine").exists()
    ended = replay("--quarantine", "alone")
    assert (ended.code, ended.out.splitlines()[-1].split()) == (0, ["quarantine", "alone"])
    assert parquet.read_table("alone").column_names == ["rule", "reason", "row"]


@pytest.mark.parametrize(
    ("out", "quarantine"),
    [
        ("x/a", "x/a-quarantine"),
        ("x/a/", "x/a-quarantine"),
        ("./x//a/.", "x/a-quarantine"),
        ("/data/a", "/data/a-quarantine"),
        ("s3a://logs/a/", "s3a://logs/a-quarantine"),
        ("hdfs:///a", "hdfs:///a-quarantine"),
    ],
)
def test_the_quarantine_is_beside_the_outcomes_under_their_name(out: str, quarantine: str) -> None:
    assert Outputs(out).quarantine == quarantine


@pytest.mark.parametrize("out", ["s3a://bucket", "s3a://bucket/", "hdfs:///"])
def test_a_whole_file_system_is_not_replaced(out: str) -> None:
    with pytest.raises(SourceError, match=r"is a whole file system; name a folder in it, such as .*/outcomes"):
        Outputs(out).check()


@pytest.mark.parametrize("out", ["s3a://bucket/x", "hdfs:///x", "hdfs://host:8020/x/"])
def test_a_folder_of_another_file_system_may_be(out: str) -> None:
    Outputs(out).check()


def test_a_summary_among_the_outcomes_is_replaced_with_them() -> None:
    for _ in range(2):
        ended = replay("--out", "outcomes", "--summary", "outcomes/s.json")
        assert ended.code == 0, ended.err
        assert json.loads(Path("outcomes/s.json").read_text())["opened"] == 5
    assert sorted(path.name for path in Path("outcomes").iterdir()) == ["part-00000.parquet", "s.json"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "x", "--quarantine", "x"), "is to hold two outputs"),
        (("--out", "x/y", "--quarantine", "x"), "is to hold two outputs"),
        (("--summary", "same", "--report", "same"), "is to hold two outputs"),
        (("--summary", "folder"), "'folder' is a folder; name a file"),
        (("--out", "damaged"), "'damaged' has 'part-1.parquet' in it, which no replay wrote"),
        (("--out", "s3a://bucket/x"), "'s3a://bucket/x' is on another file system, which needs Spark: --engine spark"),
    ],
)
def test_a_place_where_nothing_can_be_put_is_refused(arguments: tuple[str, ...], message: str) -> None:
    Path("folder").mkdir()
    Path("damaged").mkdir()
    Path("damaged/part-1.parquet").touch()
    before = files()
    ended = replay(*arguments)
    assert (ended.code, message in ended.err) == (3, True), ended.err
    assert files() == before


def test_a_folder_that_is_in_use_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("deep/down").mkdir(parents=True)
    monkeypatch.chdir("deep/down")
    for out in (".", ".."):
        with pytest.raises(SourceError, match=rf"'{out}' is in use, so it cannot be replaced; name a folder in it"):
            Outputs(out).check()


@pytest.fixture
def inputs_here(orders_here: None) -> None:
    """A folder of logs, with a link into another; outcomes of an earlier replay; operations; a link to a log."""
    for name in ("logs/a.csv", "real/b.csv"):
        Path(name).parent.mkdir()
        Path(name).write_text("order,event,at\na,ordered,2020-01-01\n")
    Path("logs/b.csv").symlink_to(Path("real/b.csv").resolve())
    Path("link.parquet").symlink_to("orders.parquet")
    assert replay("--out", "chain").code == 0


@pytest.mark.usefixtures("inputs_here")
@pytest.mark.parametrize(
    ("events", "arguments", "message"),
    [
        ("orders.parquet", ("--report", "./orders.parquet"), "and the report 'orders.parquet' would replace it;"),
        ("orders.parquet", ("--summary", "paid.toml"), "'paid.toml' is read here, and the summary 'paid.toml'"),
        ("orders.parquet", ("--report", "link.parquet"), "the report 'link.parquet' would replace it"),
        ("link.parquet", ("--report", "orders.parquet"), "'link.parquet' is read here"),
        ("orders.parquet", ("--operations", "logs/a.csv", "--report", "logs/a.csv"), "'logs/a.csv' is read here"),
        ("logs", ("--report", "logs/a.csv"), "'logs' is read here, and the report 'logs/a.csv' would go into it; name"),
        ("logs", ("--summary", "logs/new/s.json"), "the summary 'logs/new/s.json' would go into it"),
        ("logs", ("--summary", "real/b.csv"), "'logs' is read here, and the summary 'real/b.csv' would replace it"),
        ("logs/*.csv", ("--report", "logs/a.csv"), "'logs/*.csv' is read here, and the report 'logs/a.csv' would"),
        ("logs/*.csv", ("--report", "logs/c.csv"), "'logs/*.csv' is read here, and the report 'logs/c.csv' would go"),
        ("chain", ("--out", "chain"), "'chain' is read here, and the outcomes 'chain' would replace it"),
        ("chain/*.parquet", ("--out", "chain"), "the outcomes 'chain' would replace it"),
        ("chain", ("--quarantine", "chain"), "the quarantine 'chain' would replace it"),
        ("file:///logs/x.csv", ("--out", "/logs"), "the outcomes '/logs' would replace it"),
        ("s3a://logs/x/", ("--out", "s3a://logs/x"), "the outcomes 's3a://logs/x' would replace it"),
    ],
)
def test_what_is_read_is_not_written_over(events: str, arguments: tuple[str, ...], message: str) -> None:
    before = files()
    ended = replay(*arguments, events=events)
    assert (ended.code, message in ended.err) == (2, True), ended.err
    assert files() == before


def test_a_hub_is_not_written_over_by_its_own_report() -> None:
    with Hub(data="hub") as hub:
        hub.wait("order-1", "paid", "1 h")
    before = files()
    for arguments in (("--out", "hub/log-00000001.sj"), ("--summary", "hub/s.json")):
        ended = sojourn("report", "hub", *arguments)
        assert (ended.code, "'hub' is read here" in ended.err) == (2, True), ended.err
    assert sojourn("replay", "hub", "--engine", "local", "--report", "hub/r.html").code == 2
    assert files() == before


@pytest.mark.usefixtures("inputs_here")
def test_a_place_beside_what_is_read_is_free() -> None:
    for arguments in (("--report", "real/r.html"), ("--out", "logs-out"), ("--summary", "/dev/stdout")):
        assert replay(*arguments, events="logs").code == 0


def test_the_summary_may_go_to_the_screen() -> None:
    command = [sys.executable, "-m", "sojourn", "replay", "orders.parquet", "--rule", "paid.toml", "--engine", "local"]
    shown = [*command, "--json", "--summary", "/dev/stdout"]
    ended = subprocess.run(shown, capture_output=True, text=True, check=True)
    assert len(ended.stdout.splitlines()) == 2
    assert len({*ended.stdout.splitlines()}) == 1
