"""Reading the log: which files there are, where each ends, and the records in them.

Segments are numbered without gaps. The first record of each says where the one before ends: whatever is behind that,
such as a write that failed half-way, was never acknowledged and does not count. So a tail is cut by starting the next
segment, and a file that was written is never changed again.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import NamedTuple

from ...errors import DamagedError
from .files import Files
from .records import SEGMENT, Broken, Record, damaged, read_body, record_at, records, start_of_records, was_synced

LOCK = "lock"
CHANGES = "changes"
"""The folder of the data set beside the log in which there is a file for every segment that was converted."""

_NAME = re.compile(r"(log|snapshot)-([0-9]{8,})\.sj")
_LONGEST_HEADER = 4096


class Position(NamedTuple):
    """A place in the log: up to there everything is known."""

    segment: int
    offset: int


class Tail(NamedTuple):
    """Where the log ends, and how many bytes behind that were not whole."""

    position: Position
    torn_bytes: int


class Header(NamedTuple):
    """The first record of a segment."""

    segment: int
    previous_end: int
    """Where the segment before ends."""
    stamp: int
    next_number: int
    """Of outcomes: the first that can be told in this segment."""


class Layout(NamedTuple):
    """The files of a folder, by number. A snapshot is the state at the start of the segment of its number."""

    segments: list[int]
    snapshots: list[int]


def segment_name(number: int) -> str:
    return f"log-{number:08}.sj"


def snapshot_name(number: int) -> str:
    return f"snapshot-{number:08}.sj"


def layout(files: Files) -> Layout:
    found: dict[str, list[int]] = {"log": [], "snapshot": []}
    for name in files.names():
        if match := _NAME.fullmatch(name):
            found[match[1]].append(int(match[2]))
    return Layout(sorted(found["log"]), sorted(found["snapshot"]))


def header_of(files: Files, number: int) -> Header | None:
    """The header of a segment; None of one that was never finished, in which nothing else can be."""
    name = segment_name(number)
    data = files.read(name, 0, _LONGEST_HEADER)
    try:
        start = start_of_records(data, "LOG", name)
        record = record_at(memoryview(data), start, len(data), name)
        if record is not None and record.type == SEGMENT:
            return Header(*read_body(record.body))
    except Broken:
        pass
    if was_synced(files.read(name), 0):
        raise damaged(name, 0)
    return None


def headers(files: Files, segments: list[int]) -> list[Header]:
    """Those of all segments, without a last one that was never finished, and the first if they have gone meanwhile."""
    found: list[Header] = []
    for number in segments:
        try:
            header = header_of(files, number)
        except FileNotFoundError:
            if found:
                raise
            continue
        if header is None:
            if number != segments[-1]:
                raise damaged(segment_name(number), 0)
            break
        if header.segment != number or (found and number != found[-1].segment + 1):
            raise DamagedError(
                f"{segment_name(number)} does not follow {segment_name(found[-1].segment) if found else 'its name'}: "
                "a segment is missing or misnamed; restore it from a backup"
            )
        found.append(header)
    return found


def walk(
    files: Files, found: list[Header], start: Position, until: Position | None = None
) -> Generator[Record, None, Tail]:
    """The records from a position on, in order, without headers; returns where the log ends.

    A last record that is not whole is the tail of a write that was cut off; anywhere else it is damage.
    """
    last_end = None if until is None else until.offset
    tail = Tail(start, 0)
    for i, header in enumerate(found):
        if header.segment < start.segment:
            continue
        end = found[i + 1].previous_end if i + 1 < len(found) else last_end
        offset = start.offset if header.segment == start.segment else 0
        tail = yield from _walk_segment(files, header.segment, offset, end)
    return tail


def _walk_segment(files: Files, number: int, offset: int, end: int | None) -> Generator[Record, None, Tail]:
    name = segment_name(number)
    data = files.read(name)
    if end is not None and len(data) < end:
        raise damaged(name, len(data))
    last, reached = len(data) if end is None else end, offset
    try:
        reached = reached or start_of_records(data, "LOG", name)
        for record in records(data, reached, last, name):
            reached = record.end
            if record.type != SEGMENT:
                yield record
    except Broken as broken:
        if end is not None or was_synced(data, broken.offset):
            raise damaged(name, broken.offset) from None
        reached = broken.offset
    return Tail(Position(number, reached), last - reached)
