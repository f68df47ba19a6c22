"""Records, the units of the log: a header of 20 bytes, then JSON. docs/reference/log-format.md has the format.

    magic 2 | type 1 | version 1 | length 4 | synced 8 | CRC-32C 4 | body

The checksum covers everything but itself. `synced` says up to which offset of its file everything was known to be on
the disk when the record was written. That tells a torn tail from damage: what a later record calls synced was once
whole. JSON in UTF-8 never contains the first byte of the magic, so a reader that has lost its way finds the next
record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import DamagedError, FormatError, NotStorableError
from .._build import crc32c

if TYPE_CHECKING:
    from .files import Files

FORMAT = 1
"""The version of the whole: file names, first lines, headers. Folders of a later one are refused."""

VERSION = 1
"""The version of every record that is written now."""

MAGIC = b"\xf5\xfa"
HEADER = Struct("<2sBBIQ")
CRC = Struct("<I")
SIZE = HEADER.size + CRC.size
HALF = re.compile("[\ud800-\udfff]")
PIECE = 2**22
"""Bytes that are read at a time of a file that may be large."""
MOST_BYTES = 2**31
"""No record is longer."""

# What happened. Of each, `State` has a method that applies it.
SEGMENT, START, RULE, WAIT, SIGNAL, EXTEND, CANCEL, CANCEL_WHERE, SHIFT, TOLD, CLOCK, GRACE_OVER, CLOSE = range(13)
# The parts of a snapshot.
SNAPSHOT, SNAPSHOT_WAITS, SNAPSHOT_MEMORY, SNAPSHOT_IDS, SNAPSHOT_END = range(64, 69)

NAMES = {
    SEGMENT: "segment",
    START: "start",
    RULE: "rule",
    WAIT: "wait",
    SIGNAL: "signal",
    EXTEND: "extend",
    CANCEL: "cancel",
    CANCEL_WHERE: "cancel_where",
    SHIFT: "shift",
    TOLD: "told",
    CLOCK: "clock",
    GRACE_OVER: "grace_over",
    CLOSE: "close",
}
"""For people, as `sojourn inspect` lists them."""

KNOWN = frozenset((*NAMES, *range(SNAPSHOT, SNAPSHOT_END + 1)))


class Record(NamedTuple):
    """One record as it was found. `body` is bytes: whoever wants only some types decodes only those."""

    offset: int
    type: int
    body: memoryview
    end: int


class Broken(Exception):  # noqa: N818  (it never leaves this package)
    """There is no whole record at this offset."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False, allow_nan=False)


_make_encoder: Any = getattr(json.encoder, "c_make_encoder", None)
_encode = _make_encoder and _make_encoder(
    None, _encoder.default, json.encoder.encode_basestring, None, ":", ",", False, False, False
)
"""What `_encoder` makes anew for each text: for a small one that takes most of the time."""


def json_text(body: Any) -> str:
    return "".join(_encode(body, 0)) if _encode else _encoder.encode(body)


def json_bytes(body: Any) -> bytes:
    try:
        data = json_text(body).encode()
    except UnicodeEncodeError:
        raise half_a_pair(body) from None
    if len(data) > MOST_BYTES:
        raise NotStorableError(
            f"one call of {len(data):,} bytes; a record has at most {MOST_BYTES:,}: use several calls"
        )
    return data


def half_a_pair(body: Any) -> NotStorableError:
    """What to say of the first text in it that UTF-8 cannot write."""
    text, half = next((text, half) for text in _texts(body) if (half := HALF.search(text)))
    shown = text[max(0, half.start() - 20) : half.end() + 20]
    return NotStorableError(f"text {shown!r} has half a surrogate pair in it, which UTF-8 cannot write; leave it out")


def _texts(body: Any) -> Iterator[str]:
    if isinstance(body, str):
        yield body
    for item in body if isinstance(body, list | tuple | dict) else ():
        yield from _texts(item)
        if isinstance(body, dict):
            yield from _texts(body[item])


