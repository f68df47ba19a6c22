"""XES event logs (the process-mining standard, IEEE 1849), plain or gzipped, as Arrow tables.

Read as a stream, so that only the columns stay in memory. An event's attributes become columns of the same name, its
trace's attributes columns named `case:...`. Texts, ids and dates stay text: whoever reads the times says which are no
good. Attributes inside other attributes, lists and the declared defaults of a log are not read.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast
from xml.parsers import expat

import pyarrow as pa

from ...errors import SourceError

COLUMNS = {"key": "case:concept:name", "kind": "concept:name", "at": "time:timestamp", "source": "org:resource"}
"""How an XES log calls our columns."""

_NUMBERS = {pa.int64(), pa.float64()}
EVENTS_PER_CHUNK = 100_000
GZIP_MAGIC = b"\x1f\x8b"

Row = dict[str, Any]


def read_table(path: str | Path) -> pa.Table:
    """All events of an XES file, each with its trace's attributes, in the order of the file."""
    chunks: list[pa.Table] = []
    reader = _Reader(lambda rows: chunks.append(_table(rows)))
    with _opened(path) as file:
        try:
            reader.parse(file)
        except expat.ExpatError as error:
            reason = expat.errors.messages[error.code]
            raise SourceError(f"{path}, line {error.lineno}: this is not XML: {reason}") from None
        except (gzip.BadGzipFile, zlib.error, EOFError, _NotXes) as error:
            raise SourceError(f"{path}: {error}") from None
    return united(chunks)


class _NotXes(Exception):  # noqa: N818  (it never leaves this module)
    """The root of the document is not a log."""


class _Reader:
    """Rows out of the parser's calls; `flush` gets them in chunks, never in the middle of a trace."""

    def __init__(self, flush: Callable[[list[Row]], object]) -> None:
        self._flush = flush
        self._open: list[str] = []
        self._rows: list[Row] = []
        self._trace: Row = {}
        self._trace_starts = 0

    def parse(self, file: BinaryIO) -> None:
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.ParseFile(file)
        self._flush(self._rows)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(":")[2]
        if not self._open and tag != "log":
            raise _NotXes(f"this is not XES: the document is a <{tag}>, not a <log>")
        if tag == "trace":
            self._trace, self._trace_starts = {}, len(self._rows)
        elif tag == "event":
            self._rows.append({})
        elif "key" in attributes and "value" in attributes:
            self._set(tag, attributes["key"], attributes["value"])
        self._open.append(tag)

    def _set(self, tag: str, key: str, value: str) -> None:
        match self._open[-1]:
            case "event":
                self._rows[-1][key] = _typed(tag, value)
            case "trace":
                self._trace[f"case:{key}"] = _typed(tag, value)

    def _end(self, name: str) -> None:
        if self._open.pop() != "trace":
            return
        for row in self._rows[self._trace_starts :]:
            row.update(self._trace)
        if len(self._rows) >= EVENTS_PER_CHUNK:
            self._flush(self._rows)
            self._rows = []


_READERS: dict[str, Callable[[str], object]] = {
    "int": int,
    "float": float,
    "boolean": lambda text: {"true": True, "1": True, "false": False, "0": False}[text],
}


def _typed(tag: str, text: str) -> object:
    """The value of an attribute; a text that its type does not allow stays a text."""
    try:
        return _READERS[tag](text.strip()) if tag in _READERS else text
    except (ValueError, KeyError):
        return text


def _table(rows: list[Row]) -> pa.Table:
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: _array([row.get(name) for row in rows]) for name in names})


def _array(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # attributes of one name, but of several types
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def united(chunks: list[pa.Table]) -> pa.Table:
    """One table; a column whose chunks differ in type is text, unless all are numbers."""
    types: dict[str, set[pa.DataType]] = {}
    for chunk in chunks:
        for field in chunk.schema:
            types.setdefault(field.name, set()).add(field.type)
    mixed = {name for name, found in types.items() if len(found) > 1 and not found <= _NUMBERS}
    return pa.concat_tables([_as_text(chunk, mixed) for chunk in chunks], promote_options="permissive")


def _as_text(chunk: pa.Table, names: set[str]) -> pa.Table:
    for place, field in enumerate(chunk.schema):
        if field.name in names and not pa.types.is_string(field.type):
            texts = [None if value is None else str(value) for value in chunk.column(place).to_pylist()]
            chunk = chunk.set_column(place, field.name, pa.array(texts, pa.string()))
    return chunk


def _opened(path: str | Path) -> BinaryIO:
    """The file, unpacked if it starts like gzip, whatever its name."""
    with open(path, "rb") as file:
        is_packed = file.read(2) == GZIP_MAGIC
    return cast(BinaryIO, gzip.open(path) if is_packed else open(path, "rb"))
