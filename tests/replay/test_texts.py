"""The reader of text files: whatever the bytes, and wherever blocks are cut, the short way and the long one agree."""

from __future__ import annotations

import csv
import io
import json
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sojourn import SourceError
from sojourn.pipeline.files import csv_records, csv_text, json_text, texts
from sojourn.pipeline.files.blocks import blocks_of
from sojourn.pipeline.files.csv_records import Records, records_of
from sojourn.pipeline.files.csv_text import CsvFile, parsed
from sojourn.pipeline.files.json_text import read_block
from sojourn.pipeline.files.json_values import common_schema, rows_of, settled
from sojourn.pipeline.files.lines import Rows, lines_of
from sojourn.pipeline.files.options import CsvFormat
from sojourn.pipeline.files.source import Source

DIRTY = st.lists(
    st.sampled_from([b'"', b'""', b",", b"a", b"\n", b"\r\n", b"\r", b"\xff", b'"b"', b"c,d"]), max_size=30
).map(b"".join)
FORMATS = st.sampled_from(
    [CsvFormat(), CsvFormat(lines=1), CsvFormat(lines=2), CsvFormat(quote=b""), CsvFormat(is_headed=False)]
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=3)
    | st.just("2020-01-01"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "A"]), JSON, max_size=3).map(
    lambda value: json.dumps(value).encode()
)
LINES = OBJECTS | st.sampled_from(
    [
        b"",
        b" ",
        b"{",
        b"}",
        b"[1]",
        b'{"a":1}{"b":2}',
        b'{"a":1,"a":2}',
        b'{"a":"\\ud800"}',
        b'{"a":"\xff"}',
        b'{"a":1}\0',
        b"{}",
    ]
)


def read_in_blocks(data: bytes, format: CsvFormat, size: int) -> tuple[list[Any], list[Any]] | str:
    """Rows and bad lines; or why the header cannot be read."""
    with patch.object(csv_text, "blocks_of", partial(blocks_of, size=size)):
        try:
            file = CsvFile("log.csv", format, pa.py_buffer(data))
        except SourceError as error:
            return str(error)
        parts = [file.parsed(found) for found in file.records()]
    rows = [list(row.values()) for part in parts for row in part.table.to_pylist()]
    return rows, sorted(bad for part in parts for bad in part.bad)


@given(DIRTY, FORMATS, st.integers(1, 9))
@example(b'a\n"\r\n\r\n"', CsvFormat(), 3)
def test_csv_is_the_same_wherever_blocks_are_cut(data: bytes, format: CsvFormat, size: int) -> None:
    assert read_in_blocks(data, format, size) == read_in_blocks(data, format, 1 << 20)


@given(DIRTY, FORMATS, st.integers(1, 3))
def test_csv_is_the_same_the_short_way_and_the_long_one(data: bytes, format: CsvFormat, columns: int) -> None:
    names = [str(place) for place in range(columns)]
    short = parsed(records_of(data, format, columns, is_last=True), names, format)
    lines = lines_of(data)
    scan = csv_records._Scan(data, lines, format, columns, True)
    long = parsed(csv_records._looked_at(scan, np.flatnonzero(lines.ends > lines.starts), b""), names, format)
    assert short.table.to_pylist() == long.table.to_pylist()
    assert sorted(short.bad) == sorted(long.bad)


@given(DIRTY, FORMATS)
def test_every_line_of_csv_is_in_a_row_or_set_aside(data: bytes, format: CsvFormat) -> None:
    rows = parsed(records_of(data, format, 2, is_last=True), ["k", "n"], format)
    in_rows = sum(1 + sum(_breaks(value) for value in row.values()) for row in rows.table.to_pylist())
    aside = sum(len(lines_of(bad.line).starts) for bad in rows.bad)
    lines = lines_of(data)
    empty = int((lines.starts == lines.ends).sum())
    assert len(lines.starts) - empty <= in_rows + aside <= len(lines.starts)


def _breaks(value: str | None) -> int:
    return 0 if value is None else len(lines_of(value.encode() + b".").starts) - 1


@given(st.lists(st.tuples(st.text(max_size=5), st.text('a",;\r\n\\ ', max_size=8)), max_size=6), st.booleans())
def test_what_python_writes_as_csv_is_read_back(rows: list[tuple[str, str]], is_all: bool) -> None:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL if is_all else csv.QUOTE_MINIMAL).writerows([("k", "n"), *rows])
    try:
        data = text.getvalue().encode()
    except UnicodeEncodeError:
        return
    found = read_in_blocks(data, CsvFormat(), 7)
    assert found == ([[value or None for value in row] for row in rows], [])


