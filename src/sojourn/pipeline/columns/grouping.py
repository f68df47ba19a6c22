"""Rows by key, then time: how a log becomes the groups of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..kernel.search import Ints, order_by

ENOUGH_ROWS = 100_000
"""So many at a time fit the caches of a processor; fewer would keep the interpreter busy."""

MOST_SHARDS = 256

Part = TypeVar("Part")
Done = TypeVar("Done")

_LAST_BYTES = 3
_GOLDEN = np.uint32(2_654_435_769)
"""2**32 by the golden ratio: the upper bits of a product with it are as good as drawn at random."""


class Groups(NamedTuple):
    """A group a key: `order` is that of the rows, `starts` as in `kernel.Events`, `names` the key of each group."""

    order: Ints
    starts: Ints
    names: pa.Array

    @property
    def of_rows(self) -> Ints:
        """The group of each row, in their order."""
        return np.repeat(np.arange(len(self.names)), np.diff(self.starts))


def by_key(keys: pa.Array, at: Ints) -> Groups:
    """The groups of rows in any order."""
    encoded = keys.dictionary_encode()
    return _groups(encoded.indices.to_numpy(), at, encoded.dictionary)


def by_key_and_asked(keys: pa.Array, at: Ints, asked: pa.Array) -> tuple[Groups, Ints]:
    """The same, with the group of each key that is asked for; some of these groups may have no rows."""
    both = [part.cast(pa.large_string()) for part in (keys, asked)] if keys.type != asked.type else [keys, asked]
    encoded = pa.concat_arrays(both).dictionary_encode()
    code = encoded.indices.to_numpy()
    return _groups(code[: len(keys)], at, encoded.dictionary), code[len(keys) :]


def _groups(code: NDArray[np.int32], at: Ints, names: pa.Array) -> Groups:
    counts = np.bincount(code, minlength=len(names))
    return Groups(order_by(code, at), np.append(0, np.cumsum(counts)), names)


def in_order(keys: pa.Array) -> Groups:
    """The groups of rows that are sorted by key, then time, already."""
    is_new = np.ones(len(keys), bool)
    is_new[1:] = pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(is_new)
    return Groups(np.arange(len(keys)), np.append(starts, len(keys)), keys.take(pa.array(starts)))


def shards_for(rows: int) -> int:
    """Into how many shards so many rows are best dealt out: a power of two."""
    return 1 << min(MOST_SHARDS, rows // ENOUGH_ROWS).bit_length() - 1 if rows >= ENOUGH_ROWS else 1


def shards_of(keys: pa.Array, rows: Ints, shards: int) -> list[Ints]:
    """The rows dealt out to so many shards, a power of two up to 256: those of a key to the same one."""
    if shards == 1:
        return [rows]
    shard = _shard_of(keys, shards)
    if len(rows) == len(shard):
        return dealt_out(shard, shards)
    return [rows[own] for own in dealt_out(shard[rows], shards)]


def dealt_out(shard: NDArray[np.uint8], shards: int) -> list[Ints]:
    """The places of the rows of each shard."""
    ends = np.cumsum(np.bincount(shard, minlength=shards))
    return np.split(np.argsort(shard, kind="stable"), ends[:-1])


def in_parallel(work: Callable[[Part], Done], parts: Sequence[Part]) -> list[Done]:
    """NumPy and Arrow let go of the interpreter while they work, so that threads help."""
    if len(parts) == 1:
        return [work(parts[0])]
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        return list(pool.map(work, parts))


def _shard_of(keys: pa.Array, shards: int) -> NDArray[np.uint8]:
    """A number below `shards` for each key, the same for the same key; it is quick to tell from the last bytes."""
    _, offsets, data = keys.buffers()
    ends: NDArray[Any] = np.frombuffer(offsets, np.int64 if keys.type == pa.large_string() else np.int32)
    ends = ends[keys.offset : keys.offset + len(keys) + 1]
    if data is None or not data.size:
        return np.zeros(len(keys), np.uint8)
    text = np.frombuffer(data, np.uint8)
    mixed = np.zeros(len(keys), np.uint32)
    for back in range(1, _LAST_BYTES + 1):
        last = text.take(np.maximum(ends[1:] - back, ends[:-1]), mode="clip")
        mixed = (mixed << np.uint32(8)) | last
    mixed *= _GOLDEN
    mixed >>= np.uint32(33 - shards.bit_length())
    mixed[ends[1:] == ends[:-1]] = 0  # what is read of an empty one is another's
    return mixed.astype(np.uint8)
