"""XES logs, as process-mining tools write them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from sojourn import Rule, SourceError
from sojourn.pipeline import local
from sojourn.pipeline.files import xes

LOG = """<?xml version="1.0" encoding="UTF-8"?>
<log xes.version="1.0" xmlns="http://www.xes-standard.org/">
  <extension name="Time" prefix="time" uri="http://www.xes-standard.org/time.xesext"/>
  <global scope="event"><string key="concept:name" value="__INVALID__"/></global>
  <string key="concept:name" value="the whole log"/>
  <trace>
    <string key="concept:name" value="case 1"/>
    <int key="amount" value="35"/>
    <event>
      <string key="concept:name" value="Create Fine"/>
      <date key="time:timestamp" value="2006-07-24T00:00:00.000+02:00"/>
      <string key="org:resource" value="561"/>
      <boolean key="paid" value="false"/>
      <float key="points" value="0.5"><string key="inner" value="not a column"/></float>
    </event>
    <event>
      <string key="concept:name" value="Payment &amp; more"/>
      <date key="time:timestamp" value="2006-08-01T12:00:00Z"/>
    </event>
  </trace>
  <trace>
    <event><string key="concept:name" value="Create Fine"/><int key="points" value="3"/></event>
    <string key="concept:name" value="case 2"/>
  </trace>
  <event><string key="concept:name" value="of no case"/></event>
  <string key="last" value="the log's"/>
</log>
"""


def rows(text: str, folder: Path) -> list[dict[str, object]]:
    path = folder / "log.xes"
    path.write_text(text, "utf-8")
    return [
        {name: value for name, value in row.items() if value is not None} for row in xes.read_table(path).to_pylist()
    ]


def test_attributes_become_columns_and_those_of_the_trace_go_with_each_event(tmp_path: Path) -> None:
    assert rows(LOG, tmp_path) == [
        {
            "concept:name": "Create Fine",
            "time:timestamp": "2006-07-24T00:00:00.000+02:00",
            "org:resource": "561",
            "paid": False,
            "points": 0.5,
            "case:concept:name": "case 1",
            "case:amount": 35,
        },
        {
            "concept:name": "Payment & more",
            "time:timestamp": "2006-08-01T12:00:00Z",
            "case:concept:name": "case 1",
            "case:amount": 35,
        },
        {"concept:name": "Create Fine", "points": 3, "case:concept:name": "case 2"},
        {"concept:name": "of no case"},
    ]


def test_a_gzipped_log_is_read_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "log.xes").write_text(LOG, "utf-8")
    (tmp_path / "odd name").write_bytes(gzip.compress(LOG.encode()))
    assert xes.read_table(tmp_path / "odd name").equals(xes.read_table(tmp_path / "log.xes"))


def test_chunks_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log.xes").write_text(LOG, "utf-8")
    whole = xes.read_table(tmp_path / "log.xes")
    monkeypatch.setattr(xes, "EVENTS_PER_CHUNK", 1)
    in_pieces = xes.read_table(tmp_path / "log.xes")
    assert in_pieces.to_pylist() == whole.to_pylist()
    assert in_pieces.schema == whole.schema


def event(*attributes: str) -> str:
    return f"<event>{''.join(attributes)}</event>"


@pytest.mark.parametrize("chunk", [1, 100])
def test_an_attribute_of_several_types_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(xes, "EVENTS_PER_CHUNK", chunk)
    traces = "".join(
        f"<trace>{event(attribute)}</trace>"
        for attribute in (
            '<int key="x" value="7"/>',
            '<string key="x" value="many"/>',
            '<boolean key="x" value="true"/>',
        )
    )
    (tmp_path / "log.xes").write_text(f"<log>{traces}</log>")
    assert xes.read_table(tmp_path / "log.xes")["x"].to_pylist() == ["7", "many", "True"]


def test_a_value_that_its_type_does_not_allow_stays_text(tmp_path: Path) -> None:
    attributes = '<int key="a" value="much"/><float key="b" value="0,5"/><boolean key="c" value="perhaps"/>'
    assert rows(f"<log><trace>{event(attributes)}</trace></log>", tmp_path) == [
        {"a": "much", "b": "0,5", "c": "perhaps"}
    ]


def test_a_whole_number_beyond_64_bits_stays_text(tmp_path: Path) -> None:
    huge = str(2**70)
    attribute = f'<int key="a" value="{huge}"/>'
    assert rows(f"<log><trace>{event(attribute)}</trace></log>", tmp_path) == [{"a": huge}]


def test_a_log_without_events_is_an_empty_table(tmp_path: Path) -> None:
    assert rows("<log></log>", tmp_path) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<log><trace>", "log.xes, line 1: this is not XML: no element found"),
        (b"<log>\n<trace>\n</log>", "log.xes, line 3: this is not XML: mismatched tag"),
        (b"<html></html>", "log.xes: this is not XES: the document is a <html>, not a <log>"),
        (b"", "log.xes, line 1: this is not XML: no element found"),
        (gzip.compress(LOG.encode())[:-200], "log.xes: "),
        (b"\x1f\x8bnonsense", "log.xes: "),
    ],
)
def test_what_is_not_xes_is_refused_by_name_and_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "log.xes").write_bytes(content)
    with pytest.raises(SourceError) as caught:
        xes.read_table(tmp_path / "log.xes")
    assert message in str(caught.value)


def test_the_engines_read_what_was_read(tmp_path: Path) -> None:
    (tmp_path / "log.xes").write_text(LOG, "utf-8")
    rule = Rule("paid", opens="Create Fine", until="Payment & more", within="60 days", columns=xes.COLUMNS)
    result = local.outcomes(xes.read_table(tmp_path / "log.xes"), rule)
    assert result.outcomes["key"].to_pylist() == ["case 1"]
    assert result.outcomes["outcome"].to_pylist() == ["completed"]
    assert sorted(result.quarantine["reason"].to_pylist()) == ["no key", "no time"]
    assert result.outcomes["at"].cast(pa.string()).to_pylist() == ["2006-08-01 12:00:00.000Z"]
