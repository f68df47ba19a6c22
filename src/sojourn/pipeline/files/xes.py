"""XES event logs (the process-mining standard, IEEE 1849), plain or gzipped, as Arrow tables.

Read as a stream, so that only the columns stay in memory. An event's attributes become columns of the same name, its
trace's attributes columns named `case:...`. Texts, ids and dates stay text: invalid times are found when
they are read. Attributes inside other attributes, lists and the declared defaults of a log are ignored.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast
from xml.parsers import expat

import pyarrow as pa

from ...errors import SourceError

COLUMNS = {"key": "case:concept:name", "kind": "concept:name", "at": "time:timestamp", "source": "org:resource"}
"""What an XES log calls our columns."""

_NUMBERS = {pa.int64(), pa.float64()}
EVENTS_PER_CHUNK = 100_000
BYTES_AT_ONCE = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"

Row = dict[str, Any]


def read_table(path: str | Path) -> pa.Table:
    """All events of an XES file, each with its trace's attributes, in the order of the file."""
    return united(list(read_chunks(path)))


def read_chunks(path: str | Path) -> Iterator[pa.Table]:
    """The same, some traces at a time."""
    with _opened(path) as file:
        try:
            for rows in _Reader().chunks(file):
                yield _table(rows)
        except expat.ExpatError as error:
            reason = expat.errors.messages[error.code]
            raise SourceError(f"{path}, line {error.lineno}: this is not XML: {reason}") from None
        except (gzip.BadGzipFile, zlib.error, EOFError, _NotXes) as error:
            raise SourceError(f"{path}: {error}") from None


class _NotXes(Exception):  # noqa: N818  (it never leaves this module)
    """The root of the document is not a log."""


class _Reader:
    """Rows out of the parser's calls."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._rows: list[Row] = []
        self._trace: Row = {}
        self._trace_starts = 0
        self._full: list[list[Row]] = []

    def chunks(self, file: BinaryIO) -> Iterator[list[Row]]:
        """Rows of whole traces; at least one chunk, which may be empty."""
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        while data := file.read(BYTES_AT_ONCE):
            parser.Parse(data)
            yield from self._full
            self._full = []
        parser.Parse(b"", True)
        yield self._rows

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
            self._full.append(self._rows)
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
    """One table."""
    schema = common_schema(chunk.schema for chunk in chunks)
    return pa.concat_tables([fitted(chunk, schema) for chunk in chunks])


def common_schema(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """The columns of all chunks; one whose chunks differ in type is text, unless all are numbers."""
    types: dict[str, pa.DataType] = {}
    for schema in schemas:
        for field in schema:
            known = types.setdefault(field.name, field.type)
            if pa.types.is_null(known) or {known, field.type} == _NUMBERS:
                types[field.name] = pa.float64() if {known, field.type} == _NUMBERS else field.type
            elif known != field.type and not pa.types.is_null(field.type):
                types[field.name] = pa.string()
    return pa.schema(list(types.items()))


def fitted(chunk: pa.Table, schema: pa.Schema) -> pa.Table:
    """A chunk with the columns and types of a schema that has room for it."""
    there = set(chunk.column_names)
    columns = [
        _cast(chunk[field.name], field.type) if field.name in there else pa.nulls(len(chunk), field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema) if len(schema) else chunk


def _cast(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | pa.Array:
    if pa.types.is_string(kind) and not pa.types.is_string(values.type):
        return pa.array([None if value is None else str(value) for value in values.to_pylist()], kind)
    return values.cast(kind, safe=False)


def _opened(path: str | Path) -> BinaryIO:
    """The file, unpacked if it starts like gzip, whatever its name."""
    with open(path, "rb") as file:
        is_packed = file.read(2) == GZIP_MAGIC
    return cast(BinaryIO, gzip.open(path) if is_packed else open(path, "rb"))
