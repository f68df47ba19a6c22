"""Rows by key, then time: how a log becomes the groups of the kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .kernel.search import Ints, order_by

_LAST_BYTES = 3


class Groups(NamedTuple):
    """A group a key: `order` is that of the rows, `starts` as in `kernel.Events`, `names` the key of each group."""

    order: Ints
    starts: Ints
    names: pa.Array


def by_key(keys: pa.Array, at: Ints) -> Groups:
    """The groups of rows in any order."""
    encoded = keys.dictionary_encode()
    code = encoded.indices.to_numpy()
    counts = np.bincount(code, minlength=len(encoded.dictionary))
    return Groups(order_by(code, at), np.append(0, np.cumsum(counts)), encoded.dictionary)


def in_order(keys: pa.Array) -> Groups:
    """The groups of rows that are sorted by key, then time, already."""
    is_new = np.ones(len(keys), bool)
    is_new[1:] = pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(is_new)
    return Groups(np.arange(len(keys)), np.append(starts, len(keys)), keys.take(pa.array(starts)))


def shards_of(keys: pa.Array, rows: Ints, shards: int) -> list[Ints]:
    """The rows dealt out to so many shards, 256 at most: those of a key to the same one."""
    if shards == 1:
        return [rows]
    shard = _shard_of(keys, shards)[rows].astype(np.uint8)
    ends = np.cumsum(np.bincount(shard, minlength=shards))
    return np.split(rows[np.argsort(shard, kind="stable")], ends[:-1])


def _shard_of(keys: pa.Array, shards: int) -> Ints:
    """A number below `shards` for each key, the same for the same key; it is quick to tell from the last bytes."""
    _, offsets, data = keys.buffers()
    ends: NDArray[Any] = np.frombuffer(offsets, np.int64 if keys.type == pa.large_string() else np.int32)
    ends = ends[keys.offset : keys.offset + len(keys) + 1]
    if data is None or not data.size:
        return np.zeros(len(keys), np.int64)
    text = np.frombuffer(data, np.uint8)
    is_text = ends[1:] > ends[:-1]
    mixed = np.zeros(len(keys), np.int64)
    for back in range(_LAST_BYTES, 0, -1):
        mixed = mixed * 31 + text[np.maximum(ends[1:] - back, ends[:-1]) % len(text)]
    return np.where(is_text, mixed % shards, 0)