def read_body(body: memoryview | bytes) -> Any:
    return json.loads(bytes(body))


def framed(type_: int, body: bytes, synced: int) -> bytes:
    """A record as it is written."""
    header = HEADER.pack(MAGIC, type_, VERSION, len(body), synced)
    return b"".join((header, CRC.pack(crc32c(body, crc32c(header))), body))


def records(data: bytes, start: int, end: int, name: str) -> Iterator[Record]:
    """The records in `data[start:end]`, one after the other; `Broken` at the first that is not whole."""
    offset, view = start, memoryview(data)
    while offset < end:
        record = record_at(view, offset, end, name)
        if record is None:
            raise Broken(offset)
        yield record
        offset = record.end


def records_of_file(files: Files, what: str, name: str) -> Iterator[Record]:
    """The records of a whole file, read piece by piece, since it may be larger than memory."""
    size, data, start = files.size(name), files.read(name, 0, PIECE), 0
    offset = start_of_records(data, what, name)
    while start + offset < size:
        need = offset + SIZE
        if need <= len(data):
            need += HEADER.unpack_from(data, offset)[3]
        if need > len(data) and start + len(data) < size:
            data = files.read(name, start + offset, max(PIECE, need - offset))
            start, offset = start + offset, 0
            continue
        record = record_at(memoryview(data), offset, len(data), name)
        if record is None:
            raise Broken(start + offset)
        yield record._replace(offset=start + offset, end=start + record.end)
        offset = record.end


def record_at(view: memoryview, offset: int, end: int, name: str) -> Record | None:
    """The record that starts there; None if none does."""
    found = _checked(view, offset, end)
    if found is None:
        return None
    type_, version, body, _ = found
    if version > VERSION or type_ not in KNOWN:
        what = f"version {version}, and this Sojourn reads up to {VERSION}" if version > VERSION else f"type {type_}"
        raise FormatError(
            f"{name}, offset {offset}: a record of {what}; "
            "open the folder with the version that wrote it, or a later one"
        )
    return Record(offset, type_, body, offset + SIZE + len(body))


def _checked(view: memoryview, offset: int, end: int) -> tuple[int, int, memoryview, int] | None:
    """Type, version, body and `synced` of the record that starts there; None if it is not whole."""
    start = offset + SIZE
    if start > end:
        return None
    magic, type_, version, length, synced = HEADER.unpack_from(view, offset)
    if magic != MAGIC or start + length > end:
        return None
    body = view[start : start + length]
    crc = crc32c(body, crc32c(view[offset : offset + HEADER.size]))
    return (type_, version, body, synced) if crc == CRC.unpack_from(view, offset + HEADER.size)[0] else None


def was_synced(data: bytes, offset: int) -> bool:
    """Whether a whole record behind `offset` says that what is there had reached the disk."""
    view, at = memoryview(data), offset
    while (at := data.find(MAGIC, at + 1)) >= 0:
        found = _checked(view, at, len(data))
        if found is not None and found[3] > offset:
            return True
    return False


def first_line(what: str) -> bytes:
    return f"SOJOURN {what} {FORMAT}\n".encode()


def start_of_records(data: bytes, what: str, name: str) -> int:
    """Where the records of a file begin; `Broken` if it does not begin as it should."""
    line, newline, _ = data[:64].partition(b"\n")
    words = line.split(b" ")
    if not newline or words[:2] != [b"SOJOURN", what.encode()] or len(words) != 3 or not words[2].isdigit():
        raise Broken(0)
    if int(words[2]) > FORMAT:
        raise FormatError(
            f"{name} has format {int(words[2])}, and this Sojourn reads up to format {FORMAT}; "
            "open the folder with the version that wrote it, or a later one"
        )
    return len(line) + 1


def damaged(name: str, offset: int) -> DamagedError:
    return DamagedError(
        f"{name} is damaged at offset {offset}: what is there was on the disk once, and is not what was written; "
        "restore the file from a backup"
    )
