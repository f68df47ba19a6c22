"""The log that every command reads: orders that are placed, paid and packed. Made once for a size, from a seed.

It is made and written a day at a time, so that its size is no matter of memory. A day is complete in itself: what would
come after its midnight is put at its beginning, before the order was placed, where it counts for nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..machine import ROOT

FOLDER = Path(os.environ.get("SOJOURN_BENCHMARK_FOLDER", ROOT / "build" / "benchmarks"))
"""Where logs are kept, and outcomes are written meanwhile: on a disk."""
START_MS = 1_700_006_400_000
DAY_MS = 86_400_000
MEAN_MS = 12 * 60_000
"""How long a payment, or packing, takes on average; one order in six is late."""
ASTRAY = 0.1
"""The share of signals that go to an order at random: it has two then, and another has none."""

DAY_EVENTS = 2_500_000
GROUP_ROWS = 250_000
KINDS = ("placed", "paid", "packed")

SCHEMA = pa.schema([("key", pa.string()), ("kind", pa.string()), ("at", pa.timestamp("ms", "UTC"))])


def log_path(events: int, folder: Path = FOLDER) -> Path:
    """The Parquet file of a log of so many events; it is written if it is not there."""
    path = folder / f"orders-{events}.parquet"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        with pq.ParquetWriter(unfinished, SCHEMA) as writer:
            for day in _days(events):
                writer.write_table(day, row_group_size=GROUP_ROWS)
        unfinished.rename(path)
    return path


def _days(events: int) -> Iterator[pa.Table]:
    sizes = [DAY_EVENTS] * (events // DAY_EVENTS) + [events % DAY_EVENTS] * (events % DAY_EVENTS > 0)
    for day, size in enumerate(sizes):
        yield _day(np.random.default_rng([17, day]), day, size)


def _day(rng: np.random.Generator, day: int, events: int) -> pa.Table:
    """A third of the events places orders, a third says that they were paid, a third that they were packed."""
    orders = max(1, events // len(KINDS))
    placed_at = rng.integers(0, DAY_MS, orders)
    kind = np.arange(events) // orders % len(KINDS)
    order = np.arange(events) % orders
    is_signal = np.arange(events) >= orders
    kind[is_signal & (kind == 0)] = 1  # the few beyond three of each
    is_astray = is_signal & (rng.random(events) < ASTRAY)
    order[is_astray] = rng.integers(0, orders, np.count_nonzero(is_astray))
    took = np.where(is_signal, rng.exponential(MEAN_MS, events), 0).astype(np.int64)
    at = (placed_at[order] + took) % DAY_MS
    in_time = np.argsort(at, kind="stable")
    return pa.table([_keys(day, order[in_time]), _kinds(kind[in_time]), _times(day, at[in_time])], schema=SCHEMA)


def _keys(day: int, order: Any) -> pa.Array:
    return pc.binary_join_element_wise("order", pa.array(order + day * DAY_EVENTS).cast(pa.string()), "-")


def _kinds(kind: Any) -> pa.Array:
    return pa.array(KINDS).take(pa.array(kind))


def _times(day: int, at: Any) -> pa.Array:
    return pa.array(START_MS + day * DAY_MS + at).cast(SCHEMA.field("at").type)
