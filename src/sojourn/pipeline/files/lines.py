"""Lines of text: where they begin and end, and what becomes of those that cannot be read.

A line ends with LF, CR LF or CR. A line that cannot be read never spoils the others: it is set aside unchanged, with
the reason.

Where rows and such lines travel in one table, as in a stream, it has two more columns: CORRUPT_LINE and
CORRUPT_REASON, why it could not be read. Both are null in rows that were read; where they are not, all others are null.
In the quarantine such a line is CORRUPT_REASON and, as JSON, an object with nothing but CORRUPT.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..schema import CORRUPT, CORRUPT_LINE, CORRUPT_REASON, QUARANTINE

CORRUPT_FIELDS = (pa.field(CORRUPT_LINE, pa.string()), pa.field(CORRUPT_REASON, pa.string()))

BOM = b"\xef\xbb\xbf"
LF, CR = 10, 13

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]


class Bad(NamedTuple):
    """A line that cannot be read, or the lines of one record."""

    reason: str
    line: bytes


class Rows(NamedTuple):
    """What became of some lines."""

    table: pa.Table
    bad: list[Bad]

    def quarantine(self) -> pa.Table:
        """The lines that could not be read, as a quarantine table."""
        rows = [json.dumps({CORRUPT: shown(bad.line)}, ensure_ascii=False) for bad in self.bad]
        no_rule = pa.nulls(len(rows), pa.string())
        reasons = pa.array([bad.reason for bad in self.bad], pa.string())
        return pa.table([no_rule, reasons, pa.array(rows, pa.string())], schema=QUARANTINE)

    def together(self, schema: pa.Schema) -> pa.Table:
        """One table of these columns, CORRUPT_LINE and CORRUPT_REASON."""
        count, lines = len(self.table), [shown(bad.line) for bad in self.bad]
        texts = [lines, [bad.reason for bad in self.bad]]
        empty = [pa.nulls(len(lines), field.type) for field in schema]
        bad = pa.table([*empty, *(pa.array(text, pa.string()) for text in texts)], schema=with_corrupt(schema))
        good = [*self.table.columns, *(pa.nulls(count, pa.string()) for _ in texts)]
        return pa.concat_tables([pa.table(good, schema=with_corrupt(schema)), bad])


class Lines(NamedTuple):
    """Where the lines of some bytes start, and where they end: at their line break, or at the end of the bytes."""

    starts: Places
    ends: Places


def with_corrupt(schema: pa.Schema) -> pa.Schema:
    return pa.schema([*schema, *CORRUPT_FIELDS])


def shown(line: bytes) -> str:
    """A line as text; bytes that are not text are escaped as in Python, such as \\xff."""
    return line.decode(errors="backslashreplace")


def is_text(data: bytes) -> bool:
    """Whether all of it is UTF-8."""
    if data.isascii():
        return True
    try:
        pa.array([data], pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True


def lines_of(data: bytes) -> Lines:
    """The lines of some bytes, the empty ones too."""
    characters = np.frombuffer(data, np.uint8)
    breaks = np.flatnonzero(characters == LF)
    ends = breaks
    if b"\r" in data:
        breaks, ends = _breaks(characters)
    starts = np.concatenate([[0], breaks + 1])
    if starts[-1] == len(data):
        return Lines(starts[:-1], ends)
    return Lines(starts, np.append(ends, len(data)))


def _breaks(characters: Bytes) -> tuple[Places, Places]:
    """The last character of each line break, and the first."""
    is_cr, is_lf = characters == CR, characters == LF
    follows_cr = np.append(False, is_cr[:-1])
    precedes_lf = np.append(is_lf[1:], False)
    breaks = np.flatnonzero(is_lf | (is_cr & ~precedes_lf))
    return breaks, breaks - (is_lf & follows_cr)[breaks]


def end_of_lines(data: bytes) -> int:
    """Where the last line break ends; 0 if there is none. A CR at the very end may be half of one."""
    return max(data.rfind(b"\n"), data.rfind(b"\r", 0, max(0, len(data) - 1))) + 1


def united(parts: Sequence[Rows], tables: Iterable[pa.Table]) -> Rows:
    """Tables that fit together, as one, and the bad lines of all parts."""
    return Rows(pa.concat_tables(tables, promote_options="permissive"), [bad for part in parts for bad in part.bad])
