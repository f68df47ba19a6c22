"""The logs that every peer reads: made once for a size, from a seed, as Parquet."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

DAY_MS = 86_400_000
START_MS = 1_700_000_000_000
WITHIN_MS = 10 * DAY_MS
SPREAD_MS = 100 * DAY_MS
KEYS_EACH = 3
"""How many keys an operation of the table `operations` waits on."""


def log_path(name: str, n: int, events: int) -> Path:
    """The Parquet file of a log with n operations and so many events in all; it is written if it is not there."""
    folder = Path(tempfile.gettempdir()) / "sojourn-benchmarks"
    path = folder / f"{name}-{n}-{events}.parquet"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        pq.write_table(_MAKERS[name](n, events), unfinished, row_group_size=1 << 18)
        unfinished.rename(path)
    return path


def _signals(n: int, events: int) -> pa.Table:
    """An opening for each key, and signals of one kind, with a source and a value."""
    rng = np.random.default_rng(1)
    opened_at = START_MS + rng.integers(0, SPREAD_MS, n)
    key = rng.integers(0, n, events - n)
    at = opened_at[key] + rng.integers(-WITHIN_MS // 10, 3 * WITHIN_MS // 2, events - n)
    kind = np.repeat([0, 1], [n, events - n])
    return _log(rng, np.append(np.arange(n), key), np.append(opened_at, at), kind, ["open", "signal"])


def _parts(n: int, events: int) -> pa.Table:
    """An opening for each key, and signals of four kinds."""
    rng = np.random.default_rng(2)
    opened_at = START_MS + rng.integers(0, SPREAD_MS, n)
    key = rng.integers(0, n, events - n)
    at = opened_at[key] + rng.integers(-WITHIN_MS // 10, 3 * WITHIN_MS // 2, events - n)
    kind = np.append(np.zeros(n, np.int64), rng.choice([1, 2, 3, 4], events - n, p=[0.4, 0.3, 0.2, 0.1]))
    kinds = ["open", "paid", "packed", "waived", "stopped"]
    return _log(rng, np.append(np.arange(n), key), np.append(opened_at, at), kind, kinds)


def _keys(n: int, events: int) -> pa.Table:
    """Signals of keys on which operations wait that are given as a table."""
    rng = np.random.default_rng(3)
    key = rng.integers(0, n, events)
    at = START_MS + rng.integers(0, SPREAD_MS, events)
    return _log(rng, key, at, np.zeros(events, np.int64), ["ready"])


def _operations(n: int, events: int) -> pa.Table:
    """Operations on some keys each."""
    rng = np.random.default_rng(4)
    keys = rng.integers(0, n, n * KEYS_EACH)
    opened_at = START_MS + rng.integers(0, SPREAD_MS, n)
    offsets = np.arange(0, n * KEYS_EACH + 1, KEYS_EACH, dtype=np.int32)
    return pa.table(
        {
            "operation_id": _names("operation", np.arange(n)),
            "keys": pa.ListArray.from_arrays(pa.array(offsets), _names("case", keys)),
            "opened_at": pa.array(opened_at).cast(pa.timestamp("ms", "UTC")),
        }
    )


def _log(rng: np.random.Generator, key: Any, at: Any, kind: Any, kinds: list[str]) -> pa.Table:
    """In the order of time, as logs are."""
    order = np.argsort(at, kind="stable")
    return pa.table(
        {
            "key": _names("case", key[order]),
            "kind": pa.array(kinds).take(pa.array(kind[order])),
            "stamp": pa.array(at[order]).cast(pa.timestamp("ms", "UTC")),
            "source": _names("source", rng.integers(0, 5, len(order))),
            "value": pa.array(rng.integers(1, 100, len(order))),
        }
    )


def _names(what: str, numbers: Any) -> pa.Array:
    return pc.binary_join_element_wise(what, pa.array(numbers).cast(pa.string()), "-")


_MAKERS = {"signals": _signals, "parts": _parts, "keys": _keys, "operations": _operations}
