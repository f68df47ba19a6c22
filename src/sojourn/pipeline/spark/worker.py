"""What runs on Spark's executors: batches of rows in, parcels out; parcels in, outcomes out.

Rows become the normal form where they are read, and are dealt out by key. An operation that has a single key is judged
in the shard of that key. Where operations may have several, each is handed what counts of the events of its keys, and
is judged back home, in the shard of its id.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .. import decide
from ..columns.normal import normal_form
from ..columns.operations import (
    ON_ONE_KEY,
    OPERATION,
    WATCHES,
    Given,
    first_of_each_name,
    latest_of,
    usable_operations,
)
from ..columns.outcomes import plain
from ..columns.quarantine import set_aside
from ..columns.texts import hashes
from ..deal import shards_of, shards_of_hashes
from ..files.parquet import ParquetFiles
from ..kernel.search import Ints
from ..plan import Plan
from ..schema import GIVEN, KEY, OPERATION_ID, SPARK_TIME
from .parcels import EVENTS, OPERATIONS, Arrived, Batches, gathered, packed, prepare_worker, to_every_shard

Work = Callable[[Batches], Iterator[pa.RecordBatch]]

_RANK_BITS = 32


@dataclass(frozen=True)
class Named:
    """In a task: gives the columns their names back."""

    names: tuple[str, ...]
    work: Work

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        return self.work(batch.rename_columns(self.names) for batch in batches)


@dataclass(frozen=True)
class Plain:
    """In a task: gives Spark texts for dictionaries, which it does not know."""

    work: Work

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in self.work(batches):
            yield from plain(pa.Table.from_batches([batch])).to_batches()


class Reader(ABC):
    """Reads rows that Spark hands over, or Parquet files, of which each task has a share, and deals them out."""

    plan: Plan
    shards: int
    files: ParquetFiles | None

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        prepare_worker(keep_memory=True)
        latest: int | None = None
        for table in gathered(batches) if self.files is None else self.files.tables(batches):
            rows, met = self.parcels(table)
            latest = latest_of(latest, met)
            yield from rows
        if self.plan.as_of == "log":
            yield from to_every_shard(latest, self.shards)

    @abstractmethod
    def parcels(self, table: pa.Table) -> tuple[Iterator[pa.RecordBatch], int | None]:
        """The rows of a table as parcels, and the latest time in it that says how far the log goes."""


@dataclass(frozen=True)
class ReadEvents(Reader):
    """Reads events and deals them out by key."""

    plan: Plan
    schema: pa.Schema
    opens: bool
    shards: int
    files: ParquetFiles | None = None

    def parcels(self, table: pa.Table) -> tuple[Iterator[pa.RecordBatch], int | None]:
        normal = normal_form(table, self.plan, self.schema, opens=self.opens)
        events = normal.only_usable()
        return packed(events, shards_of(events[KEY], self.shards), EVENTS, normal.aside), normal.latest


@dataclass(frozen=True)
class SetAside:
    """Maps rows to those that cannot be used, as `schema.QUARANTINE`."""

    plan: Plan
    schema: pa.Schema
    opens: bool

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for table in gathered(batches):
            for reasons in normal_form(table, self.plan, self.schema, opens=self.opens).reasons:
                yield from set_aside(table, reasons).to_batches()


@dataclass(frozen=True)
class ReadOperations(Reader):
    """Reads operations and deals them out by id."""

    plan: Plan
    shards: int
    files: ParquetFiles | None = None

    def parcels(self, table: pa.Table) -> tuple[Iterator[pa.RecordBatch], int | None]:
        """How far they go is not known before those of the same id are told apart: `Send` says so."""
        rows = usable_operations(table, self.plan).rows()
        return packed(rows, shards_of(rows[OPERATION_ID], self.shards), OPERATIONS), None


@dataclass(frozen=True)
class Send:
    """Sends operations from the shard of their id to those of their keys; only the first one of each id."""

    plan: Plan
    has_many_keys: bool
    shards: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        prepare_worker(keep_memory=True)
        latest: int | None = None
        for parcels in Arrived(batches, pa.schema([]), GIVEN).parcels():
            at_home = AtHome(parcels.operations, self.shards)
            latest = latest_of(latest, int(at_home.given.opened_at[at_home.rows].max()))
            rows = at_home.watches() if self.has_many_keys else at_home.given.take(at_home.rows).on_one_key()
            yield from packed(rows, shards_of(rows[KEY], self.shards), OPERATIONS)
        if self.plan.as_of == "log":
            yield from to_every_shard(latest, self.shards)


class AtHome:
    """Operations in the shards of their ids, each with a rank there that depends on the operations alone.

    `rows`  the first of each id, by shard, then rank.
    `home`  the shard of each of these; they ascend.
    """

    def __init__(self, operations: pa.Table, shards: int) -> None:
        self.given = Given.of(operations)
        hashed = hashes(self.given.operation_id)
        self.rows = first_of_each_name(self.given, hashed)
        self.home = shards_of_hashes(hashed[self.rows], shards)
        self._starts = np.zeros(shards + 1, np.int64)
        np.cumsum(np.bincount(self.home, minlength=shards), out=self._starts[1:])

    def watches(self) -> pa.RecordBatch:
        """The keys that operations wait on. Each operation is known by its home and its rank there, as one number."""
        number = np.full(len(self.given.rule), -1)
        number[self.rows] = (self.home << _RANK_BITS) + np.arange(len(self.rows)) - self._starts[self.home]
        return self.given.watches(number)

    def place(self, number: Ints) -> Ints:
        """Where in `rows` an operation is."""
        return self._starts[home_of(number)] + (number & ((1 << _RANK_BITS) - 1))


def home_of(number: Ints) -> Ints:
    return number >> _RANK_BITS


@dataclass(frozen=True)
class Hand:
    """Maps the events of some keys, and the operations that wait on them, to what counts for each operation."""

    plan: Plan
    schema: pa.Schema
    shards: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        prepare_worker(keep_memory=True)
        arrived = Arrived(batches, self.schema, WATCHES)
        for parcels in arrived.parcels():
            for rows in decide.handed(self.plan, parcels.events, parcels.operations, parcels.shards[0]):
                yield from packed(rows, home_of(rows[OPERATION].to_numpy()), EVENTS)
        yield from to_every_shard(arrived.latest, self.shards)


@dataclass(frozen=True)
class Decide:
    """Maps events to the outcomes of what they open."""

    plan: Plan
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        prepare_worker(keep_memory=True)
        arrived = Arrived(batches, self.schema)
        as_of = self.plan.end_of_log(arrived.latest)
        for parcels in arrived.parcels():
            for table in decide.opened(self.plan, parcels.events, as_of, SPARK_TIME):
                yield from table.to_batches()


@dataclass(frozen=True)
class DecideOnOneKey:
    """Maps events and the operations that wait on their keys, each on one, to the outcomes of these operations."""

    plan: Plan
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        prepare_worker(keep_memory=True)
        arrived = Arrived(batches, self.schema, ON_ONE_KEY)
        as_of = self.plan.end_of_log(arrived.latest)
        for parcels in arrived.parcels():
            for table in decide.on_one_key(self.plan, parcels.events, parcels.operations, as_of, SPARK_TIME):
                yield from table.to_batches()


@dataclass(frozen=True)
class DecideOnManyKeys:
    """Maps operations, and the events that they have been handed, to outcomes."""

    plan: Plan
    schema: pa.Schema
    shards: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        prepare_worker(keep_memory=True)
        arrived = Arrived(batches, decide.handed_schema(self.plan, self.schema), GIVEN)
        as_of = self.plan.end_of_log(arrived.latest)
        for parcels in arrived.parcels():
            at_home = AtHome(parcels.operations, self.shards)
            owner = at_home.place(parcels.events[OPERATION].to_numpy())
            given, rows = at_home.given, at_home.rows
            for table in decide.on_many_keys(self.plan, given, rows, parcels.events, owner, as_of, SPARK_TIME):
                yield from table.to_batches()
