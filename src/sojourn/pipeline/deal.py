"""Which shard has this key: one hash of the key for threads, Spark and streams alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ._build import core
from .columns.texts import Hashes, bounds_and_bytes, hashes, taken
from .kernel.search import Ints, RowNumbers, check_rows, placed
from .schema import KEY

ENOUGH_ROWS = 100_000
"""With fewer in a shard, the interpreter's overhead would dominate; with twice as many, it hardly matters."""

MOST_SHARDS = 256

ROWS_AT_ONCE = 1 << 20
"""About how many rows are sorted by shard at once: few enough that a shard's rows are near each other in memory."""

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


class Dealt(NamedTuple):
    """Events in the order of `MOST_SHARDS` shards, and where those of each begin; then the number of events."""

    events: pa.RecordBatch
    starts: list[int]

    def of_shard(self, shard: int, shards: int) -> pa.RecordBatch:
        """The events of one of fewer shards: each consists of neighbours."""
        start, end = (self.starts[MOST_SHARDS * bound // shards] for bound in (shard, shard + 1))
        return self.events.slice(start, end - start)


def dealt(events: pa.RecordBatch, drawer: tuple[int, int] = (0, 1)) -> Dealt:
    """Events in the order of their shards.

    `drawer` says which of how many hash classes all their keys are of: the shards are parts of that one.
    """
    number, of = drawer
    shard = shards_of(events[KEY], MOST_SHARDS * of) - np.uint16(number * MOST_SHARDS)
    order, starts = placed(shard, MOST_SHARDS)
    columns = [_in_order(column, order) for column in events.columns]
    return Dealt(pa.RecordBatch.from_arrays(columns, schema=events.schema), starts.tolist())


def all_dealt(events: pa.RecordBatch, drawer: tuple[int, int] = (0, 1)) -> list[Dealt]:
    """The same, in parts, by all processors."""
    count = events.num_rows
    number = max(pa.cpu_count() if count >= ENOUGH_ROWS else 1, -(-count // ROWS_AT_ONCE))
    bounds = [count * part // number for part in range(number + 1)]
    parts = [events.slice(low, high - low) for low, high in pairwise(bounds)]
    return in_parallel(lambda part: dealt(part, drawer), parts)


def together(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """In one piece; texts that are too long for one get wider offsets."""
    table = pa.Table.from_batches(batches, schema)
    if table[KEY].nbytes > 2**31 - 1:
        table = table.set_column(table.schema.get_field_index(KEY), KEY, table[KEY].cast(pa.large_string()))
    whole = table.combine_chunks().to_batches()
    return whole[0] if whole else pa.RecordBatch.from_pylist([], table.schema)


def _in_order(column: pa.Array, order: RowNumbers) -> pa.Array:
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return taken(column, order) if is_text else column.take(pa.array(order))


def dealt_out(texts: pa.Array, rows: NDArray[Any], shards: int) -> list[RowNumbers]:
    """Those of the rows that are in each shard; rows of the same text are in the same shard."""
    check_rows(len(texts))
    if shards == 1:
        return [rows.astype(np.int32, copy=False)]
    shard = shards_of(texts, shards)
    if len(rows) == len(shard):
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
