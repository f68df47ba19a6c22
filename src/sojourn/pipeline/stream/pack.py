"""What runs on Spark's executors before and after the shards: events into one payload a shard, payloads into rows.

Spark's stateful operators cost much for each row. So a shard gets its events as one row that holds columns, and
answers in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from .. import schema as S  # noqa: N812  (as F for Spark's functions)
from ..spark.parcels import settle_in
from .shape import TIME, Shape, nothing

SHARD, EVENTS, ASIDE, OUTCOMES, LATE, OPENED = "shard", "events", "aside", "outcomes", "late", "opened"
"""The columns of payloads: SHARD, EVENTS and ASIDE on the way to a shard; OUTCOMES, LATE, ASIDE and OPENED from it."""

IN_SCHEMA = pa.schema([(SHARD, pa.int32()), (EVENTS, pa.binary()), (ASIDE, pa.binary())])

SET_ASIDE = pa.schema([(S.REASON, pa.string()), (S.ROW, pa.string())])
"""Rows that cannot be used."""

ENOUGH_ROWS = 500_000
"""So many rows are packed at once; more would only need more memory."""


@dataclass(frozen=True)
class Pack:
    """Rows of `Shape.fresh` with a shard, or of `SET_ASIDE`, into payloads."""

    shape: Shape

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle_in()
        gathered: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            gathered.append(batch)
            rows += batch.num_rows
            if rows >= ENOUGH_ROWS:
                yield self._packed(gathered)
                gathered, rows = [], 0
        if rows:
            yield self._packed(gathered)

    def _packed(self, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
        rows = pa.concat_batches(batches)
        is_aside = rows[S.REASON].is_valid()
        payloads = []
        if is_aside.true_count:
            aside = rows.filter(is_aside)
            payloads.append({SHARD: 0, ASIDE: to_bytes(aside.select(SET_ASIDE.names))})
            rows = rows.filter(rows[S.REASON].is_null())
        payloads += [{SHARD: shard, EVENTS: to_bytes(part)} for shard, part in self._by_shard(rows)]
        return pa.RecordBatch.from_pylist(payloads, IN_SCHEMA)

    def _by_shard(self, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        shard = rows[SHARD].to_numpy()
        order = np.argsort(shard, kind="stable")
        shards, starts = np.unique(shard[order], return_index=True)
        ordered = rows.select(self.shape.fresh.names).take(pa.array(order))
        for place, (start, end) in zip(shards.tolist(), pairwise([*starts.tolist(), len(order)]), strict=True):
            yield place, ordered.slice(start, end - start)


@dataclass(frozen=True)
class Unpack:
    """Payloads of shards into rows: outcomes, with REASON, ROW and LATE for what is none, and OPENED for counts."""

    shape: Shape

    @property
    def schema(self) -> pa.Schema:
        outcome = [f.with_type(TIME if f.name in S.OUTCOME_TIMES else f.type).with_nullable(True) for f in S.OUTCOMES]
        late = pa.struct([pa.field(S.KEY, pa.string()), *self.shape.row])
        return pa.schema([*outcome, *SET_ASIDE, pa.field(LATE, late), pa.field(OPENED, pa.int64())])

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle_in()
        for batch in batches:
            for payload in batch.to_pylist():
                yield from self._rows(payload)

    def _rows(self, payload: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        if payload[OUTCOMES] is not None:
            yield self._filled(from_bytes(payload[OUTCOMES], self.outcomes))
        if payload[ASIDE] is not None:
            yield self._filled(from_bytes(payload[ASIDE], SET_ASIDE))
        if payload[LATE] is not None:
            yield self._late(from_bytes(payload[LATE], self.shape.fresh))
        if payload[OPENED]:
            yield self._filled(pa.RecordBatch.from_pydict({OPENED: pa.array([payload[OPENED]], pa.int64())}))

    @property
    def outcomes(self) -> pa.Schema:
        return pa.schema(list(self.schema)[: len(S.OUTCOMES)])

    def _late(self, events: pa.RecordBatch) -> pa.RecordBatch:
        fields = list(self.schema.field(LATE).type)
        late = pa.StructArray.from_arrays([events[field.name] for field in fields], fields=fields)
        return self._filled(pa.RecordBatch.from_pydict({LATE: late}))

    def _filled(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """These columns, and nulls in all others."""
        names = set(rows.schema.names)
        columns = [rows[f.name] if f.name in names else pa.nulls(rows.num_rows, f.type) for f in self.schema]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def to_bytes(rows: pa.RecordBatch) -> bytes:
    data: bytes = rows.serialize().to_pybytes()
    return data


def from_bytes(data: bytes, schema: pa.Schema) -> pa.RecordBatch:
    return pa.ipc.read_record_batch(pa.py_buffer(data), schema)


def in_one_piece(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else nothing(table.schema)
