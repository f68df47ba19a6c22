"""Text files mean one thing: local, Spark batch and a stream read the same rows, and set the same lines aside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from parity.nasty import NASTY, Nasty, in_order
from sojourn import Rule, SourceError
from sojourn.pipeline.files.lines import CORRUPT, CORRUPT_LINE, CORRUPT_REASON
from sojourn.pipeline.files.source import Source
from sojourn.pipeline.spark import source as spark_source
from sojourn.pipeline.spark import texts
from sojourn.pipeline.stream.doors.sources import From

PAID = Rule("paid", "open", "paid", within="1 h")

Found = tuple[list[str], list[str]]


@pytest.fixture(params=NASTY, ids=lambda name: name.replace(" ", "-"))
def nasty(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Nasty, Path]:
    found = NASTY[request.param]
    for name, content in found.files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return found, tmp_path


def expected(nasty: Nasty) -> Found:
    return in_order(nasty.rows), in_order([[reason, line] for reason, line in nasty.bad])


def aside(rows: list[dict[str, Any]]) -> list[str]:
    assert all(row["rule"] is None for row in rows)
    return in_order([[row["reason"], json.loads(row["row"])[CORRUPT]] for row in rows])


def test_the_local_engine_reads_it(nasty: tuple[Nasty, Path]) -> None:
    log = Source.of(nasty[1], options=nasty[0].options).read()
    assert (in_order(log.events.to_pylist()), aside(log.unreadable.to_pylist())) == expected(nasty[0])


def test_every_line_is_read_or_set_aside(nasty: tuple[Nasty, Path]) -> None:
    found, _ = nasty
    over_lines = sum(str(value).count("\n") for row in found.rows for value in row.values())
    objects_more = sum(content.count(b'}{"') + content.count(b'} {"') for content in found.files.values())
    aside_lines = sum(line.count("\n") + 1 for _, line in found.bad)
    assert len(found.rows) - objects_more + over_lines + aside_lines == found.expected_lines


def test_spark_reads_the_same(nasty: tuple[Nasty, Path], spark: SparkSession, case_restored: None) -> None:
    read = spark_source.read(spark, Source.of(nasty[1], options=nasty[0].options))
    assert read.unreadable is not None
    rows = in_order([row.asDict(recursive=True) for row in read.events.collect()])
    assert (rows, aside([row.asDict() for row in read.unreadable.collect()])) == expected(nasty[0])


def test_a_stream_reads_the_same(
    nasty: tuple[Nasty, Path], spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, case_restored: None
) -> None:
    events = From(f"file:{nasty[1]}", options=nasty[0].options).read(spark, PAID, {})
    started = events.writeStream.format("memory").queryName("nasty").trigger(availableNow=True)
    started.option("checkpointLocation", str(tmp_path_factory.mktemp("checkpoint"))).start().awaitTermination()
    rows = [row.asDict(recursive=True) for row in spark.table("nasty").collect()]
    lines = [(row.pop(CORRUPT_REASON), row.pop(CORRUPT_LINE)) for row in rows]
    read = [row for row, (reason, _) in zip(rows, lines, strict=True) if reason is None]
    bad = [list(line) for line in lines if line[0] is not None]
    assert (in_order(read), in_order(bad)) == expected(nasty[0])


def test_files_that_executors_do_not_have_are_read_from_their_bytes(tmp_path: Path, spark: SparkSession) -> None:
    nasty = NASTY["gzip"]
    (tmp_path / "log.csv.gz").write_bytes(nasty.files["log.csv.gz"])
    text = texts.opened(spark, Source.of(tmp_path), by_path=False)
    rows = in_order([row.asDict() for row in text.events().collect()])
    assert (rows, aside([row.asDict() for row in text.unreadable().collect()])) == expected(nasty)


@pytest.fixture
def case_restored(spark: SparkSession) -> Any:
    """A log whose names differ in case has Spark tell them apart; the next one should not need it."""
    yield
    spark.conf.unset("spark.sql.caseSensitive")


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("log.csv", b"", {}, "cannot be read as csv: it has no header"),
        ("log.jsonl", b"[]\n", {}, "cannot be read as json: it has no JSON object on any line"),
        ("log.csv", b'"k,n\na,1\n', {}, "its first line cannot: a quote opens a field"),
        ("log.csv", b"k\xff,n\na,1\n", {}, "its first line cannot: the line has bytes that are not text"),
        ("log.csv", b"k,n\n", {"mode": "FAILFAST"}, "option 'mode' is not known; for csv there are sep, delimiter"),
        ("log.csv", b"k,n\n", {"sep": "||"}, "option sep='||' must be one ASCII character"),
        ("log.csv", b"k,n\n", {"escape": "\\"}, "a quote inside quotes is doubled"),
        ("log.csv", b"k,n\n", {"header": "maybe"}, "option header='maybe' must be true or false"),
        ("log.csv", b"k,n\n", {"encoding": "klingon"}, "option encoding='klingon' is not known"),
        ("log.jsonl", b'{"a":1}\n', {"multiLine": "true"}, "each object must be on one line"),
        ("log.jsonl", b'{"a":1}\n', {"encoding": "UTF-16"}, "JSON is UTF-8"),
        ("log.jsonl", b'{"a":1}\n', {"allowComments": "true"}, "for json there are encoding, multiLine"),
    ],
)
def test_what_cannot_be_read_is_refused_in_the_same_words(
    tmp_path: Path, spark: SparkSession, name: str, content: bytes, options: dict[str, str], message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    source = Source.of(tmp_path / name, options=options)
    said = []
    for read in (source.read, lambda: spark_source.read(spark, source), lambda: _stream(spark, tmp_path, options)):
        with pytest.raises(SourceError) as caught:
            read()
        said.append(str(caught.value))
    assert message in said[0]
    assert said[1] == said[0]
    assert message in said[2]


def _stream(spark: SparkSession, folder: Path, options: dict[str, str]) -> None:
    From(f"file:{folder}", options=options).read(spark, PAID, {})
