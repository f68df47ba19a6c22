"""Records of CSV, as RFC 4180 has them, and what to do with stray quotes.

A field that starts with a quote ends with one, and a separator or a line break follows; a quote inside is doubled, and
line breaks inside are kept. Elsewhere a quote is a character like any other, as is a backslash everywhere. So it shows
at a glance that a line is a record by itself, or that it needs a closer look: and only those lines get one here.

A stray quote at the start of a field would swallow all that follows. So a record has at most `CsvFormat.lines` lines;
and if it has `SUSPICIOUS` lines or more, and every line inside is a record by itself, it is not believed either. Then
the line with the stray quote is set aside, and reading goes on with the next line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernel.search import Flags
from .lines import CR, LF, Bad, Bytes, Lines, Places, end_of_lines, is_text, lines_of
from .options import CsvFormat
from .quotes import are_plain

SUSPICIOUS = 10

FIELDS = "the line does not have as many fields as the header"
NOT_TEXT = "the line has bytes that are not text; name the encoding of the file (--option encoding=...)"
AFTER_QUOTE = "a quote closes a field, but neither a separator nor the end of the line follows"
SWALLOWS = "a quote opens a field, and the lines that it would swallow are records by themselves"


def unclosed(lines: int) -> str:
    where = f"within {lines} lines" if lines > 1 else "in the same line"
    return f"a quote opens a field, but does not close {where}"


class Records(NamedTuple):
    """Text in which every record is well-formed, and `has_breaks` if there are line breaks inside quotes."""

    text: bytes
    has_breaks: bool
    bad: list[Bad]
    rest: bytes
    """What cannot be decided without the bytes that follow."""


class Record(NamedTuple):
    """Its fields, and how many lines it has; or why it has none."""

    fields: list[bytes]
    lines: int
    reason: str | None = None


def records_of(data: bytes, format: CsvFormat, columns: int, *, is_last: bool) -> Records:
    """The records in some bytes, which start with one. Those with more or fewer fields are left for Arrow to find."""
    end = len(data) if is_last else end_of_lines(data)
    whole, rest = data[:end], data[end:]
    if is_text(whole) and (not format.quote or format.quote not in whole or are_plain(whole, format)):
        return Records(whole, False, [], rest)
    lines = lines_of(whole)
    doubtful = np.flatnonzero(_is_doubtful(whole, lines, format))
    if not len(doubtful):
        return Records(whole, False, [], rest)
    return _looked_at(_Scan(whole, lines, format, columns, is_last), doubtful, rest)


def first_record(data: bytes, format: CsvFormat, *, is_last: bool) -> tuple[Record, int] | None:
    """The first record that is not empty, and where it ends; None if that takes more bytes, or there is none."""
    end = len(data) if is_last else end_of_lines(data)
    lines = lines_of(data[:end])
    full = np.flatnonzero(lines.ends > lines.starts)
    if not len(full):
        return None
    scan = _Scan(data[:end], lines, format, 0, is_last)
    record = scan.record(int(full[0]), format.lines)
    if record is None:
        return None
    last = int(full[0]) + record.lines
    return record, int(lines.starts[last]) if last < len(lines.starts) else end


def _is_doubtful(data: bytes, lines: Lines, format: CsvFormat) -> Flags:
    """Which lines are not, for certain, records by themselves."""
    is_doubtful = np.zeros(len(lines.starts), bool)
    if format.quote:
        is_doubtful = _has_doubtful_quotes(np.frombuffer(data, np.uint8), lines, format)
    if not is_text(data):
        bounds = zip(lines.starts.tolist(), lines.ends.tolist(), strict=True)
        is_doubtful |= np.array([not is_text(data[start:end]) for start, end in bounds], bool)
    return is_doubtful


def _has_doubtful_quotes(characters: Bytes, lines: Lines, format: CsvFormat) -> Flags:
    """Quotes open and close by turns; each that opens is after, and each that closes before, a boundary.

    A doubled one closes and opens, and is its own boundary. Where none could open a field, all are plain characters.
    """
    quotes = np.flatnonzero(characters == format.quote[0])
    bounds = np.append(np.searchsorted(quotes, lines.starts), len(quotes))
    counts = np.diff(bounds)
    opens = (np.arange(len(quotes)) - np.repeat(bounds[:-1], counts)) % 2 == 0
    before = _boundaries(characters, quotes - 1, format)
    is_good = np.where(opens, before, _boundaries(characters, quotes + 1, format))
    line = np.repeat(np.arange(len(counts)), counts)
    is_doubtful: Flags = counts % 2 == 1
    is_doubtful[line[~is_good]] = True
    follows_quote = np.append(False, np.diff(quotes) == 1)[: len(quotes)]
    may_open = np.zeros(len(counts), bool)
    may_open[line[before & ~follows_quote]] = True
    return is_doubtful & may_open


def _boundaries(characters: Bytes, places: Places, format: CsvFormat) -> Flags:
    """Where there is a separator, a quote or a line break, or nothing at all."""
    is_boundary = np.zeros(256, bool)
    is_boundary[[format.sep[0], format.quote[0], LF, CR]] = True
    found: Flags = is_boundary[characters.take(places, mode="clip")]
    if len(places) and places[0] < 0:
        found[0] = True
    if len(places) and places[-1] == len(characters):
        found[-1] = True
    return found


def _looked_at(scan: _Scan, doubtful: Places, rest: bytes) -> Records:
    """All lines, with the records that begin with doubtful ones written so that Arrow reads them as we do."""
    data, (starts, _) = scan.data, scan.lines
    pieces: list[bytes] = []
    bad: list[Bad] = []
    copied, seen, has_breaks = 0, 0, False
    for line in doubtful.tolist():
        if line < seen:
            continue
        pieces.append(data[copied : starts[line]])
        record = scan.checked(line)
        if record is None:
            return Records(b"".join(pieces), has_breaks, bad, data[starts[line] :] + rest)
        if record.reason is None:
            pieces.append(_written(record.fields, scan.format))
            has_breaks |= record.lines > 1
        else:
            bad.append(Bad(record.reason, scan.text(line, record.lines)))
        seen = line + record.lines
        copied = int(starts[seen]) if seen < len(starts) else len(data)
    pieces.append(data[copied:])
    return Records(b"".join(pieces), has_breaks, bad, rest)


def _written(fields: list[bytes], format: CsvFormat) -> bytes:
    quote = format.quote
    if not quote:
        return format.sep.join(fields) + b"\n"
    return format.sep.join(quote + field.replace(quote, quote * 2) + quote for field in fields) + b"\n"


class _Scan:
    """Looks at records one by one."""

    def __init__(self, data: bytes, lines: Lines, format: CsvFormat, columns: int, is_last: bool) -> None:
        self.data = data
        self.lines = lines
        self.format = format
        self.columns = columns
        self.is_last = is_last

    def text(self, line: int, count: int) -> bytes:
        return self.data[self.lines.starts[line] : self.lines.ends[line + count - 1]]

    def checked(self, line: int) -> Record | None:
        """The record that starts with a line, if it can be used; None if that takes more bytes to tell."""
        record = self.record(line, self.format.lines)
        if record is None or record.reason is not None:
            return record
        if self._swallows(line, record):
            return Record([], 1, SWALLOWS)
        if not is_text(self.text(line, record.lines)):
            return Record([], record.lines, NOT_TEXT)
        return record if len(record.fields) == self.columns else Record([], record.lines, FIELDS)

    def record(self, line: int, at_most: int) -> Record | None:
        """The fields from a line on, in at most `at_most` lines; an invalid record has one line."""
        data, sep, quote = self.data, self.format.sep, self.format.quote
        end, last = self._end(line), self._end(min(line + at_most, len(self.lines.ends)) - 1)
        fields: list[bytes] = []
        at, now = int(self.lines.starts[line]), line
        while True:
            if not quote or data[at : at + 1] != quote or at >= end:
                stop = data.find(sep, at, end)
                fields.append(data[at : end if stop < 0 else stop])
            else:
                stop = self._closing(at + 1, last)
                if stop < 0:
                    is_known = self.is_last or line + at_most <= len(self.lines.ends)
                    return Record([], 1, unclosed(at_most)) if is_known else None
                fields.append(data[at + 1 : stop].replace(quote * 2, quote))
                now = int(np.searchsorted(self.lines.starts, stop, "right")) - 1
                end, stop = self._end(now), stop + 1
                if stop < end and data[stop : stop + 1] != sep:
                    return Record([], 1, AFTER_QUOTE)
            if stop < 0 or stop >= end:
                return Record(fields, now - line + 1)
            at = stop + 1

    def _end(self, line: int) -> int:
        return int(self.lines.ends[line])

    def _closing(self, at: int, last: int) -> int:
        """The quote that closes a field; -1 if there is none before `last`."""
        quote = self.format.quote
        stop = self.data.find(quote, at, last)
        while stop >= 0 and stop + 1 < last and self.data[stop + 1 : stop + 2] == quote:
            stop = self.data.find(quote, stop + 2, last)
        return stop

    def _swallows(self, line: int, record: Record) -> bool:
        if record.lines < SUSPICIOUS or self.columns < 2:
            return False
        return all(self._is_whole(inner) for inner in range(line + 1, line + record.lines - 1))

    def _is_whole(self, line: int) -> bool:
        record = self.record(line, 1)
        return record is not None and record.reason is None and len(record.fields) == self.columns
