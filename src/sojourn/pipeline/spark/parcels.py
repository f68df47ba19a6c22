"""What travels between Spark's executors: parcels. A parcel is rows of one shard, as columns, in one value.

A row costs Spark the same whatever it holds, and an event holds little. So Spark gets few rows, each with thousands of
events. The events of a key always go to the same shard.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .. import allocator
from ..schema import record_batch
from .spread import spread

SHARD, EVENTS, OPERATIONS, UNUSABLE, LATEST = "shard", "events", "operations", "unusable", "latest"
"""The columns of a parcel: EVENTS, OPERATIONS or both are null.

UNUSABLE counts rows that were set aside on the way. LATEST is the latest time that a task has met: it sends that to
every shard, so that whoever decides knows where the log ends, without another pass.
"""

PARCELS = pa.schema(
    [
        (SHARD, pa.int32()),
        (EVENTS, pa.binary()),
        (OPERATIONS, pa.binary()),
        (UNUSABLE, pa.int64()),
        (LATEST, pa.int64()),
    ]
)

FEWEST_SHARDS, MOST_SHARDS = 1 << 8, 1 << 16
"""More would not fit the sort of `packed`, by 16 bits; partitions beyond that stay empty."""

ENOUGH_ROWS = 100_000
"""As many as fit a processor's caches; with fewer, the interpreter's overhead would dominate."""

ROWS_AT_ONCE = 500_000
BYTES_AT_ONCE = 1 << 27
"""How much is dealt out at once: more would only need more memory."""

_PARCEL_BYTES = 1 << 18
"""About what a parcel holds: Spark hands over a thousand parcels at a time (`spark.schema.ARROW`)."""

_SENT_AT_ONCE = 1 << 22

Batches = Iterable[pa.RecordBatch]


@cache
def prepare_worker(*, keep_memory: bool = False) -> None:
    """Once per Python process that Spark starts: avoid overheads that cost more than the work.

    After every task Spark collects garbage, which looks at everything that was ever imported. What is there when the
    first task begins is there for good, so it is left out. And memory may be kept for the next table.
    """
    gc.freeze()
    if keep_memory:
        allocator.keep_memory()


class Parcels(NamedTuple):
    """What is there for some shards: the shards, and their `events` and `operations`."""

    shards: list[int]
    events: pa.Table
    operations: pa.Table


def shards_for_partitions(partitions: int) -> int:
    """How many shards make partitions of much the same size: a power of two."""
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


def packed(rows: pa.RecordBatch, shard: NDArray[Any], column: str, unusable: int = 0) -> Iterator[pa.RecordBatch]:
    """The rows of each shard in one parcel, or in several if they are many; all together in one batch or more."""
    order = np.argsort(shard.astype(np.uint16), kind="stable")
    ordered = rows.take(pa.array(order))
    most = max(1, _PARCEL_BYTES * len(order) // max(1, rows.nbytes))
    counts = np.bincount(shard)
    ends = np.cumsum(counts)
    sent: list[dict[str, Any]] = [{SHARD: 0, UNUSABLE: unusable}] if unusable else []
    size = 0
    places = np.flatnonzero(counts)
    for place, number in zip(places.tolist(), spread(places).tolist(), strict=True):
        for start in range(int(ends[place] - counts[place]), int(ends[place]), most):
            parcel = memoryview(ordered.slice(start, min(most, int(ends[place]) - start)).serialize())
            if size + len(parcel) > _SENT_AT_ONCE:
                yield pa.RecordBatch.from_pylist(sent, PARCELS)
                sent, size = [], 0
            sent.append({SHARD: number, column: parcel})
            size += len(parcel)
    if sent:
        yield pa.RecordBatch.from_pylist(sent, PARCELS)


def to_every_shard(latest: int | None, shards: int) -> Iterator[pa.RecordBatch]:
    """The latest time that a task has met, if any, for every shard."""
    if latest is not None:
        columns = {SHARD: spread(np.arange(shards)), LATEST: np.full(shards, latest)}
        yield record_batch(PARCELS, [columns.get(name, pa.nulls(shards)) for name in PARCELS.names])


class Arrived:
    """All that has arrived for the shards of a partition."""

    def __init__(self, batches: Batches, events: pa.Schema, operations: pa.Schema | None = None) -> None:
        self._events, self._operations = events, operations or pa.schema([])
        self._waiting: dict[int, tuple[list[pa.RecordBatch], list[pa.RecordBatch]]] = defaultdict(lambda: ([], []))
        self.latest: int | None = None
        """The latest time that any task has met."""
        for batch in batches:
            self._take(batch)

    def _take(self, batch: pa.RecordBatch) -> None:
        latest = pc.max(batch[LATEST]).as_py()
        if latest is not None:
            self.latest = latest if self.latest is None else max(latest, self.latest)
        for shard, events, operations in zip(batch[SHARD].to_pylist(), batch[EVENTS], batch[OPERATIONS], strict=True):
            if events.is_valid:
                self._waiting[shard][0].append(pa.ipc.read_record_batch(events.as_buffer(), self._events))
            if operations.is_valid:
                self._waiting[shard][1].append(pa.ipc.read_record_batch(operations.as_buffer(), self._operations))

    def parcels(self) -> Iterator[Parcels]:
        """What is there, some shards at a time; it is let go of meanwhile."""
        shards, event_rows, operation_rows = [], [], []
        rows = 0
        for shard in sorted(self._waiting):
            its_events, its_operations = self._waiting.pop(shard)
            shards.append(shard)
            event_rows += its_events
            operation_rows += its_operations
            rows += sum(part.num_rows for part in (*its_events, *its_operations))
            if rows >= ENOUGH_ROWS or (rows and not self._waiting):
                yield Parcels(shards, _together(event_rows, self._events), _together(operation_rows, self._operations))
                shards, event_rows, operation_rows = [], [], []
                rows = 0


def _together(rows: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """In one piece, if they are not too long for one."""
    return pa.Table.from_batches(rows, schema).combine_chunks()
