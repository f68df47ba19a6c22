"""What travels between Spark's executors: parcels. A parcel is rows of one shard, as columns, in one value.

For Spark a row costs the same whatever is in it, and an event is little. So it gets few rows, each with thousands of
events, and those of a key always go to the same shard.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..kernel.search import Ints

SHARD, EVENTS, OPERATIONS, ODD = "shard", "events", "operations", "odd"
"""The columns of a parcel: EVENTS or OPERATIONS is null; ODD counts rows that were set aside on the way."""

PARCELS = pa.schema([(SHARD, pa.int32()), (EVENTS, pa.binary()), (OPERATIONS, pa.binary()), (ODD, pa.int64())])

FEWEST_SHARDS, MOST_SHARDS = 1 << 8, 1 << 16
"""More would not fit the sort of `packed`; a partition too many has nothing to do, then."""

ENOUGH_ROWS = 100_000
"""So many at a time fit the caches of a processor; fewer would keep the interpreter busy."""

ROWS_AT_ONCE = 500_000
BYTES_AT_ONCE = 1 << 27
"""How much is dealt out at once: more would only need more memory."""

_PARCEL_BYTES = 1 << 18
"""What a parcel holds, about: Spark hands over a thousand at a time (`spark.schema.ARROW`), even of a single key."""

_SENT_AT_ONCE = 1 << 22

_KEEP_MEMORY = {-1: 2**31 - 1, -2: 2**26, -3: 2**25}
"""Of mallopt(3): M_TRIM_THRESHOLD, M_TOP_PAD and M_MMAP_THRESHOLD, which may not be more."""

Batches = Iterable[pa.RecordBatch]


@cache
def prepare_worker(*, keep_memory: bool = False) -> None:
    """Once in a process that Spark starts: out of habits that cost more than the work.

    After every task it collects garbage, and looks at all that it has ever imported. What is there when the first task
    begins is there for good, so it is left out. And memory that is given back to the system, as that of every table
    would be, has to be asked for, and cleared, again: so it may be kept.
    """
    gc.freeze()
    if not keep_memory:
        return
    pa.set_memory_pool(pa.system_memory_pool())
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:  # as with glibc
        for setting, value in _KEEP_MEMORY.items():
            mallopt(setting, value)


class Parcels(NamedTuple):
    """What has come for some shards: `events` and `operations`, of these schemas, and the shards themselves."""

    shards: list[int]
    events: pa.Table
    operations: pa.Table


def shards_for(partitions: int) -> int:
    """How many shards make partitions that are much alike: a power of two."""
    return min(MOST_SHARDS, max(FEWEST_SHARDS, 1 << (2 * partitions - 1).bit_length()))


def gathered(batches: Batches) -> Iterator[pa.Table]:
    """The same rows, in tables that are worth the work of NumPy: neither many and small, nor too large for memory."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= ROWS_AT_ONCE or size >= BYTES_AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(waiting)


def packed(rows: pa.RecordBatch, shard: Ints, column: str, odd: int = 0) -> Iterator[pa.RecordBatch]:
    """The rows of each shard in one parcel, or in several if they are many; all together in one batch or more."""
    order = np.argsort(shard.astype(np.uint16), kind="stable")
    ordered = rows.take(pa.array(order))
    most = max(1, _PARCEL_BYTES * len(order) // max(1, rows.nbytes))
    counts = np.bincount(shard)
    ends = np.cumsum(counts)
    sent: list[dict[str, Any]] = [{SHARD: 0, ODD: odd}] if odd else []
    size = 0
    for place in np.flatnonzero(counts).tolist():
        for start in range(int(ends[place] - counts[place]), int(ends[place]), most):
            parcel = memoryview(ordered.slice(start, min(most, int(ends[place]) - start)).serialize())
            if size + len(parcel) > _SENT_AT_ONCE:
                yield pa.RecordBatch.from_pylist(sent, PARCELS)
                sent, size = [], 0
            sent.append({SHARD: place, column: parcel})
            size += len(parcel)
    if sent:
        yield pa.RecordBatch.from_pylist(sent, PARCELS)


def unpacked(batches: Batches, events: pa.Schema, operations: pa.Schema | None = None) -> Iterator[Parcels]:
    """What has come for all the shards of a partition, some shards at a time."""
    waiting: dict[int, tuple[list[pa.RecordBatch], list[pa.RecordBatch]]] = defaultdict(lambda: ([], []))
    for batch in batches:
        for shard, event_parcel, operation_parcel in zip(
            batch[SHARD].to_pylist(), batch[EVENTS], batch[OPERATIONS], strict=True
        ):
            found = waiting[shard]
            if event_parcel.is_valid:
                found[0].append(pa.ipc.read_record_batch(event_parcel.as_buffer(), events))
            if operation_parcel.is_valid:
                found[1].append(pa.ipc.read_record_batch(operation_parcel.as_buffer(), operations))
    shards, event_rows, operation_rows = [], [], []
    rows = 0
    for shard in sorted(waiting):
        its_events, its_operations = waiting.pop(shard)
        shards.append(shard)
        event_rows += its_events
        operation_rows += its_operations
        rows += sum(part.num_rows for part in (*its_events, *its_operations))
        if rows >= ENOUGH_ROWS or (rows and not waiting):
            yield Parcels(
                shards,
                _together(event_rows, events),
                _together(operation_rows, operations or pa.schema([])),
            )
            shards, event_rows, operation_rows = [], [], []
            rows = 0


def _together(rows: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """In one piece, if they are not too long for one."""
    return pa.Table.from_batches(rows, schema).combine_chunks()
