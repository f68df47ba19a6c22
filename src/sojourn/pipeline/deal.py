"""Which shard has this key: one hash of the key for threads, Spark and streams alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ._build import core
from .columns.texts import Hashes, bounds_and_bytes, hashes
from .kernel.search import Ints, RowNumbers, check_rows, placed

ENOUGH_ROWS = 100_000
"""With fewer in a shard, the interpreter's overhead would dominate; with twice as many, it hardly matters."""

MOST_SHARDS = 256

Part = TypeVar("Part")
Done = TypeVar("Done")


def shards_for(rows: int) -> int:
    """How many shards are best for this many rows in one process: a power of two."""
    good: int = max(2 * pa.cpu_count(), rows // (2 * ENOUGH_ROWS))
    return 1 << max(1, min(MOST_SHARDS, rows // ENOUGH_ROWS, good)).bit_length() - 1


def shards_of(texts: pa.Array, shards: int) -> NDArray[np.uint16]:
    """The shard of each text, from 0 to `shards` - 1."""
    if core is None:
        return shards_of_hashes(hashes(texts), shards).astype(np.uint16)
    bounds, data = bounds_and_bytes(texts)
    shard = np.empty(len(texts), np.uint16)

    def found(part: tuple[int, int]) -> None:
        low, high = part
        core.shards(bounds[low : high + 1], data, shards, shard[low:high])

    in_parallel(found, _parts(len(texts)))
    return shard


def shards_of_hashes(hashed: Hashes, shards: int) -> Ints:
    """The shard of each hash; shards ascend with the hashes."""
    return (((hashed >> np.uint64(32)) * np.uint64(shards)) >> np.uint64(32)).astype(np.int64)


def dealt_out(
    texts: pa.Array, rows: NDArray[Any] | None, shards: int, drawer: tuple[int, int] = (0, 1)
) -> list[RowNumbers]:
    """The rows of each shard, of all (None) or of some; rows of the same text are in the same shard.

    `drawer` says which of how many hash classes all the texts are of: the shards are parts of that one.
    """
    check_rows(len(texts))
    if shards == 1:
        return [np.arange(len(texts), dtype=np.int32) if rows is None else rows.astype(np.int32, copy=False)]
    number, of = drawer
    shard = shards_of(texts, shards * of) - np.uint16(number * shards)
    if rows is None or len(rows) == len(shard):
        return by_shard(shard, shards)
    return [rows[positions].astype(np.int32) for positions in by_shard(shard[rows], shards)]


def by_shard(shard: NDArray[Any], shards: int) -> list[RowNumbers]:
    """The positions of each shard's rows."""
    order, starts = placed(shard, shards)
    return np.split(order, starts[1:-1])


def _parts(count: int) -> list[tuple[int, int]]:
    """Ranges of rows, one for each processor."""
    processors = pa.cpu_count() if count >= ENOUGH_ROWS else 1
    return [(count * part // processors, count * (part + 1) // processors) for part in range(processors)]


def in_parallel(work: Callable[[Part], Done], parts: Sequence[Part]) -> list[Done]:
    """`work` on each part, in threads: NumPy and Arrow release the GIL while they work."""
    if len(parts) == 1 or pa.cpu_count() == 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        return list(pool.map(work, parts))
