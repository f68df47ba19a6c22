"""CSV and JSON Lines, whole files of them: here, and in the tasks of a job.

Whoever asks, the same functions read the same bytes: so no two engines can read a file differently.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from ...errors import SourceError
from ..schema import QUARANTINE
from .blocks import BLOCK, blocks_of
from .csv_text import CsvFile, under
from .json_text import fits, read_block, united_rows
from .json_values import common_schema, settled
from .lines import Rows, end_of_lines, united, with_corrupt
from .options import CsvFormat, check_json_options

Part = TypeVar("Part")
Done = TypeVar("Done")

PATH, CONTENT, LINE = "path", "content", "value"
"""What Spark hands to a task: the path of a file, and its bytes if no path will do; or a line. Spark names them so."""

ROWS_AT_ONCE = 1 << 16
"""How many rows a task hands on at once."""


def read_csv(paths: Iterable[str], options: Mapping[str, str]) -> Rows:
    """All columns of some files, in order of appearance."""
    format = CsvFormat.of(options)
    parts = [part for path in paths for part in _read_csv_file(path, format)]
    names = dict.fromkeys(name for part in parts for name in part.table.column_names)
    return united(parts, [under(names, part.table) for part in parts] or [pa.table({})])


def _read_csv_file(path: str, format: CsvFormat) -> list[Rows]:
    file = CsvFile(path, format)
    return _in_order(file.parsed, file.records())


def read_json(paths: Sequence[str], options: Mapping[str, str]) -> Rows:
    """All fields of some files as columns; a second time where the first one shows that types are mixed."""
    check_json_options(options)
    parts = _in_order(read_block, json_blocks(paths))
    schema = settled(common_schema(part.table.schema for part in parts))
    if not all(fits(part.table, schema) for part in parts):
        parts = _in_order(lambda block: read_block(block, schema), json_blocks(paths))
    return united_rows(parts, schema)


def json_schema(paths: Sequence[str], options: Mapping[str, str]) -> pa.Schema:
    """All fields of some files as columns, with types that have room for the values of all."""
    check_json_options(options)
    return settled(common_schema(_in_order(lambda block: read_block(block).table.schema, json_blocks(paths))))


def json_blocks(paths: Iterable[str]) -> Iterator[bytes]:
    """Blocks that end with a line."""
    for path in paths:
        rest = b""
        for block in blocks_of(path):
            data = rest + block
            end = end_of_lines(data)
            rest = data[end:]
            if end:
                yield data[:end]
        yield rest


def _in_order(work: Callable[[Part], Done], parts: Iterable[Part]) -> list[Done]:
    """As `map`, on all cores: while Arrow works on some parts, the next one is made, but none before it is needed."""
    done: list[Done] = []
    at_work: deque[Future[Done]] = deque()
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        for part in parts:
            at_work.append(pool.submit(work, part))
            if len(at_work) > pa.cpu_count():
                done.append(at_work.popleft().result())
        return done + [future.result() for future in at_work]


@dataclass(frozen=True)
class CsvHeaders:
    """In a task: the names of the columns of each file, with its path; or what is wrong with it."""

    format: CsvFormat

    schema = pa.schema([(PATH, pa.string()), ("names", pa.list_(pa.string())), ("error", pa.string())])

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for path, content in _files(batches):
            try:
                header: dict[str, object] = {"names": CsvFile(path, self.format, content).names}
            except SourceError as error:
                header = {"error": str(error)}
            yield pa.RecordBatch.from_pylist([{PATH: path, **header}], self.schema)


@dataclass(frozen=True)
class CsvTask:
    """In a task: some files as rows of these columns, all text."""

    format: CsvFormat
    names: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(name, pa.string()) for name in self.names])

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Rows]:
        for path, content in _files(batches):
            file = CsvFile(path, self.format, content)
            for found in file.records():
                rows = file.parsed(found)
                yield Rows(under(self.names, rows.table), rows.bad)


@dataclass(frozen=True)
class JsonTask:
    """In a task: lines as rows of a schema; or messages, in which a line break is just another blank."""

    schema: pa.Schema
    are_messages: bool = False

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Rows]:
        given = map(_on_a_line, batches) if self.are_messages else batches
        return (read_block(block, self.schema) for block in _line_blocks(given))


@dataclass(frozen=True)
class JsonTypes:
    """In a task: the columns of lines, as a schema of Arrow's."""

    schema = pa.schema([("columns", pa.binary())])

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        columns = common_schema(read_block(block).table.schema for block in _line_blocks(batches))
        yield pa.RecordBatch.from_pylist([{"columns": columns.serialize().to_pybytes()}], self.schema)


@dataclass(frozen=True)
class Readable:
    """In a task: what can be read."""

    task: CsvTask | JsonTask

    @property
    def schema(self) -> pa.Schema:
        return self.task.schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in self.task.rows(batches):
            yield from rows.table.to_batches(ROWS_AT_ONCE)


@dataclass(frozen=True)
class Unreadable:
    """In a task: the lines that cannot be read, as a quarantine."""

    task: CsvTask | JsonTask

    schema = QUARANTINE

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in self.task.rows(batches):
            yield from rows.quarantine().to_batches(ROWS_AT_ONCE)


@dataclass(frozen=True)
class Together:
    """In a task: both in one table, as `lines` has it."""

    task: CsvTask | JsonTask

    @property
    def schema(self) -> pa.Schema:
        return with_corrupt(self.task.schema)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in self.task.rows(batches):
            yield from rows.together(self.task.schema).to_batches(ROWS_AT_ONCE)


def _files(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.Buffer | None]]:
    """The path of each file, and its bytes if they came along. Hadoop writes file:/a/b for /a/b."""
    for batch in batches:
        has_content = CONTENT in batch.schema.names
        for place, path in enumerate(batch[PATH].to_pylist()):
            content = batch[CONTENT][place].as_buffer() if has_content else None
            yield path.removeprefix("file://").removeprefix("file:"), content


def _line_blocks(batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Lines, put together into blocks that are worth reading."""
    waiting: list[pa.Array] = []
    for batch in batches:
        waiting.append(batch[LINE])
        if sum(lines.nbytes for lines in waiting) >= BLOCK:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def _on_a_line(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Messages as lines; one that is missing or empty is a null, so that it is set aside."""
    values = batch[LINE]
    null = pa.scalar(b"null", values.type)
    values = pc.if_else(pc.equal(pc.binary_length(values), 0), null, values).fill_null(null)
    for sign in (b"\n", b"\r"):
        values = pc.replace_substring(values, sign, b" ")
    return pa.record_batch({LINE: values})


def _joined(parts: Sequence[pa.Array]) -> bytes:
    lines = pa.concat_arrays(parts)
    all_of_them = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    joined: bytes = pc.binary_join(all_of_them, pa.scalar(b"\n", lines.type))[0].as_py()
    return joined
