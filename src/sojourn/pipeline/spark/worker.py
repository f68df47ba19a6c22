"""What runs on Spark's executors: parcels in, outcomes out. Needs NumPy, PyArrow and `sojourn.rules` only.

Events are dealt out by key. Operations that are given go by their name first, since of two with the same name one is
set aside; then, key by key, to where the events are. One that has a single key is judged there. Where they may have
several, each is handed what counts of the events of its keys, and is judged back home, in the shard of its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..columns.events import ArrowLog, in_one_piece
from ..columns.grouping import Groups, by_key, by_key_and_asked
from ..columns.numbers import kernel_numbers
from ..columns.operations import Given, first_of_each_name, is_repeated, usable_operations
from ..columns.outcomes import outcome_table
from ..columns.quarantine import checked
from ..files.parquet import ParquetFiles
from ..kernel import UNREADABLE, Events, counted, given, judge, openings
from ..kernel.columns import Lanes
from ..kernel.search import Ints, order_by
from ..plan import Plan
from ..schema import AT, DEADLINE, GIVEN, KEY, KIND, OPENED_AT, OPERATION_ID, RULE, SOURCE, record_batch
from .parcels import (
    EVENTS,
    OPERATIONS,
    Batches,
    Parcels,
    gathered,
    hashes,
    packed,
    settle_in,
    shards_of,
    shards_of_hashes,
    unpacked,
)

HOME, RANK = "home", "rank"
"""An operation, where its name is too long a word: the shard of its name, and its place there."""

_ON_ONE_KEY = pa.schema(
    [
        (KEY, pa.string()),
        (OPERATION_ID, pa.string()),
        (RULE, pa.int32()),
        (OPENED_AT, pa.int64()),
        (DEADLINE, pa.int64()),
    ]
)
_ON_ITS_KEYS = pa.schema(
    [(KEY, pa.string()), (HOME, pa.int32()), (RANK, pa.int32()), (RULE, pa.int32()), (OPENED_AT, pa.int64())]
)
_TIME = pa.timestamp("us", tz="UTC")


def number_column(place: int) -> str:
    return f"number_{place}"


def deadline_column(place: int) -> str:
    return f"deadline_{place}"


def event_schema(plan: Plan, types: Mapping[str, pa.DataType], *, opens: bool) -> pa.Schema:
    """Events, as they go by key. `types` says of each of the plan's numbers what they are: `numbers.number_type`."""
    numbers = [(number_column(i), types[name]) for i, name in enumerate(plan.numbers)]
    deadlines = [(deadline_column(i), pa.int64()) for i, _ in enumerate(plan.withins) if opens]
    source = [(SOURCE, pa.string())] * _has_sources(plan)
    return pa.schema([(KEY, pa.string()), (KIND, pa.int16()), (AT, pa.int64()), *source, *numbers, *deadlines])


@dataclass(frozen=True)
class Deal:
    """Deals out rows of a schema by one of their columns: KEY for events, OPERATION_ID for operations."""

    schema: pa.Schema
    by: str
    shards: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        settle_in(keep_memory=True)
        column = EVENTS if self.by == KEY else OPERATIONS
        for rows in gathered(batches):
            yield from packed(rows.cast(self.schema), shards_of(rows[self.by], self.shards), column)


