"""Columns of texts: their hashes, their codes, and texts made of others. Compiled, each is one pass over their bytes.

What is here in NumPy and Arrow gives the same, to the last bit: the shard of a key must not depend on who asks for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._build import core
from ..kernel.search import Ints, RowNumbers

Hashes = NDArray[np.uint64]

_LARGE = pa.large_string()
_WORD = 8
_MOST_WORDS = 64
_BLOCK = 1 << 14
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio: the upper bits of a product with it are as good as random."""


def bounds_and_bytes(texts: pa.Array) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Text i is the bytes between bounds i and i + 1."""
    _, offsets, data = texts.buffers()
    wide = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    if not len(texts):
        return np.zeros(1, wide), np.zeros(0, np.uint8)
    bounds = np.frombuffer(offsets, wide)[texts.offset : texts.offset + len(texts) + 1]
    return bounds, np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def texts_of(bounds: NDArray[Any], data: NDArray[np.uint8], mask: NDArray[np.bool_] | None = None) -> pa.Array:
    """The texts between these bounds, null where the mask is set."""
    kind = _LARGE if bounds.dtype == np.int64 else pa.string()
    valid = None if mask is None else pa.py_buffer(np.packbits(~mask, bitorder="little"))
    return pa.Array.from_buffers(kind, len(bounds) - 1, [valid, pa.py_buffer(bounds), pa.py_buffer(data)])


def hashes(texts: pa.Array) -> Hashes:
    """A hash of each text, 64 bits that are as good as random. Arrow has no such function.

    A text of more than half a kilobyte is sampled: its hash is made from 64 of its words.
    """
    bounds, data = bounds_and_bytes(texts)
    if core is not None:
        return np.asarray(core.hashes(bounds, data))
    mixed = np.empty(len(texts), np.uint64)
    first, last = int(bounds[0]), int(bounds[-1])
    padded = np.zeros(last - first + _WORD, np.uint8)
    padded[_WORD:] = data[first:last]
    words: Hashes = np.ndarray((last - first + 1,), "<u8", padded, strides=(1,))  # words[i]: 8 bytes, up to byte i
    for low in range(0, len(texts), _BLOCK):  # so few that they stay in the caches
        block = bounds[low : low + _BLOCK + 1].astype(np.int64) - first
        mixed[low : low + _BLOCK] = _mixed(words, block[:-1], block[1:])
    return mixed


def _mixed(words: Hashes, start: Ints, end: Ints) -> Hashes:
    length = end - start
    mixed: Hashes = words[end] >> ((_WORD - np.clip(length, 1, _WORD)) * 8).astype(np.uint64)  # its own bytes only
    mixed *= length > 0
    mixed ^= length.view(np.uint64)
    mixed *= _GOLDEN
    shortest, longest = int(length.min()), int(length.max())
    for place in range(1, min(-(-longest // _WORD), _MOST_WORDS)):
        longer = slice(None) if shortest > place * _WORD else np.flatnonzero(length > place * _WORD)
        at = start[longer] + place * _WORD
        if longest > _WORD * _MOST_WORDS:
            spread = start[longer] + length[longer] * place // _MOST_WORDS
            at = np.where(length[longer] <= _WORD * _MOST_WORDS, at, spread)
        more = mixed[longer]
        more ^= more >> np.uint64(29)
        more ^= words[at]
        more *= _GOLDEN
        mixed[longer] = more
    return mixed


def coded(texts: pa.Array, rows: RowNumbers | None = None) -> tuple[NDArray[np.int32], pa.Array]:
    """A code for each text, the same for equal texts; and the text of each code, in order of first appearance.

    `rows` chooses some of the texts; without it all are coded. None of them may be null.
    """
    if core is None:
        chosen = texts if rows is None else texts.take(pa.array(rows))
        encoded = chosen.dictionary_encode()
        return encoded.indices.to_numpy(), encoded.dictionary
    bounds, data = bounds_and_bytes(texts)
    code, *names = core.coded(bounds, data, np.arange(len(texts), dtype=np.int32) if rows is None else rows)
    return code, texts_of(*names)


def taken(texts: pa.Array, rows: RowNumbers) -> pa.Array:
    """The texts in these rows, of which none comes twice. Arrow's own `take` is made for rows near each other."""
    if core is None or texts.null_count:
        return texts.take(pa.array(rows))
    return texts_of(*core.taken(*bounds_and_bytes(texts), rows))


def joined(before: str, texts: pa.Array, numbers: Ints, ordinals: Ints) -> pa.Array:
    """before/text/number, and #ordinal after it where that is more than 1."""
    if core is not None:
        ends, data = core.joined(f"{before}/".encode(), *bounds_and_bytes(texts), numbers, ordinals)
        return texts_of(_narrow(ends), data)
    parts = pa.scalar(before, _LARGE), texts.cast(_LARGE), pa.array(numbers).cast(_LARGE)
    written = pc.binary_join_element_wise(*parts, pa.scalar("/", _LARGE))
    is_later = ordinals > 1
    if is_later.any():
        ordinal = pa.array(ordinals).cast(_LARGE)
        numbered = pc.binary_join_element_wise(written, ordinal, pa.scalar("#", _LARGE))
        written = pc.if_else(pa.array(is_later), numbered, written)
    return written


def _narrow(bounds: Ints) -> NDArray[Any]:
    """In 32 bits, if they fit."""
    return bounds.astype(np.int32) if bounds[-1] < 2**31 else bounds
