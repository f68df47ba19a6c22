"""What is kept of keys, as the bytes of a segment. What can be worked out from the rest is not written.

A hash can be worked out from its key and, being as good as random, would not compress. When a key is due is mostly at
the same distance from its first event: so that distance is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.texts import hashes
from ...kernel.search import Ints
from ...schema import AT, KEY
from . import compact
from .shape import DUE, EVENTS, HASH, nothing

Places = NDArray[Any]

_REPLACED = pa.schema([("segment", pa.int64()), ("places", pa.list_(pa.int32()))])
_NOTHING_REPLACED = nothing(_REPLACED)


def to_bytes(kept: pa.RecordBatch, replaced: Mapping[int, Places]) -> bytes:
    columns = dict(zip(kept.schema.names, kept.columns, strict=True))
    columns[DUE] = pa.array(kept[DUE].to_numpy() - _first_seen(kept))
    schema = _written(kept.schema)
    written = pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
    return compact.to_bytes(_rows_of(replaced), written)


def from_bytes(data: bytes, schema: pa.Schema) -> tuple[pa.RecordBatch, dict[int, Places]]:
    """What was kept, with the columns of `schema`, and what it replaced."""
    replaced, written = compact.from_bytes(data, _REPLACED, _written(schema))
    columns = {
        **dict(zip(written.schema.names, written.columns, strict=True)),
        HASH: pa.array(hashes(written[KEY]).view(np.int64)),
        DUE: pa.array(written[DUE].to_numpy() + _first_seen(written)),
    }
    places = (lists.values.to_numpy() for lists in replaced["places"])
    kept = pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
    return kept, dict(zip(replaced["segment"].to_pylist(), places, strict=True))


def _written(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field for field in schema if field.name != HASH])


def _first_seen(kept: pa.RecordBatch) -> Ints:
    """The time of the first row of each key, 0 if there is none."""
    events, first = kept[EVENTS], np.zeros(kept.num_rows, np.int64)
    bounds = events.offsets.to_numpy()
    has_rows = np.diff(bounds) > 0
    first[has_rows] = events.values.field(AT).to_numpy()[bounds[:-1][has_rows]]
    return first


def _rows_of(replaced: Mapping[int, Places]) -> pa.RecordBatch:
    if not replaced:
        return _NOTHING_REPLACED
    ends = np.cumsum([0, *map(len, replaced.values())])
    places = np.concatenate(list(replaced.values())).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(places))
    return pa.RecordBatch.from_arrays([pa.array(list(replaced), pa.int64()), lists], schema=_REPLACED)
