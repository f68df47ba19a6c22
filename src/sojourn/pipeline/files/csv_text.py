"""CSV as Arrow tables of text. An empty field is null, quoted or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyarrow import csv

from ...errors import SourceError
from .blocks import blocks_of
from .csv_records import FIELDS, NOT_TEXT, Record, Records, first_record, records_of
from .lines import BOM, Bad, Rows, is_text
from .options import CsvFormat


class CsvFile:
    """One file, read from front to back. The header, or the first record, tells the columns; none if it is empty."""

    def __init__(self, path: str, format: CsvFormat, content: pa.Buffer | None = None) -> None:
        self._path = path
        self._format = format
        self._blocks = blocks_of(path, format.encoding, content)
        self._data, self._is_last = b"", False
        self.names = self._read_names()

    def records(self) -> Iterator[Records]:
        """All records of the file, each time as many as have been read. It can be iterated once."""
        while self.names:
            records = records_of(self._data, self._format, len(self.names), is_last=self._is_last)
            yield records
            if self._is_last:
                return
            self._read_on(records.rest)

    def parsed(self, records: Records) -> Rows:
        """Records as a table, whose columns are named as in the file."""
        return parsed(records, self.names, self._format)

    def _read_names(self) -> list[str]:
        """The names of the columns; what follows the header is kept."""
        first = None
        while first is None and not self._is_last:
            self._read_on(self._data)
            first = first_record(self._data, self._format, is_last=self._is_last)
        if first is None:
            return []
        record, end = first
        if not self._format.is_headed and record.reason is None:
            return [f"_c{place}" for place in range(len(record.fields))]
        self._data = self._data[end:]
        return self._names_in(record)

    def _names_in(self, record: Record) -> list[str]:
        reason = record.reason or (None if all(map(is_text, record.fields)) else NOT_TEXT)
        if reason is not None:
            raise SourceError(f"{self._path!r} cannot be read as csv, since its first line cannot: {reason}")
        return column_names([field.decode() for field in record.fields])

    def _read_on(self, rest: bytes) -> None:
        block = next(self._blocks, None)
        self._data, self._is_last = rest + (block or b""), block is None


def column_names(header: Sequence[str]) -> list[str]:
    """As in Spark: a column without a name is called _c and its place; names that are repeated get their place added.

    So nobody is given one of two columns without having said which.
    """
    counts = Counter(header)
    return [
        f"_c{place}" if not name else f"{name}{place}" if counts[name] > 1 else name
        for place, name in enumerate(header)
    ]


def parsed(found: Records, names: Sequence[str], format: CsvFormat) -> Rows:
    """Records as a table of text; those with too many or too few fields are bad."""
    bad = list(found.bad)
    if not found.text:
        return Rows(pa.schema([(name, pa.string()) for name in names]).empty_table(), bad)

    def keep(row: csv.InvalidRow) -> str:
        bad.append(Bad(FIELDS, row.text.encode()))
        return "skip"

    places = [str(place) for place in range(len(names))]
    # Arrow would drop a byte order mark, which in the middle of a file is text.
    text = b"\n" + found.text if found.text.startswith(BOM) else found.text
    table = csv.read_csv(
        pa.BufferReader(text),
        read_options=csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=places),
        parse_options=csv.ParseOptions(
            delimiter=format.sep.decode(),
            quote_char=format.quote.decode() or False,
            newlines_in_values=found.has_breaks,
            invalid_row_handler=keep,
        ),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(places, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
            null_values=["", format.null],
        ),
    )
    return Rows(table.rename_columns(names), bad)


def under(names: Iterable[str], table: pa.Table) -> pa.Table:
    """The columns of these names; those that the table lacks are null."""
    there = set(table.column_names)
    columns = {
        name: table[name] if name in there else pa.nulls(len(table), pa.string()) for name in dict.fromkeys(names)
    }
    return pa.table(columns)
