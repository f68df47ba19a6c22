"""What runs on Spark's executors before the two steps: events and operations, packed for the shards of their keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ... import schema as S  # noqa: N812  (as F for Spark's functions)
from ...columns.normal import normal_form
from ...columns.operations import Given, checked_operations
from ...columns.quarantine import as_json, quarantined, set_aside
from ...columns.texts import hashes
from ...columns.times import times
from ...deal import shards_of_hashes
from ...kernel.search import Ints
from ...plan import Plan
from ...spark.parcels import gathered, prepare_worker
from ...spark.spread import FIRST, spread
from ..shard.pack import ASIDE, EVENTS, NEWEST, ROWS, SET_ASIDE, SHARD, in_one_piece, to_bytes
from ..shard.shape import HASH
from .terms import HOME, OPENINGS, SEPARATOR, TICKET, WATCHES, Terms, batch_of

WATCHED, OPENED = "watched", "openings"
"""Beside EVENTS, on the way to the shards of keys: operations that wait on them; and all that operations are, for their
homes."""

IN_SCHEMA = pa.schema(
    [
        (SHARD, pa.int32()),
        (EVENTS, pa.binary()),
        (ROWS, pa.binary()),
        (WATCHED, pa.binary()),
        (OPENED, pa.binary()),
        (ASIDE, pa.binary()),
        (NEWEST, S.SPARK_TIME),
    ]
)

HAS_SEPARATOR = "operation_id or one of the keys has the character U+001F"

Payloads = Iterator[dict[str, Any]]


@dataclass(frozen=True)
class PackEvents:
    """Maps rows of a log, with the columns of `log`, to payloads."""

    terms: Terms
    log: pa.Schema
    shards: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare_worker()
        for table in gathered(batches):
            yield self.payloads(table)

    def payloads(self, table: pa.Table) -> pa.RecordBatch:
        table = table.cast(self.log)
        normal = normal_form(table, self.terms.plan, self.terms.normal, opens=False)
        aside = pa.concat_tables(set_aside(table, reasons) for reasons in normal.reasons).select(SET_ASIDE.names)
        rows = normal.usable[normal.reasons[-1].reason[normal.usable] < 0]
        events = normal.events.take(pa.array(rows))
        hashed = hashes(events[S.KEY])
        fresh = batch_of(
            self.terms.fresh,
            {HASH: pa.array(hashed.view(np.int64)), **dict(zip(events.schema.names, events.columns, strict=True))},
        )
        shard = shards_of_hashes(hashed, self.shards)
        whole = in_one_piece(table.take(pa.array(rows)))
        at: Ints = normal.events[S.AT].to_numpy()[normal.has_time]
        return packed(aside, at, by_shard(shard, {EVENTS: fresh, ROWS: whole}))


@dataclass(frozen=True)
class PackOperations:
    """Maps rows of a table of operations, with the columns of `log`, to payloads: one for each shard of their keys."""

    plan: Plan
    log: pa.Schema
    shards: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare_worker()
        for table in gathered(batches):
            yield self.payloads(table)

    def payloads(self, table: pa.Table) -> pa.RecordBatch:
        table = table.cast(self.log)
        given, reason, texts = checked_operations(table, self.plan)
        reason[(reason < 0) & _has_separator(given)] = len(texts)
        aside = quarantined(table, reason, [*texts, HAS_SEPARATOR], None).select(SET_ASIDE.names)
        usable = given.where(reason < 0)
        row = as_json(table.filter(pa.array(reason < 0)))
        watches, shard = self._watches(usable)
        openings, at_first = self._openings(usable, row)
        parts = [*by_shard(shard, {WATCHED: watches}), *by_shard(at_first, {OPENED: openings})]
        opened_at = times(S.OPENED_AT, table[S.OPENED_AT].combine_chunks(), self.plan.unit)
        return packed(aside, opened_at.ms[~(opened_at.is_missing | opened_at.is_bad)], parts)

    def _watches(self, given: Given) -> tuple[pa.RecordBatch, Ints]:
        """A row for each key that an operation waits on, and its shard."""
        owner, keys = given.owner, given.keys.cast(pa.string())
        hashed = hashes(keys)
        columns = {
            HASH: pa.array(hashed.view(np.int64)),
            S.KEY: keys,
            TICKET: tickets(given).take(pa.array(owner)),
            HOME: pa.array(self._home(given)[owner].astype(np.int32)),
            S.OPENED_AT: pa.array(given.opened_at[owner]),
            S.DEADLINE: pa.array(given.deadline[owner]),
        }
        return batch_of(WATCHES, columns), shards_of_hashes(hashed, self.shards)

    def _openings(self, given: Given, row: pa.Array) -> tuple[pa.RecordBatch, Ints]:
        """All that operations are, and the shards of their first keys, which send them home."""
        columns = {
            HOME: pa.array(self._home(given).astype(np.int32)),
            TICKET: tickets(given),
            S.OPERATION_ID: given.operation_id.cast(pa.string()),
            S.OPENED_AT: pa.array(given.opened_at),
            S.DEADLINE: pa.array(given.deadline),
            S.KEYS: given.rows()[S.KEYS],
            S.ROW: row,
        }
        return batch_of(OPENINGS, columns), shards_of_hashes(hashes(given.shown_key.cast(pa.string())), self.shards)

    def _home(self, given: Given) -> Ints:
        return shards_of_hashes(hashes(given.operation_id.cast(pa.string())), self.shards)


def tickets(given: Given) -> pa.Array:
    """All that an operation is, as one text: what differs in anything has another one."""
    keys = pc.binary_join(given.rows()[S.KEYS], SEPARATOR)
    at = (pa.array(column).cast(pa.string()) for column in (given.opened_at, given.deadline))
    return pc.binary_join_element_wise(given.operation_id.cast(pa.string()), keys, *at, SEPARATOR)


def _has_separator(given: Given) -> Any:
    in_keys = pc.fill_null(pc.match_substring(given.keys.cast(pa.string()), SEPARATOR), False)
    has = np.zeros(len(given.rule), bool)
    has[given.owner[in_keys.to_numpy(zero_copy_only=False)]] = True
    in_id = pc.fill_null(pc.match_substring(given.operation_id.cast(pa.string()), SEPARATOR), False)
    return has | in_id.to_numpy(zero_copy_only=False)


def by_shard(shard: Ints, columns: dict[str, pa.RecordBatch]) -> Payloads:
    """The rows of each shard, as payloads: columns of the same rows are sent side by side."""
    order = np.argsort(shard, kind="stable")
    ordered = {name: rows.take(pa.array(order)) for name, rows in columns.items()}
    shards, starts, counts = np.unique(shard[order], return_index=True, return_counts=True)
    for number, start, count in zip(spread(shards).tolist(), starts.tolist(), counts.tolist(), strict=True):
        yield {SHARD: number, **{name: to_bytes(rows.slice(start, count)) for name, rows in ordered.items()}}


def packed(aside: pa.Table, at: Ints, parts: Iterable[dict[str, Any]]) -> pa.RecordBatch:
    """Payloads, each with the newest of these times; if there is nothing else, one that has only that."""
    payloads = [{SHARD: FIRST, ASIDE: to_bytes(in_one_piece(aside))}] if aside.num_rows else []
    payloads += parts
    if len(at):
        newest = pa.scalar(int(at.max()) * 1000, S.SPARK_TIME)
        payloads = [payload | {NEWEST: newest} for payload in payloads or [{}]]
    return pa.RecordBatch.from_pylist(payloads, IN_SCHEMA)
