"""The events of the stream workload, as Parquet files: two for each micro-batch."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sojourn.rules import Rule

from ..stream import ROWS

FILES = 2
"""Of a micro-batch: one for each core."""
BATCH_MS = 60_000
"""The event time that a micro-batch covers."""
WITHIN_MS = 3_600_000 * 24 * 30
LATE_MS = 1_000
START_MS = 1_700_000_000_000
SCHEMA = "key string, kind string, at timestamp"
RULE = Rule("paid", opens="open", until="paid", within=WITHIN_MS, per="each")


def steady(path: Path, pending: int, batches: int) -> int:
    """Events open and pay operations in turns, so that so many are pending all the time. In the end an event shows that
    all of these are overdue. The number of operations.

    They are paid in the order of opening, give or take half of what is pending: each one after it was opened.
    """
    half = ROWS // 2
    operation = np.arange(pending + batches * half)
    paid = np.argsort(operation + np.random.default_rng(1).uniform(-0.5, 0.5, len(operation)) * pending)
    keys = pc.binary_join_element_wise("case-", pa.array(operation).cast(pa.string()), "")
    write_batch(path, 0, keys.slice(0, pending), np.zeros(pending, bool))
    for batch in range(batches):
        opens = keys.slice(pending + batch * half, half)
        pays = keys.take(pa.array(paid[batch * half : (batch + 1) * half]))
        in_turns = np.arange(ROWS).reshape(2, half).T.ravel()
        both = pa.concat_arrays([opens, pays]).take(pa.array(in_turns))
        write_batch(path, batch + 1, both, in_turns >= half)
    write_batch(path, batches + 1, pa.array(["nobody"]), np.ones(1, bool), later_ms=2 * WITHIN_MS)
    return len(operation)


def write_batch(path: Path, batch: int, keys: pa.Array, is_paid: NDArray[np.bool_], later_ms: int = 0) -> None:
    """A micro-batch, in files that Spark takes by age."""
    count = len(keys)
    at = START_MS + later_ms + batch * BATCH_MS + np.arange(count) * BATCH_MS // max(1, count)
    table = pa.table(
        {
            "key": keys,
            "kind": pa.array(["open", "paid"]).take(pa.array(is_paid.astype(np.int8))),
            "at": pa.array(at, pa.timestamp("ms", tz="UTC")),
        }
    )
    cuts = np.linspace(0, count, FILES + 1).astype(int)
    for part in range(FILES):
        age = batch * FILES + part
        file = path / f"{age:06}.parquet"
        pq.write_table(table.slice(cuts[part], cuts[part + 1] - cuts[part]), file)
        os.utime(file, (age, age))
