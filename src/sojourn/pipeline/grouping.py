"""Rows by key, then time: how a log becomes the groups of the kernel."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .kernel.search import Ints, order_by

_LAST_BYTES = 3
_GOLDEN = np.uint32(2_654_435_769)
"""2**32 by the golden ratio: the upper bits of a product with it are as good as drawn at random."""


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


class Share(NamedTuple):
    """The groups `first` to `end` - 1, and the operations on them, which are sorted by group: a slice."""

    first: int
    end: int
    operations: slice


def shares_of(starts: Ints, group: Ints, count: int) -> list[Share]:
    """Groups dealt out to about so many shares of events and operations; `group` is that of each operation, sorted."""
    load = starts + np.append(0, np.cumsum(np.bincount(group, minlength=len(starts) - 1)))
    cuts = np.searchsorted(load, np.linspace(0, load[-1], count + 1)[1:-1])
    bounds = np.unique(np.concatenate(([0], cuts, [len(starts) - 1])))
    places = np.searchsorted(group, bounds)
    return [
        Share(int(first), int(end), slice(low, high))
        for (first, end), (low, high) in zip(pairwise(bounds), pairwise(places), strict=True)
    ]


def shards_of(keys: pa.Array, rows: Ints, shards: int) -> list[Ints]:
    """The rows dealt out to so many shards, a power of two up to 256: those of a key to the same one."""
    if shards == 1:
        return [rows]
    shard = _shard_of(keys, shards)
    own = shard if len(rows) == len(shard) else shard[rows]
    ends = np.cumsum(np.bincount(own, minlength=shards))
    order = np.argsort(own, kind="stable")
    return np.split(order if len(rows) == len(shard) else rows[order], ends[:-1])


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
