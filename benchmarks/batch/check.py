"""A fingerprint of outcomes: the same for the same ones, in whatever order and types they come."""

from __future__ import annotations

from hashlib import blake2b

import pyarrow as pa
import pyarrow.compute as pc

TIMES = ("opened_at", "deadline", "ended_at", "met_at")


def fingerprint(outcomes: pa.Table) -> int:
    table = outcomes.sort_by("id")
    digest = blake2b(digest_size=6)
    for name in ("id", "outcome"):
        digest.update("\n".join(table[name].to_pylist()).encode())
    for name in TIMES:
        column = table[name]
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("ms", "UTC"))
        digest.update(pc.fill_null(column.cast(pa.int64()), -1).to_numpy().tobytes())
    return int.from_bytes(digest.digest())
