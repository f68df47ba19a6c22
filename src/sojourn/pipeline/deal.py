"""Which shard has this key: one hash of the key for threads, Spark and streams alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .kernel.search import Ints

ENOUGH_ROWS = 100_000
"""As many as fit a processor's caches; with fewer, the interpreter's overhead would dominate."""

MOST_SHARDS = 256

Hashes = NDArray[np.uint64]
Part = TypeVar("Part")
Done = TypeVar("Done")

_WORD = 8
_MOST_WORDS = 64
_BLOCK = 1 << 14
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio: the upper bits of a product with it are as good as random."""


def shards_for(rows: int) -> int:
    """How many shards are best for this many rows in one process: a power of two."""
    return 1 << min(MOST_SHARDS, rows // ENOUGH_ROWS).bit_length() - 1 if rows >= ENOUGH_ROWS else 1


def shards_of(texts: pa.Array, shards: int) -> Ints:
    """The shard of each text, from 0 to `shards` - 1."""
    return shards_of_hashes(hashes(texts), shards)


def shards_of_hashes(hashed: Hashes, shards: int) -> Ints:
    """The shard of each hash; shards ascend with the hashes."""
    return (((hashed >> np.uint64(32)) * np.uint64(shards)) >> np.uint64(32)).astype(np.int64)


def dealt_out(texts: pa.Array, rows: Ints, shards: int) -> list[Ints]:
    """The rows of each shard; rows of the same text are in the same shard."""
    if shards == 1:
        return [rows]
    shard = shards_of(texts, shards)
    if len(rows) == len(shard):
        return by_shard(shard, shards)
    return [rows[positions] for positions in by_shard(shard[rows], shards)]


def by_shard(shard: Ints, shards: int) -> list[Ints]:
    """The positions of each shard's rows."""
    ends = np.cumsum(np.bincount(shard, minlength=shards))
    return np.split(np.argsort(shard.astype(np.uint16), kind="stable"), ends[:-1])


def in_parallel(work: Callable[[Part], Done], parts: Sequence[Part]) -> list[Done]:
    """`work` on each part, in threads: NumPy and Arrow release the GIL while they work."""
    if len(parts) == 1:
        return [work(parts[0])]
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        return list(pool.map(work, parts))


def hashes(texts: pa.Array) -> Hashes:
    """A hash of each text, 64 bits that are as good as random. Arrow has no such function.

    A text of more than half a kilobyte is sampled: its hash is made from 64 of its words.
    """
    _, offsets, data = texts.buffers()
    mixed = np.empty(len(texts), np.uint64)
    if not len(texts):
        return mixed
    wide = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    bounds = np.frombuffer(offsets, wide)[texts.offset : texts.offset + len(texts) + 1]
    first, last = int(bounds[0]), int(bounds[-1])
    padded = np.zeros(last - first + _WORD, np.uint8)
    if last > first:
        padded[_WORD:] = np.frombuffer(data, np.uint8)[first:last]
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