@given(st.lists(LINES, max_size=8), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_json_is_the_same_the_short_way_and_the_long_one(lines: list[bytes], end: bytes) -> None:
    data = end.join(lines)
    short = read_block(data)
    text, _, bad = json_text._sorted_out(data)
    long = rows_of(text.split(end if not bad and text is data else b"\n") if text else [], None)
    schema = settled(common_schema([short.table.schema]))
    assert schema == settled(common_schema([long.table.schema]))
    again = read_block(data, schema)
    assert repr(again.table.to_pylist()) == repr(rows_of(_kept(text), schema).table.to_pylist())
    assert sorted(again.bad) == sorted(short.bad) == sorted(bad + long.bad)


def _kept(text: bytes) -> list[bytes]:
    lines = lines_of(text)
    return [text[start:end] for start, end in zip(lines.starts, lines.ends, strict=True)]


@pytest.mark.parametrize("bad", [0, 1, 999, 1999])
def test_one_bad_line_among_many_is_found(bad: int) -> None:
    lines = [b'{"a": %d, "at": "2020-01-01"}' % place for place in range(2_000)]
    lines[bad] = b'{"a": }'
    rows = read_block(b"\n".join(lines))
    assert rows.table["a"].to_pylist() == [place for place in range(2_000) if place != bad]
    assert rows.table["at"].type == pa.string()
    assert [line for _, line in rows.bad] == [lines[bad]]


WHOLE = b"k,0\n" * csv_records.SUSPICIOUS


@pytest.mark.parametrize(
    ("data", "at_most", "bad"),
    [
        (b'"a\nb\nc",1\nk,0\n', 3, []),
        (b'"a\nb\nc",1\nk,0\n', 2, [b'"a', b"b"]),
        (b'"a\nb",1\nk,0\n', 1, [b'"a']),
        (b'a","\nk,0\n', 9, [b'a","']),
        (b'"a"b,1\nk,0\n', 9, [b'"a"b,1']),
        (b'"a"bc\nk,0\n', 9, [b'"a"bc']),
        (b'"12 inch,1\n' + WHOLE + b'x","y"\nk,0\n', 99, [b'"12 inch,1']),
        (b'"12 inch,1\n' + WHOLE[4:] + b'k\nx","y"\nk,0\n', 99, []),
    ],
)
def test_a_quote_that_opens_a_field_closes_it_soon_or_its_line_is_set_aside(
    data: bytes, at_most: int, bad: list[bytes]
) -> None:
    format = CsvFormat(lines=at_most)
    rows = parsed(records_of(data, format, 2, is_last=True), ["k", "n"], format)
    assert [found.line for found in rows.bad] == bad
    assert rows.table.to_pylist()[-1] == {"k": "k", "n": "0"}
    assert sum(1 + _breaks(k) for k in rows.table["k"].to_pylist()) == len(lines_of(data).starts) - len(bad)


def test_a_stray_quote_costs_one_line_of_five_thousand(tmp_path: Path) -> None:
    lines = [f"c{place},open,2020-01-01,note\n" for place in range(5_000)]
    lines[10] = 'c10,open,2020-01-01,"12 inch\n'
    (tmp_path / "log.csv").write_text("case,kind,at,note\n" + "".join(lines))
    log = Source.of(tmp_path / "log.csv").read()
    assert (len(log.events), len(log.unreadable)) == (4_999, 1)
    assert json.loads(log.unreadable["row"][0].as_py()) == {"_corrupt_record": lines[10].rstrip()}


def test_files_of_many_blocks_are_read_in_order(tmp_path: Path) -> None:
    with (
        patch.object(texts, "blocks_of", partial(blocks_of, size=100)),
        patch.object(csv_text, "blocks_of", partial(blocks_of, size=100)),
    ):
        (tmp_path / "log.csv").write_text("k,n\n" + "".join(f'"{place}",x\n' for place in range(1_000)))
        (tmp_path / "log.jsonl").write_text("".join(f'{{"k": {place}}}\n' for place in range(1_000)))
        for name in ("log.csv", "log.jsonl"):
            found = Source.of(tmp_path / name).read().events["k"].to_pylist()
            assert [int(value) for value in found] == list(range(1_000))


def test_types_that_differ_from_block_to_block_are_one_in_the_end(tmp_path: Path) -> None:
    lines = ['{"a": 1, "b": null}', '{"a": 2.5, "b": [1]}', '{"a": 3, "b": {"c": 1}}', '{"a": 4, "b": "x"}']
    (tmp_path / "log.jsonl").write_text("\n".join(lines) + "\n")
    with patch.object(texts, "blocks_of", partial(blocks_of, size=20)):
        rows = texts.read_json([str(tmp_path / "log.jsonl")], {})
    assert rows.table.to_pydict() == {"a": [1.0, 2.5, 3.0, 4.0], "b": [None, "[1]", '{"c": 1}', "x"]}


def test_values_that_do_not_fit_a_schema_are_set_aside() -> None:
    schema = pa.schema([("n", pa.int64()), ("f", pa.float64()), ("b", pa.bool_()), ("l", pa.list_(pa.int64()))])
    good = b'{"n": 1, "f": 2, "b": true, "l": [1], "other": {}}'
    lines = {
        b'{"n": 1.5}': "field 'n' is not a whole number of 64 bits",
        b'{"f": "x"}': "field 'f' is not a number",
        b'{"b": 1}': "field 'b' is not true or false",
        b'{"l": 1}': "field 'l' is not a list",
    }
    rows = read_block(b"\n".join([good, *lines]), schema)
    assert rows.table.to_pylist() == [{"n": 1, "f": 2.0, "b": True, "l": [1]}]
    assert {bad.line: bad.reason for bad in rows.bad} == lines


@pytest.mark.parametrize(
    "lines",
    [[b'{"b": [', b'{"a": 3}]}'], [b'{"b":', b" 1}"], [b'{"b": {}', b"{}}"], [b'{"b": "}', b'{"}']],
    ids=["list", "value", "object", "text"],
)
def test_an_object_that_goes_over_lines_is_no_row(lines: list[bytes]) -> None:
    rows = read_block(b"\n".join([*lines, b'{"a": 2}']))
    assert (rows.table.to_pylist(), [bad.line for bad in rows.bad]) == ([{"a": 2}], lines)


def test_whole_numbers_of_more_than_64_bits_keep_their_digits() -> None:
    digits = "123456789012345678901234567890"
    assert read_block(b'{"a": 1}\n{"a": %s}' % digits.encode()).table["a"].to_pylist() == ["1", digits]


def test_a_field_that_is_named_twice_is_not_guessed() -> None:
    rows = read_block(b'{"a": 1, "a": 2}\n{"a": 3}')
    assert (rows.table.to_pylist(), [bad.line for bad in rows.bad]) == ([{"a": 3}], [b'{"a": 1, "a": 2}'])


@pytest.mark.parametrize("line", [b"[1]", b"5", b"null", b'"x"'])
def test_a_value_that_is_no_object_is_no_row(line: bytes) -> None:
    rows = rows_of([b'{"a": 1}', line], None)
    assert (rows.table.to_pylist(), [bad.line for bad in rows.bad]) == ([{"a": 1}], [line])


def test_a_number_is_a_float_however_large_where_floats_are_asked_for() -> None:
    rows = read_block(
        b'{"f": 1%s}\n{"f": -1%s}\n{"f": 12345678901234567890}\n' % (b"0" * 400, b"0" * 400),
        pa.schema([("f", pa.float64())]),
    )
    assert rows == Rows(rows.table, [])
    assert rows.table["f"].to_pylist() == [float("inf"), float("-inf"), 1.2345678901234567e19]


def test_messages_may_have_line_breaks_and_none_is_lost() -> None:
    values = pa.array([b'{"a":\n 1}', None, b"", b'{"a": 2}{"a": 3}', b"x\r\ny"])
    task = texts.JsonTask(pa.schema([("a", pa.int64())]), are_messages=True)
    (rows,) = task.rows([pa.record_batch({texts.LINE: values})])
    assert rows.table["a"].to_pylist() == [1, 2, 3]
    assert [bad.line for bad in rows.bad] == [b"null", b"null", b"x  y"]


def test_a_byte_order_mark_inside_a_file_is_text() -> None:
    found = Records(b"\xef\xbb\xbfa,1\n", False, [], b"")
    assert parsed(found, ["k", "n"], CsvFormat()).table["k"].to_pylist() == ["\ufeffa"]
