"""Files as blocks of bytes: unpacked, and in UTF-8 whatever they are written in."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from ...errors import SourceError
from .lines import BOM

BLOCK = 1 << 22
"""Bytes at a time: enough for Arrow to be quick, and little to hold."""

PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""What the end of a file's name says of how it is packed; Spark goes by it too."""

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NOT_TEXT = "sojourn.not-text"


def blocks_of(
    path: str, encoding: str = "utf-8", content: pa.Buffer | None = None, size: int = BLOCK
) -> Iterator[bytes]:
    """The bytes of a file in UTF-8, without a byte order mark; `content` are its raw bytes, if they are at hand."""
    try:
        with _opened(path, content) as stream:
            yield from _in_utf_8(_raw(stream, size), encoding)
    except (OSError, pa.ArrowInvalid) as error:
        raise SourceError(f"{path!r} cannot be read: {error}") from None


def _opened(path: str, content: pa.Buffer | None) -> Any:
    compression = next((name for ending, name in PACKED.items() if path.lower().endswith(ending)), None)
    raw = pa.OSFile(path, "rb") if content is None else pa.BufferReader(content)
    return pa.CompressedInputStream(raw, compression) if compression else raw


def _raw(stream: Any, size: int) -> Iterator[bytes]:
    while block := stream.read(size):
        yield block


def _in_utf_8(blocks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Bytes that are not what they should be are not UTF-8 either: whoever reads the line finds out."""
    first = next(blocks, b"")
    if encoding == "utf-8" and first[:2] in _UTF_16:
        encoding = "utf-16"
    if encoding == "utf-8":
        yield first.removeprefix(BOM)
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(encoding)(_NOT_TEXT)
    yield decoder.decode(first).encode(errors="surrogateescape").removeprefix(BOM)
    for block in blocks:
        yield decoder.decode(block).encode(errors="surrogateescape")
    yield decoder.decode(b"", final=True).encode(errors="surrogateescape")


def _mark(error: UnicodeError) -> tuple[str, int]:
    """In place of what cannot be decoded, a sign that becomes the byte FF, which UTF-8 never has."""
    assert isinstance(error, UnicodeDecodeError)
    return "\udcff", error.end


codecs.register_error(_NOT_TEXT, _mark)
