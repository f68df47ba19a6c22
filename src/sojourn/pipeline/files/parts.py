"""A log in parts, each read when it is needed: so that a log of any size can be read in little memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pyarrow as pa
from pyarrow import dataset

from ..schema import QUARANTINE
from . import meanings
from .csv_records import Records
from .csv_text import CsvFile, under
from .json_text import read_block
from .options import CsvFormat
from .texts import json_blocks

ROWS_AT_ONCE = 1 << 20
"""About how many rows a part of a table has: enough for Arrow to be quick, and little to hold."""


class ReadLog(NamedTuple):
    """What was read: events, and as a quarantine table the lines that cannot be read as events at all."""

    events: pa.Table
    unreadable: pa.Table


class Part(Protocol):
    """Some rows of a log."""

    @property
    def names(self) -> list[str]:
        """The names of all its columns."""

    def read(self, columns: Collection[str] | None = None) -> ReadLog:
        """The rows, anew each time; with these columns only, if they are named."""


@dataclass(frozen=True)
class TablePart:
    """Rows that have been read."""

    log: ReadLog

    @property
    def names(self) -> list[str]:
        return list(self.log.events.column_names)

    def read(self, columns: Collection[str] | None = None) -> ReadLog:
        events = self.log.events
        return self.log._replace(events=events if columns is None else events.select(list(columns)))


@dataclass(frozen=True)
class DatasetPart:
    """Some groups of rows of a file."""

    files: dataset.Dataset

    @property
    def names(self) -> list[str]:
        return list(self.files.schema.names)

    def read(self, columns: Collection[str] | None = None) -> ReadLog:
        return ReadLog(meanings.read(self.files, columns), nothing())


@dataclass(frozen=True)
class CsvPart:
    """Some records of a file, as columns of these names."""

    file: CsvFile
    records: Records
    names: list[str]

    def read(self, columns: Collection[str] | None = None) -> ReadLog:
        rows = self.file.parsed(self.records)
        return ReadLog(under(self.names if columns is None else columns, rows.table), rows.quarantine())


@dataclass(frozen=True)
class JsonPart:
    """Some lines of a file, as columns of this schema."""

    lines: bytes
    schema: pa.Schema

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    def read(self, columns: Collection[str] | None = None) -> ReadLog:
        rows = read_block(self.lines, self.schema)
        return ReadLog(rows.table if columns is None else rows.table.select(list(columns)), rows.quarantine())


def table_parts(log: ReadLog) -> Iterator[Part]:
    """What has been read, in parts: at least one, which has the lines that cannot be read."""
    yield TablePart(log._replace(events=log.events.slice(0, ROWS_AT_ONCE)))
    for start in range(ROWS_AT_ONCE, len(log.events), ROWS_AT_ONCE):
        yield TablePart(ReadLog(log.events.slice(start, ROWS_AT_ONCE), nothing()))


def dataset_parts(files: dataset.Dataset) -> Iterator[Part]:
    """Files in groups of rows; where their format has no such groups, file by file."""
    for fragment in files.get_fragments():
        for some in _row_groups(fragment):
            yield DatasetPart(dataset.FileSystemDataset([some], files.schema, files.format, files.filesystem))


def _row_groups(fragment: dataset.Fragment) -> Iterator[dataset.Fragment]:
    if not isinstance(fragment, dataset.ParquetFileFragment) or not fragment.row_groups:
        yield fragment
        return
    chosen: list[int] = []
    rows = 0
    for group in fragment.row_groups:
        chosen.append(group.id)
        rows += group.num_rows
        if rows >= ROWS_AT_ONCE:
            yield fragment.subset(row_group_ids=chosen)
            chosen, rows = [], 0
    if chosen:
        yield fragment.subset(row_group_ids=chosen)


def csv_names(paths: Collection[str], format: CsvFormat) -> list[str]:
    """The columns of some files, in order of appearance."""
    return list(dict.fromkeys(name for path in paths for name in CsvFile(path, format).names))


def csv_parts(paths: Collection[str], format: CsvFormat, names: list[str]) -> Iterator[Part]:
    """Files block by block, all with these columns."""
    for path in paths:
        file = CsvFile(path, format)
        for records in file.records():
            yield CsvPart(file, records, names)


def json_parts(paths: Collection[str], schema: pa.Schema) -> Iterator[Part]:
    """Files block by block, all with these columns."""
    for lines in json_blocks(paths):
        yield JsonPart(lines, schema)


def nothing() -> pa.Table:
    """No line that cannot be read."""
    return QUARANTINE.empty_table()
