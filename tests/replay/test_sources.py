"""Logs in files: found, recognised and read, or refused with what is there instead."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import feather, orc, parquet

from replay.logs import order_events
from sojourn import ConfigError, SourceError
from sojourn.pipeline.files.csv_records import FIELDS
from sojourn.pipeline.files.json_values import NOT_JSON
from sojourn.pipeline.files.source import Source
from sojourn.pipeline.plan import check_columns
from sojourn.pipeline.schema import CORRUPT_LINE, CORRUPT_REASON

ROWS = [{"k": "001", "n": "1"}, {"k": "002", "n": None}]


def write(path: Path, rows: list[dict[str, object]] = ROWS) -> None:
    """The rows, in the format that the name says."""
    table = pa.Table.from_pylist(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    name = path.name.removesuffix(".gz")
    if name.endswith((".parquet", ".pq")):
        parquet.write_table(table, path)
    elif name.endswith(".orc"):
        orc.write_table(table, path)
    elif name.endswith((".arrow", ".feather")):
        feather.write_feather(table, path, compression="uncompressed")
    elif name.endswith(".xes"):
        events = ("".join(f'<string key="{k}" value="{v}"/>' for k, v in row.items() if v) for row in rows)
        text = f"<log><trace>{''.join(f'<event>{event}</event>' for event in events)}</trace></log>"
        _write_text(path, text)
    elif name.endswith(("csv", "tsv")):
        separator = "\t" if name.endswith("tsv") else ","
        lines = [list(rows[0]), *[[value or "" for value in row.values()] for row in rows]]
        _write_text(path, "".join(separator.join(map(str, line)) + "\n" for line in lines))
    else:
        _write_text(path, "".join(json.dumps(row) + "\n" for row in rows))


def _write_text(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("log.parquet", "parquet"),
        ("log.pq", "parquet"),
        ("LOG.CSV", "csv"),
        ("log.csv.gz", "csv"),
        ("log.tsv", "csv"),
        ("log.jsonl", "json"),
        ("log.jsonl.gz", "json"),
        ("log.ndjson", "json"),
        ("log.json", "json"),
        ("log.xes", "xes"),
        ("log.xes.gz", "xes"),
        ("log.orc", "orc"),
        ("log.arrow", "arrow"),
        ("log.feather", "arrow"),
    ],
)
def test_a_file_is_read_as_its_name_says(tmp_path: Path, name: str, format: str) -> None:
    write(tmp_path / name.lower())
    (tmp_path / name.lower()).rename(tmp_path / name)
    source = Source.of(tmp_path / name)
    assert (source.format, source.read().events.to_pylist()) == (format, ROWS)


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "xes"])
@pytest.mark.parametrize("pattern", ["", "*", "**/*"])
def test_a_folder_or_a_pattern_is_all_its_files(tmp_path: Path, ending: str, pattern: str) -> None:
    write(tmp_path / f"a.{ending}", ROWS[:1])
    write(tmp_path / f"b.{ending}", [{"k": "002", "n": "2"}])
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden").write_text("")
    where = tmp_path / f"{pattern}.{ending}" if pattern else tmp_path
    assert Source.of(where).read().events["k"].to_pylist() == ["001", "002"]


def test_the_names_of_folders_are_columns_as_in_spark(tmp_path: Path) -> None:
    write(tmp_path / "year=2013" / "a.parquet")
    assert Source.of(tmp_path).read().events["year"].to_pylist() == [2013, 2013]


def test_a_name_with_the_signs_of_a_pattern_is_still_a_name(tmp_path: Path) -> None:
    write(tmp_path / "log [1].csv")
    assert Source.of(tmp_path / "log [1].csv").read().events.to_pylist() == ROWS


def test_files_with_different_columns_are_read_together(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [{"k": "1"}])
    write(tmp_path / "b.jsonl", [{"k": "2", "n": 5}])
    assert Source.of(tmp_path).read().events.to_pylist() == [{"k": "1", "n": None}, {"k": "2", "n": 5}]


def test_columns_that_are_mixed_over_files_are_text(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [{"k": {"deep": 1}}])
    write(tmp_path / "b.jsonl", [{"k": 2}])
    assert Source.of(tmp_path).read().events["k"].to_pylist() == ['{"deep": 1}', "2"]
    for name, tag, value in (("a", "int", "1"), ("b", "string", "x")):
        event = f'<event><{tag} key="k" value="{value}"/></event>'
        (tmp_path / "xes").mkdir(exist_ok=True)
        (tmp_path / "xes" / f"{name}.xes").write_text(f"<log><trace>{event}</trace></log>")
    assert Source.of(tmp_path / "xes").read().events["k"].to_pylist() == ["1", "x"]


def test_csv_is_text_so_that_no_key_loses_its_zeros(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text('k,t,n,q\n001,2020-01-01,1.50,""\n')
    assert Source.of(tmp_path / "log.csv").read().events.to_pylist() == [
        {"k": "001", "t": "2020-01-01", "n": "1.50", "q": None}
    ]


def test_csv_lines_with_too_many_or_too_few_fields_are_kept_for_the_quarantine(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("k,n\na,1\nb\nc,2,3\nd,4\n")
    log = Source.of(tmp_path / "log.csv").read()
    assert log.events["k"].to_pylist() == ["a", "d"]
    assert log.unreadable["reason"].to_pylist() == [FIELDS, FIELDS]
    assert [json.loads(row) for row in log.unreadable["row"].to_pylist()] == [
        {"_corrupt_record": "b"},
        {"_corrupt_record": "c,2,3"},
    ]


@pytest.mark.parametrize(
    ("text", "options", "rows"),
    [
        ("k;n\na;1\n", {"sep": ";"}, [{"k": "a", "n": "1"}]),
        ("k|n\na|1\n", {"delimiter": "|"}, [{"k": "a", "n": "1"}]),
        ("a,1\n", {"header": "false"}, [{"_c0": "a", "_c1": "1"}]),
        ("k,n\n'a,b',1\n", {"quote": "'"}, [{"k": "a,b", "n": "1"}]),
        ('k,n\n"a\nb",1\n', {"multiLine": "true"}, [{"k": "a\nb", "n": "1"}]),
        ("k\tn\na\t1\n", {"sep": "\\t"}, [{"k": "a", "n": "1"}]),
        ('k,n\n"a""b",1\n', {"escape": '"', "MULTILINE": "true"}, [{"k": 'a"b', "n": "1"}]),
        ("k,n\na,NULL\n", {"nullValue": "NULL"}, [{"k": "a", "n": None}]),
        ("k,n\n\xe9,1\n", {"encoding": "latin-1"}, [{"k": "é", "n": "1"}]),
    ],
)
def test_csv_takes_the_options_that_spark_takes(
    tmp_path: Path, text: str, options: dict[str, str], rows: list[dict[str, str]]
) -> None:
    (tmp_path / "log.csv").write_bytes(text.encode(options.get("encoding", "utf-8")))
    assert Source.of(tmp_path / "log.csv", options=options).read().events.to_pylist() == rows


def test_an_option_that_is_not_known_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "log.csv")
    write(tmp_path / "log.parquet")
    with pytest.raises(SourceError, match="'mode' is not known; for csv there are sep, delimiter"):
        Source.of(tmp_path / "log.csv", options={"mode": "FAILFAST"}).read()
    with pytest.raises(SourceError, match="option mergeSchema is for Spark"):
        Source.of(tmp_path / "log.parquet", options={"mergeSchema": "true"}).read()


def test_json_texts_stay_as_they_are_written_also_if_they_look_like_times(tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", [{"k": "2020-01-01", "t": "2020-01-01T00:00:00+02:00", "n": 1}])
    assert Source.of(tmp_path / "log.jsonl").read().events.to_pylist() == [
        {"k": "2020-01-01", "t": "2020-01-01T00:00:00+02:00", "n": 1}
    ]


def test_lines_that_are_not_json_objects_are_kept_for_the_quarantine(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"k": "a", "n": 1}\n{"k": \n\n[1, 2]\n{"k": "b", "n": "many"}\n')
    log = Source.of(tmp_path / "log.jsonl").read()
    assert log.events.to_pylist() == [{"k": "a", "n": "1"}, {"k": "b", "n": "many"}]
    assert log.unreadable["reason"].to_pylist() == [NOT_JSON, NOT_JSON]
    assert [json.loads(row)["_corrupt_record"] for row in log.unreadable["row"].to_pylist()] == ['{"k": ', "[1, 2]"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("log.parquet", b"nonsense", "cannot be read as parquet"),
        ("log.csv", b"", "cannot be read as csv: it has no header"),
        ("log.csv", b"k\xff\n1\n", "cannot be read as csv, since its first line cannot"),
        ("log.orc", b"nonsense", "cannot be read as orc"),
        ("log.json.gz", b"\x1f\x8bnonsense", "cannot be read"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError) as caught:
        Source.of(tmp_path / name).read()
    assert message in str(caught.value)
    assert name in str(caught.value)


def test_what_is_not_there_is_named_with_what_is(tmp_path: Path) -> None:
    write(tmp_path / "events.parquet")
    (tmp_path / "empty").mkdir()
    for path, message in {
        "event.parquet": "did you mean '.*events.parquet'",
        "quite different": "there is no '.*quite different'$",
        "no/such/folder.csv": "the folder '.*no/such' does not exist",
        "empty": "has no files in it",
        "*.csv": "no file matches",
    }.items():
        with pytest.raises(SourceError, match=message):
            Source.of(tmp_path / path)


def test_an_empty_folder_is_named_also_if_it_is_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    source = Source.of((tmp_path / "empty").as_uri(), "parquet")
    with pytest.raises(SourceError, match=r"the folder 'file://.*empty' has no files in it"):
        source.read()
    with pytest.raises(SourceError, match="has no files in it"):
        next(source.parts())


def test_a_name_that_says_nothing_asks_for_the_format(tmp_path: Path) -> None:
    (tmp_path / "log.dat").write_text("k,n\na,1\n")
    with pytest.raises(SourceError, match=r"known are \.parquet, \.csv, \.jsonl, \.xes.*--format"):
        Source.of(tmp_path / "log.dat")
    assert Source.of(tmp_path / "log.dat", "csv").read().events.to_pylist() == [{"k": "a", "n": "1"}]


def test_a_format_only_spark_knows_says_so(tmp_path: Path) -> None:
    (tmp_path / "log.avro").write_text("")
    with pytest.raises(SourceError, match="format 'avro' needs Spark; without it there are parquet, csv, json, xes"):
        Source.of(tmp_path / "log.avro", "avro").read()


def test_a_missing_column_is_named_with_those_there_and_the_nearest() -> None:
    names = order_events().column_names
    check_columns({"order": "key"}, names, "the log")
    with pytest.raises(ConfigError) as caught:
        check_columns({"orders": "key"}, names, "the log")
    assert str(caught.value) == (
        "the log has no column 'orders' for key. It has: order, event, at, region; did you mean 'order'?"
    )
    with pytest.raises(ConfigError, match=r"It has: order, event, at, region$"):
        check_columns({"xyz": "key"}, [*names, CORRUPT_LINE, CORRUPT_REASON], "the log")