@dataclass(frozen=True)
class ReadEvents:
    """Reads events from Parquet files, each task its share, and deals them out."""

    files: ParquetFiles
    plan: Plan
    schema: pa.Schema
    opens: bool
    shards: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        settle_in(keep_memory=True)
        for table in self.files.tables(batches):
            yield from self.parcels(table)

    def parcels(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        log = ArrowLog(table, self.plan)
        is_usable, reasons = checked(self.plan, log, len(table), opens=self.opens)
        odd = sum(int(np.count_nonzero(found.reason >= 0)) for found in reasons)
        events = self._rows(log, np.flatnonzero(is_usable & (log.kind_code >= 0)))
        yield from packed(events, shards_of(events[KEY], self.shards), EVENTS, odd)

    def _rows(self, log: ArrowLog, rows: Ints) -> pa.RecordBatch:
        """Some rows of a log. Mostly it is all of them, and then nothing is moved: `packed` will do so once."""
        plan, is_all = self.plan, len(rows) == len(log.kind_code)
        columns: dict[str, Any] = {KEY: log.key.values, KIND: log.kind_code, AT: log.at.ms}
        if log.source is not None:
            columns[SOURCE] = log.source.values
        for i, name in enumerate(plan.numbers):
            columns[number_column(i)] = log.number_column(name)
        if self.opens:
            columns |= {deadline_column(i): log.deadline(within) for i, within in enumerate(plan.withins)}
        whole = record_batch(self.schema, [columns[name] for name in self.schema.names])
        return whole if is_all else whole.take(pa.array(rows))


@dataclass(frozen=True)
class ReadOperations:
    """Reads operations from Parquet files, each task its share, and deals them out by name."""

    files: ParquetFiles
    plan: Plan
    shards: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        settle_in(keep_memory=True)
        for table in self.files.tables(batches):
            yield from self.parcels(table)

    def parcels(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        rows = usable_operations(table, self.plan).rows()
        yield from packed(rows, shards_of(rows[OPERATION_ID], self.shards), OPERATIONS)


@dataclass(frozen=True)
class Send:
    """Sends operations from the shard of their name to those of their keys. Of each name only the first goes."""

    has_many_keys: bool
    shards: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        settle_in(keep_memory=True)
        for parcels in unpacked(batches, pa.schema([]), GIVEN):
            at_home = AtHome(parcels.operations, self.shards)
            rows = self._to_their_keys(at_home) if self.has_many_keys else self._to_their_key(at_home)
            yield from packed(rows, shards_of(rows[KEY], self.shards), OPERATIONS)

    def _to_their_key(self, at_home: AtHome) -> pa.RecordBatch:
        own = at_home.given.take(at_home.rows)
        return record_batch(_ON_ONE_KEY, [own.shown_key, own.operation_id, own.rule, own.opened_at, own.deadline])

    def _to_their_keys(self, at_home: AtHome) -> pa.RecordBatch:
        """Each key once; in the order in which they are there: they are long, and are moved once, by `packed`."""
        own, rows = at_home.given, at_home.rows
        home, rank = (np.full(len(own.rule), -1, np.int32) for _ in range(2))
        home[rows], rank[rows] = at_home.home, at_home.rank
        owner = own.owner
        columns = [own.keys, *(term[owner] for term in (home, rank, own.rule, own.opened_at))]
        sent = record_batch(_ON_ITS_KEYS, columns)
        is_sent = (home[owner] >= 0) & ~is_repeated(own)
        return sent if is_sent.all() else sent.filter(pa.array(is_sent))


class AtHome:
    """Operations in the shards of their names, each with a rank there that depends on nothing but what they say.

    `rows`  those that are no repetition, by shard, then rank.
    `home`  the shard of each of these; they ascend.
    """

    def __init__(self, operations: pa.Table, shards: int) -> None:
        self.given = Given.of(operations)
        hashed = hashes(self.given.operation_id)
        self.rows = first_of_each_name(self.given, hashed)
        self.home = shards_of_hashes(hashed[self.rows], shards)
        self._starts = np.zeros(shards + 1, np.int64)
        np.cumsum(np.bincount(self.home, minlength=shards), out=self._starts[1:])

    @property
    def rank(self) -> Ints:
        """The rank of each of the rows."""
        return np.arange(len(self.rows)) - self._starts[self.home]

    def place(self, home: Ints, rank: Ints) -> Ints:
        """Where in `rows` an operation is."""
        return self._starts[home] + rank


@dataclass(frozen=True)
class Hand:
    """Maps the events of some keys, and the operations that wait on them, to what counts for each operation."""

    plan: Plan
    schema: pa.Schema

    @property
    def handed(self) -> pa.Schema:
        """Events, as they go to an operation."""
        who = [pa.field(HOME, pa.int32()), pa.field(RANK, pa.int32())]
        source = [pa.field(SOURCE, pa.int64())] * (SOURCE in self.plan.columns and not _has_sources(self.plan))
        return pa.schema([*who, *[f for f in self.schema if f.name != KEY], *source])

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        settle_in(keep_memory=True)
        for parcels in unpacked(batches, self.schema, _ON_ITS_KEYS):
            for rows in self._counted(parcels):
                yield from packed(rows, rows[HOME].to_numpy(), EVENTS)

    def _counted(self, parcels: Parcels) -> Iterator[pa.RecordBatch]:
        table, waiting = parcels.events, parcels.operations
        groups, group = by_key_and_asked(in_one_piece(table[KEY]), table[AT].to_numpy(), in_one_piece(waiting[KEY]))
        events = _events(self.plan, table, groups.order, groups.starts, groups)
        home, rank, rule, opened_at = (waiting[name].to_numpy() for name in (HOME, RANK, RULE, OPENED_AT))
        for place, of in enumerate(self.plan.rules):
            own = np.flatnonzero(rule == place)
            since = opened_at[own]
            operations = given(events, group[own], since, deadline=since)  # what counts, counts after it, too
            operation, row = counted(of, events, operations)
            rows = table.drop_columns(KEY).take(pa.array(groups.order[row]))
            columns = {HOME: home[own[operation]], RANK: rank[own[operation]]}
            if not _has_sources(self.plan) and events.source is not None:
                columns[SOURCE] = events.source[row] | (parcels.shards[0] << 32)
            columns |= {name: in_one_piece(rows[name]) for name in self.handed.names if name not in columns}
            yield record_batch(self.handed, [columns[name] for name in self.handed.names])


@dataclass(frozen=True)
class Decide:
    """Maps events to the outcomes of what they open."""

    plan: Plan
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        settle_in(keep_memory=True)
        for parcels in unpacked(batches, self.schema):
            table = parcels.events
            groups = by_key(in_one_piece(table[KEY]), table[AT].to_numpy())
            events = _events(self.plan, table, groups.order, groups.starts, groups)
            for rule in self.plan.rules:
                lanes = Lanes(rule, events)
                operations = openings(rule, events, lanes)
                if len(operations.group):
                    verdicts = judge(rule, events, operations, lanes)
                    key = groups.names.take(pa.array(operations.group))
                    yield from outcome_table(rule, operations, verdicts, key, time=_TIME).to_batches()


@dataclass(frozen=True)
class DecideGiven:
    """Maps events and the operations that wait on their keys, each on one, to the outcomes of these operations."""

    plan: Plan
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        settle_in(keep_memory=True)
        for parcels in unpacked(batches, self.schema, _ON_ONE_KEY):
            table, waiting = parcels.events, parcels.operations
            names, keys = in_one_piece(waiting[OPERATION_ID]), in_one_piece(waiting[KEY])
            groups, group = by_key_and_asked(in_one_piece(table[KEY]), table[AT].to_numpy(), keys)
            events = _events(self.plan, table, groups.order, groups.starts, groups)
            opened_at, deadline, rule_place = (waiting[name].to_numpy() for name in (OPENED_AT, DEADLINE, RULE))
            for place, rule in enumerate(self.plan.rules):
                own = np.flatnonzero(rule_place == place)
                if len(own):
                    operations = given(events, group[own], opened_at[own], deadline[own])
                    verdicts, chosen = judge(rule, events, operations), pa.array(own)
                    yield from outcome_table(
                        rule, operations, verdicts, keys.take(chosen), names.take(chosen), _TIME
                    ).to_batches()


@dataclass(frozen=True)
class DecideHanded:
    """Maps operations, and the events that they have been handed, to outcomes."""

    plan: Plan
    schema: pa.Schema
    shards: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        settle_in(keep_memory=True)
        for parcels in unpacked(batches, self.schema, GIVEN):
            at_home, table = AtHome(parcels.operations, self.shards), parcels.events
            own = at_home.given
            group = at_home.place(table[HOME].to_numpy(), table[RANK].to_numpy())
            starts = np.append(0, np.cumsum(np.bincount(group, minlength=len(at_home.rows))))
            events = _events(self.plan, table, order_by(group, table[AT].to_numpy()), starts)
            for place, rule in enumerate(self.plan.rules):
                groups = np.flatnonzero(own.rule[at_home.rows] == place)
                rows = at_home.rows[groups]
                if len(rows):
                    operations = given(events, groups, own.opened_at[rows], own.deadline[rows])
                    verdicts, chosen = judge(rule, events, operations), pa.array(rows)
                    shown, names = own.shown_key.take(chosen), own.operation_id.take(chosen)
                    yield from outcome_table(rule, operations, verdicts, shown, names, _TIME).to_batches()


def _events(plan: Plan, table: pa.Table, rows: Ints, starts: Ints, groups: Groups | None = None) -> Events:
    """Rows of a table as the kernel wants them. Where they have no sources, but are asked for them, their keys are."""
    source = None
    if SOURCE in table.column_names:
        source = _codes(in_one_piece(table[SOURCE]))[rows]
    elif SOURCE in plan.columns and groups is not None:
        source = groups.of_rows
    there = table.column_names
    deadlines = {w: deadline_column(i) for i, w in enumerate(plan.withins) if deadline_column(i) in there}
    return Events(
        starts=starts,
        at=table[AT].to_numpy()[rows],
        kind=table[KIND].to_numpy()[rows],
        kinds=plan.kinds,
        source=source,
        numbers={
            name: kernel_numbers(in_one_piece(table[number_column(i)])).take(rows)
            for i, name in enumerate(plan.numbers)
        },
        deadlines={w: table[name].fill_null(UNREADABLE).to_numpy()[rows] for w, name in deadlines.items()},
    )


def _has_sources(plan: Plan) -> bool:
    """Whether events have a column of sources that is not their key."""
    return plan.columns.get(SOURCE, plan.columns[KEY]) != plan.columns[KEY]


def _codes(sources: pa.Array) -> Ints:
    codes = sources if pa.types.is_int64(sources.type) else sources.dictionary_encode("encode").indices
    return np.asarray(codes.to_numpy())
