"""What runs on Spark's executors before and after the shards: rows into one payload per shard, payloads into rows.

Spark's stateful operators are expensive per row. So a shard gets its events as one row that holds columns, and answers
in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ... import schema as S  # noqa: N812  (as F for Spark's functions)
from ...columns.normal import Normal, normal_form
from ...columns.quarantine import Reasons, set_aside
from ...columns.texts import hashes
from ...deal import shards_of_hashes
from ...kernel.search import Ints
from ...spark.parcels import gathered, prepare_worker
from ...spark.spread import FIRST, spread
from ..runtime import is_to_wake
from .ruleset import names_kinds
from .shape import Shape, nothing

SHARD, EVENTS, ROWS, ASIDE, NEWEST, OUTCOMES = "shard", "events", "rows", "aside", "newest", "outcomes"
"""The columns of payloads. On the way to a shard: SHARD, EVENTS, the ROWS of the log that they are, ASIDE, and NEWEST,
the time of the newest event that was read with them; SHARD alone wakes it.
From it: OUTCOMES, ASIDE, and COUNTS."""

OPENED, LATE, QUARANTINED = "opened", "late", "quarantined"
COUNTS = (OPENED, *S.ENDED, LATE, QUARANTINED)
"""What a payload from a shard counts: so few rows are added up, and not every outcome is looked at again."""

IN_SCHEMA = pa.schema(
    [(SHARD, pa.int32()), (EVENTS, pa.binary()), (ROWS, pa.binary()), (ASIDE, pa.binary()), (NEWEST, S.SPARK_TIME)]
)

SET_ASIDE = pa.schema([(S.REASON, pa.string()), (S.ROW, pa.string())])
"""Rows that cannot be used."""


@dataclass(frozen=True)
class Pack:
    """Maps rows of a log, with the columns of `log`, to payloads."""

    shape: Shape
    log: pa.Schema
    shards: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare_worker()
        if is_to_wake():
            yield pa.RecordBatch.from_pylist([{SHARD: number} for number in spread(np.arange(self.shards))], IN_SCHEMA)
        for table in gathered(batches):
            yield self.payloads(table)

    def payloads(self, table: pa.Table) -> pa.RecordBatch:
        table = table.cast(self.log)
        normal = normal_form(table, self.shape.plan, self.shape.normal)
        aside = pa.concat_tables(self._aside(table, reasons) for reasons in normal.reasons)
        payloads = [{SHARD: FIRST, ASIDE: to_bytes(in_one_piece(aside))}] if aside.num_rows else []
        payloads += self._events(table, normal)
        newest = _newest(normal)
        if newest is not None:
            payloads = [payload | {NEWEST: newest} for payload in payloads or [{}]]
        return pa.RecordBatch.from_pylist(payloads, IN_SCHEMA)

    def _aside(self, table: pa.Table, reasons: Reasons) -> pa.Table:
        """Where there are several rules, a reason names the one that cannot use the row."""
        if reasons.rule is not None and len(self.shape.plan.rules) > 1:
            reasons = reasons._replace(texts=[f"rule {reasons.rule!r}: {text}" for text in reasons.texts])
        return set_aside(table, reasons).select(SET_ASIDE.names)

    def _used(self, normal: Normal) -> Ints:
        """The rows that some rule names and can use."""
        kind, is_used = normal.events[S.KIND].to_numpy()[normal.usable], np.zeros(len(normal.usable), bool)
        for rule, reasons in zip(self.shape.plan.rules, normal.reasons[1:], strict=True):
            is_used |= names_kinds(rule, self.shape.plan.kinds)[kind] & (reasons.reason[normal.usable] < 0)
        rows: Ints = normal.usable[is_used]
        return rows

    def _events(self, table: pa.Table, normal: Normal) -> Iterator[dict[str, Any]]:
        """The rows that a rule can use, by shard."""
        rows = self._used(normal)
        events = normal.events.take(pa.array(rows))
        hashed = hashes(events[S.KEY])
        fresh = pa.RecordBatch.from_arrays([pa.array(hashed.view(np.int64)), *events.columns], schema=self.shape.fresh)
        shard = shards_of_hashes(hashed, self.shards)
        order = np.argsort(shard, kind="stable")
        ordered, whole = fresh.take(pa.array(order)), in_one_piece(table.take(pa.array(rows[order])))
        shards, starts, counts = np.unique(shard[order], return_index=True, return_counts=True)
        for number, start, count in zip(spread(shards).tolist(), starts.tolist(), counts.tolist(), strict=True):
            part = (to_bytes(batch.slice(start, count)) for batch in (ordered, whole))
            yield dict(zip((SHARD, EVENTS, ROWS), (number, *part), strict=True))


def _newest(normal: Normal) -> Any:
    """The time of the newest row that has one, whatever else is wrong with it."""
    at: Ints = normal.events[S.AT].to_numpy()[normal.has_time]
    return pa.scalar(int(at.max()) * 1000, S.SPARK_TIME) if len(at) else None


@dataclass(frozen=True)
class Unpack:
    """Maps payloads of shards to rows: outcomes; REASON and ROW for what was set aside."""

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([*self.outcomes, *SET_ASIDE])

    @property
    def outcomes(self) -> pa.Schema:
        fields = [f.with_type(S.SPARK_TIME if f.name in S.OUTCOME_TIMES else f.type) for f in S.OUTCOMES]
        return pa.schema([field.with_nullable(True) for field in fields])

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare_worker()
        for batch in batches:
            for payload in batch.to_pylist():
                yield from self._rows(payload)

    def _rows(self, payload: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        if payload[OUTCOMES] is not None:
            yield self._filled(from_bytes(payload[OUTCOMES], self.outcomes))
        if payload[ASIDE] is not None:
            yield self._filled(from_bytes(payload[ASIDE], SET_ASIDE))

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
