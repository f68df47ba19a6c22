"""Reading what is whole in files that may be damaged: which records are there, and where they are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...errors import FormatError
from . import records as r
from .files import Files
from .segments import Header, Layout, layout, segment_name, snapshot_name


class Damage(NamedTuple):
    """Bytes that are not what was written, or a file that is not there."""

    name: str
    offset: int
    length: int

    def __str__(self) -> str:
        if not self.length:
            return f"{self.name} is missing"
        return f"{self.name} is damaged at offset {self.offset}, for {self.length:,} bytes"


class Scanned(NamedTuple):
    """A segment: its header, the records that are whole, and the damage between them."""

    number: int
    size: int
    header: Header | None
    records: list[r.Record]
    damages: list[Damage]
    torn_bytes: int
    """Behind the last record: a write that was cut off."""
    whole_end: int
    """Up to here everything is whole."""


def scan(files: Files) -> Iterator[Scanned]:
    """All segments there should be. What lies behind the end of a sealed one does not count; nor does a torn tail."""
    there = layout(files)
    before: Scanned | None = None
    for number in _numbers(there):
        one = _scanned(files, number, number in there.segments, is_last=number == there.segments[-1])
        if before is not None:
            yield _cut(before, one.header)
        before = one
    if before is not None:
        yield before


def damaged_snapshots(files: Files) -> list[Damage]:
    damages = []
    for number in layout(files).snapshots:
        name = snapshot_name(number)
        data = files.read(name)
        last = None
        try:
            for record in r.records(data, r.start_of_records(data, "SNAPSHOT", name), len(data), name):
                last = record.type
        except r.Broken as broken:
            damages.append(Damage(name, broken.offset, max(1, len(data) - broken.offset)))
        else:
            if last != r.SNAPSHOT_END:
                damages.append(Damage(name, len(data), 1))
    return damages


def _numbers(there: Layout) -> range:
    return range(there.segments[0], there.segments[-1] + 1) if there.segments else range(0)


def _scanned(files: Files, number: int, is_there: bool, *, is_last: bool) -> Scanned:
    name = segment_name(number)
    if not is_there:
        return Scanned(number, 0, None, [], [Damage(name, 0, 0)], 0, 0)
    data = files.read(name)
    records, damages, torn = [], [], 0
    for one in whole_records(data, name):
        if isinstance(one, r.Record):
            records.append(one)
        else:
            damages.append(one)
    is_at_end = bool(damages) and damages[-1].offset + damages[-1].length == len(data)
    if is_last and is_at_end and not r.was_synced(data, damages[-1].offset):
        torn = damages.pop().length
    header = Header(*r.read_body(records[0].body)) if records and records[0].type == r.SEGMENT else None
    whole_end = damages[0].offset if damages else records[-1].end if records else 0
    return Scanned(number, len(data), header, records[header is not None :], damages, torn, whole_end)


def _cut(one: Scanned, following: Header | None) -> Scanned:
    """Without what lies behind the end that the next segment names."""
    if following is None or not one.size:
        return one
    end = following.previous_end
    records = [record for record in one.records if record.end <= end]
    damages = [damage for damage in one.damages if damage.offset < end]
    damages = [damage._replace(length=min(damage.length, end - damage.offset)) for damage in damages]
    if one.size < end:
        damages.append(Damage(segment_name(one.number), one.size, end - one.size))
    return one._replace(records=records, damages=damages, torn_bytes=0, whole_end=min(one.whole_end, end))


def whole_records(data: bytes, name: str) -> Iterator[r.Record | Damage]:
    """One after the other; after what is not whole, from the next that is."""
    view = memoryview(data)
    try:
        offset = r.start_of_records(data, "LOG", name)
    except r.Broken:
        offset = _next_whole(data, view, 0, name)
        yield Damage(name, 0, max(1, offset))
    while offset < len(data):
        record = r.record_at(view, offset, len(data), name)
        if record is not None:
            yield record
            offset = record.end
            continue
        after = _next_whole(data, view, offset + 1, name)
        yield Damage(name, offset, after - offset)
        offset = after


def _next_whole(data: bytes, view: memoryview, start: int, name: str) -> int:
    """Where the next whole record begins; the end, if there is none."""
    at = start - 1
    while (at := data.find(r.MAGIC, at + 1)) >= 0:
        try:
            if r.record_at(view, at, len(data), name) is not None:
                return at
        except FormatError:
            continue
    return len(data)
