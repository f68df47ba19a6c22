"""Text files that readers read differently, and what is in them: rows, and lines that are set aside with a reason."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import Any

from sojourn.pipeline.files.csv_records import AFTER_QUOTE, FIELDS, NOT_TEXT, SWALLOWS, unclosed
from sojourn.pipeline.files.json_values import DEEP, HALF, NOT_JSON, NOT_UTF_8, REPEATED

UNCLOSED = unclosed(100)


@dataclass(frozen=True)
class Nasty:
    """`lines` is how many lines are in all files that are neither a header nor empty."""

    files: dict[str, bytes]
    rows: list[dict[str, Any]]
    bad: list[tuple[str, str]] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    lines: int | None = None

    @property
    def expected_lines(self) -> int:
        return len(self.rows) + len(self.bad) if self.lines is None else self.lines


def _csv(
    text: bytes, rows: list[tuple[str | None, ...]], bad: list[tuple[str, str]] | None = None, **more: Any
) -> Nasty:
    return Nasty(
        {"log.csv": b"k,n\n" + text}, [dict(zip(("k", "n"), row, strict=True)) for row in rows], bad or [], **more
    )


def _json(text: bytes, values: list[Any], bad: list[tuple[str, str]] | None = None, **more: Any) -> Nasty:
    return Nasty({"log.jsonl": text}, [{"a": value} for value in values], bad or [], **more)


_FIFTY = b"".join(b"x%d,1\n" % i for i in range(50))
_FIFTY_ROWS: list[tuple[str | None, ...]] = [(f"x{i}", "1") for i in range(50)]
_DEEP = b'{"a":' + b"[" * 500 + b"]" * 500 + b"}"

NASTY: dict[str, Nasty] = {
    "doubled quotes": _csv(b'"quo""te",1\n"""",2\n', [('quo"te', "1"), ('"', "2")]),
    "line breaks inside quotes": _csv(
        b'"a\nb",1\n"c\r\nd",2\ne,3\n', [("a\nb", "1"), ("c\r\nd", "2"), ("e", "3")], lines=5
    ),
    "backslashes are plain": _csv(b'a\\,1\n"b\\",2\nc\\"d,3\n', [("a\\", "1"), ("b\\", "2"), ('c\\"d', "3")]),
    "quotes inside fields are plain": _csv(b'12" inch,1\na,5\'6"\n', [('12" inch', "1"), ("a", "5'6\"")]),
    "separators and quotes": _csv(b'"a,b","1,5"\n"",""\n', [("a,b", "1,5"), (None, None)]),
    "too many and too few fields": _csv(
        b"a,1\nb\nc,2,3\nd,4\n", [("a", "1"), ("d", "4")], [(FIELDS, "b"), (FIELDS, "c,2,3")]
    ),
    "too many fields over two lines": _csv(b'"b\nc",2,3\nd,4\n', [("d", "4")], [(FIELDS, '"b\nc",2,3')], lines=3),
    "a stray quote": _csv(b'"12 inch,0\n' + _FIFTY, _FIFTY_ROWS, [(UNCLOSED, '"12 inch,0')]),
    "a stray quote at the end of a line": _csv(b'a,"\n' + _FIFTY, _FIFTY_ROWS, [(UNCLOSED, 'a,"')]),
    "a stray quote, and quotes after it": _csv(
        b'a,"12 inch\n' + _FIFTY + b'"q","2"\n', [*_FIFTY_ROWS, ("q", "2")], [(AFTER_QUOTE, 'a,"12 inch')]
    ),
    "a stray quote that closes by chance": _csv(
        b'a,"12 inch\n' + _FIFTY + b'z,12"\n', [*_FIFTY_ROWS, ("z", '12"')], [(SWALLOWS, 'a,"12 inch')]
    ),
    "text after a closing quote": _csv(b'"12" inch,1\nb,2\n', [("b", "2")], [(AFTER_QUOTE, '"12" inch,1')]),
    "a long text of a hundred lines": _csv(
        b'"' + b"so, it, goes\n" * 99 + b'",1\nb,2\n', [("so, it, goes\n" * 99, "1"), ("b", "2")], lines=101
    ),
    "a text of too many lines": _csv(
        b'"' + b"text\n" * 100 + b'",1\nb,2\n',
        [("b", "2")],
        [(UNCLOSED, '"text'), *[(FIELDS, "text")] * 99, (UNCLOSED, '",1')],
    ),
    "bytes that are not UTF-8": _csv(
        b'a,\xff\nb,2\n"\xfe\nx",3\n\xe9,4,5\n',
        [("b", "2")],
        [(NOT_TEXT, "a,\\xff"), (NOT_TEXT, '"\\xfe\nx",3'), (NOT_TEXT, "\\xe9,4,5")],
        lines=5,
    ),
    "a byte order mark and CR LF": Nasty(
        {"log.csv": b'\xef\xbb\xbfk,n\r\na,1\r\n"b",2\r\n'}, [{"k": "a", "n": "1"}, {"k": "b", "n": "2"}]
    ),
    "CR alone": Nasty({"log.csv": b"k,n\ra,1\rb,2"}, [{"k": "a", "n": "1"}, {"k": "b", "n": "2"}]),
    "empty lines": _csv(b"\n\na,1\n\r\n \nb,2\n\n", [("a", "1"), ("b", "2")], [(FIELDS, " ")]),
    "no line break at the end": _csv(b"a,1\nb,", [("a", "1"), ("b", None)]),
    "gzip": Nasty(
        {"log.csv.gz": gzip.compress(b'k,n\n"a\nb",1\nx\n')}, [{"k": "a\nb", "n": "1"}], [(FIELDS, "x")], lines=3
    ),
    "names that are repeated, empty, or differ in case": Nasty(
        {"log.csv": b"k,n,k,K,\na,1,2,3,4\n"}, [{"k0": "a", "n": "1", "k2": "2", "K": "3", "_c4": "4"}]
    ),
    "files with other headers, and without any line": Nasty(
        {"a.csv": b"k,n\na,1\n", "b.csv": b"n,m\n2,x\ny\n", "c.csv": b"", "sub/d.csv": b"k,n\n"},
        [{"k": "a", "n": "1", "m": None}, {"k": None, "n": "2", "m": "x"}],
        [(FIELDS, "y")],
    ),
    "a file name with signs": Nasty({"a b%20#[1].csv": b"k,n\na,1\n"}, [{"k": "a", "n": "1"}]),
    "another encoding": Nasty(
        {"log.csv": "k;n\né;1\n".encode("latin-1")},
        [{"k": "é", "n": "1"}],
        options={"encoding": "ISO-8859-1", "sep": ";"},
    ),
    "UTF-16": Nasty({"log.csv": "k,n\né,1\n".encode("utf-16")}, [{"k": "é", "n": "1"}]),
    "no header, other quotes and nulls": Nasty(
        {"log.csv": b"'a,b',NULL\n\"c,\n"},
        [{"_c0": "a,b", "_c1": None}, {"_c0": '"c', "_c1": None}],
        options={"header": "false", "quote": "'", "nullValue": "NULL"},
    ),
    "no quotes at all": Nasty(
        {"log.csv": b'k,n\n"a,1\nb"\n'}, [{"k": '"a', "n": "1"}], [(FIELDS, 'b"')], options={"quote": ""}
    ),
    "no line breaks inside quotes": Nasty(
        {"log.csv": b'k,n\n"a\nb",1,2\nc,3\n'},
        [{"k": "c", "n": "3"}],
        [(unclosed(1), '"a'), (FIELDS, 'b",1,2')],
        options={"multiLine": "false"},
    ),
    "two objects on a line": _json(
        b'{"a":1}{"a":2}\n{"a":3} {"a":4}\n{"a":5} x\n', [1, 2, 3, 4], [(NOT_JSON, '{"a":5} x')], lines=3
    ),
    "an object on two lines": _json(b'{"a":\n1}\n{"a":2}\n', [2], [(NOT_JSON, '{"a":'), (NOT_JSON, "1}")]),
    "a field twice": _json(
        b'{"a":1,"a":2}\n{"a":{"b":1}}\n{"a":{"b":1,"b":2}}\n',
        [{"b": 1}],
        [(REPEATED, '{"a":1,"a":2}'), (REPEATED, '{"a":{"b":1,"b":2}}')],
    ),
    "fields that differ in case": Nasty(
        {"log.jsonl": b'{"a":1,"A":2}\n{"A":3}\n'}, [{"a": 1, "A": 2}, {"a": None, "A": 3}]
    ),
    "half a character": _json(
        b'{"a":"\\ud83d\\ude00"}\n{"a":"\\ud83d"}\n{"a":"\\udc00"}\n',
        ["\U0001f600"],
        [(HALF, '{"a":"\\ud83d"}'), (HALF, '{"a":"\\udc00"}')],
    ),
    "JSON that is not UTF-8": _json(b'{"a":"\xff"}\n{"a":"b"}\n', ["b"], [(NOT_UTF_8, '{"a":"\\xff"}')]),
    "mixed types": _json(
        b'{"a":1}\n{"a":"x"}\n{"a":1.10}\n{"a":true}\n{"a":[1]}\n{"a":null}\n', ["1", "x", "1.10", "true", "[1]", None]
    ),
    "numbers": _json(b'{"a":1}\n{"a":1.5}\n{"a":-2e3}\n', [1.0, 1.5, -2000.0]),
    "a number too large": _json(b'{"a":12345678901234567890}\n{"a":7}\n', ["12345678901234567890", "7"]),
    "numbers that are none": _json(
        b'{"a":Infinity}\n{"a":Inf}\n{"a":01}\n{"a":1}\n',
        [float("inf"), 1.0],
        [(NOT_JSON, '{"a":Inf}'), (NOT_JSON, '{"a":01}')],
    ),
    "texts like times": _json(
        b'{"a":"2020-01-01"}\n{"a":"2020-01-01T00:00:00Z"}\n', ["2020-01-01", "2020-01-01T00:00:00Z"]
    ),
    "values that are no objects": _json(
        b'[1]\nnull\n"x"\n{"a":1},\n{}\n{"a":2}\n',
        [None, 2],
        [(NOT_JSON, "[1]"), (NOT_JSON, "null"), (NOT_JSON, '"x"'), (NOT_JSON, '{"a":1},')],
    ),
    "blanks, CR LF and a byte order mark": _json(b'\xef\xbb\xbf{"a":1}\r\n\r\n \t\r\n  {"a":2} \r\n{"a":3}', [1, 2, 3]),
    "nulls inside": _json(b'{"a":1}\0{"a":2}\n{"a":3}\n', [3], [(NOT_JSON, '{"a":1}\0{"a":2}')]),
    "too deep": _json(_DEEP + b'\n{"a":1}\n', [1], [(DEEP, _DEEP.decode())]),
    "objects and lists": Nasty(
        {"a.jsonl": b'{"a":{"x":1},"l":[]}\n', "b.jsonl": b'{"a":{"y":"t"},"l":[1,2.5],"e":{}}\n', "c.jsonl": b""},
        [{"a": {"x": 1, "y": None}, "l": [], "e": None}, {"a": {"x": None, "y": "t"}, "l": [1.0, 2.5], "e": "{}"}],
    ),
    "gzipped JSON": Nasty({"log.jsonl.gz": gzip.compress(b'{"a":1}\nx\n')}, [{"a": 1}], [(NOT_JSON, "x")]),
}


def in_order(rows: list[Any]) -> list[str]:
    """Rows to be compared, whatever order they came in."""
    return sorted(json.dumps(row, sort_keys=True) for row in rows)
