"""What runs on Spark's executors: Arrow batches in, outcomes out. Needs NumPy, PyArrow and `sojourn.rules` only.

All rows of a key are in the same partition. They come in any order, and then the partition is read whole and sorted
here, which is cheaper than in the JVM; or Spark has sorted them, and then no more is held than is worth a call of the
kernel, and the largest key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .arrow_log import in_one_piece
from .grouping import Groups, by_key, in_order
from .kernel import UNREADABLE, Events, Numbers, counted, given, judge, openings
from .kernel.columns import Lanes
from .kernel.search import Ints
from .plan import Plan
from .schema import AT, DEADLINE, KEY, KIND, OPERATION_ID, RULE, SOURCE
from .tables import outcome_table

ENOUGH_ROWS = 500_000
"""So many rows at once keep NumPy busy; more would only need more memory."""

OPERATION = -1
"""The kind of a row that is not an event, but an operation that is given."""

SHOWN_KEY = "shown_key"
"""The key that the outcome of a given operation shows."""

_TIME = pa.timestamp("us", tz="UTC")

Batches = Iterable[pa.RecordBatch]


def number_column(place: int) -> str:
    return f"number_{place}"


def deadline_column(place: int) -> str:
    return f"deadline_{place}"


@dataclass(frozen=True)
class Decide:
    """Maps the rows of a partition to outcomes; `has_operations` if some of the rows are given operations."""

    plan: Plan
    has_operations: bool = False
    is_sorted: bool = False

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for table in whole_keys(batches) if self.is_sorted else _whole(batches):
            rows = Rows(self.plan, table, self.is_sorted)
            for decided in self._given(rows) if self.has_operations else self._opened(rows):
                yield from decided.to_batches()

    def _opened(self, rows: Rows) -> Iterator[pa.Table]:
        """The outcomes of what the events open, rule by rule."""
        events = rows.events()
        for rule in self.plan.rules:
            lanes = Lanes(rule, events)
            operations = openings(rule, events, lanes)
            if len(operations.group):
                verdicts = judge(rule, events, operations, lanes)
                key = rows.groups.names.take(pa.array(operations.group))
                yield outcome_table(rule, operations, verdicts, key, time=_TIME)

    def _given(self, rows: Rows) -> Iterator[pa.Table]:
        """The outcomes of the operations among the rows, given the events among them."""
        events = rows.events()
        for place, rule in enumerate(self.plan.rules):
            own, group = rows.operations(place)
            if len(group):
                operations = given(events, group, own[AT].to_numpy(), own[DEADLINE].to_numpy())
                shown, names = in_one_piece(own[SHOWN_KEY]), in_one_piece(own[OPERATION_ID])
                yield outcome_table(rule, operations, judge(rule, events, operations), shown, names, _TIME)


@dataclass(frozen=True)
class Hand:
    """Maps the events of a partition, and the operations that wait on their keys, to what counts for each operation:
    rows whose key is the operation's name. What does not count is not handed on."""

    plan: Plan

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for table in _whole(batches):
            rows = Rows(self.plan, table, is_sorted=False)
            events, event_rows = rows.events(), pa.array(rows.event_rows)
            own = table.drop_columns([KEY, OPERATION_ID, RULE, DEADLINE])
            for place, rule in enumerate(self.plan.rules):
                waiting, group = rows.operations(place)
                operations = given(events, group, waiting[AT].to_numpy(), waiting[DEADLINE].to_numpy())
                operation, row = counted(rule, events, operations)
                names = in_one_piece(waiting[OPERATION_ID]).take(pa.array(operation))
                handed = own.take(event_rows.take(pa.array(row))).add_column(0, KEY, names)
                yield from handed.to_batches()


class Rows:
    """The rows of some whole keys, as the kernel wants them."""

    def __init__(self, plan: Plan, table: pa.Table, is_sorted: bool) -> None:
        self._plan = plan
        self._table = table
        keys = in_one_piece(table[KEY])
        self.groups: Groups = in_order(keys) if is_sorted else by_key(keys, table[AT].to_numpy())

    @cached_property
    def _is_operation(self) -> Ints:
        """In the order of the groups."""
        return np.asarray(self._table[KIND].to_numpy()[self.groups.order] == OPERATION)

    @cached_property
    def event_rows(self) -> Ints:
        """The rows of the table that are events, in the order in which the kernel has them."""
        return self.groups.order[~self._is_operation]

    def operations(self, place: int) -> tuple[pa.Table, Ints]:
        """The operations under a rule, with the group of each."""
        places = np.flatnonzero(self._is_operation)
        rows = self._table.take(pa.array(self.groups.order[places]))
        group = np.searchsorted(self.groups.starts, places, "right") - 1
        chosen = np.flatnonzero(rows[RULE].to_numpy() == place)
        return rows.take(pa.array(chosen)), group[chosen]

    def events(self) -> Events:
        plan, table, rows = self._plan, self._table, self.event_rows
        before = np.append(0, np.cumsum(~self._is_operation))
        source = in_one_piece(table[SOURCE]).dictionary_encode("encode") if SOURCE in plan.columns else None
        there = table.column_names
        deadlines = {w: deadline_column(i) for i, w in enumerate(plan.withins) if deadline_column(i) in there}
        return Events(
            starts=before[self.groups.starts],
            at=table[AT].to_numpy()[rows],
            kind=table[KIND].to_numpy()[rows],
            kinds=plan.kinds,
            source=None if source is None else source.indices.to_numpy()[rows],
            numbers={name: _numbers(table[number_column(i)]).take(rows) for i, name in enumerate(plan.numbers)},
            deadlines={w: table[name].fill_null(UNREADABLE).to_numpy()[rows] for w, name in deadlines.items()},
        )


def whole_keys(batches: Batches, enough: int = ENOUGH_ROWS) -> Iterator[pa.Table]:
    """Sorted rows again, in tables of at least so many rows, but for the last; all rows of a key are in one of them."""
    closed: list[pa.RecordBatch] = []
    open_: list[pa.RecordBatch] = []  # rows of the last key so far: there may be more
    rows = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        start = _start_of_last_key(batch)
        if start or (open_ and _key(open_[-1]) != _key(batch)):
            closed += [*open_, batch.slice(0, start)]
            open_ = []
            rows = sum(part.num_rows for part in closed)
        open_.append(batch.slice(start))
        if rows >= enough:
            yield pa.Table.from_batches(closed)
            closed, rows = [], 0
    if closed or open_:
        yield pa.Table.from_batches([*closed, *open_])


def _whole(batches: Batches) -> Iterator[pa.Table]:
    """All rows in one table, if there are any."""
    found = list(batches)
    if sum(batch.num_rows for batch in found):
        yield pa.Table.from_batches(found)


def _key(batch: pa.RecordBatch) -> pa.Scalar:
    return batch[KEY][-1]


def _start_of_last_key(batch: pa.RecordBatch) -> int:
    is_last = pc.equal(batch[KEY], _key(batch)).to_numpy(zero_copy_only=False)
    return int(is_last.argmax())


def _numbers(column: pa.ChunkedArray) -> Numbers:
    return Numbers(column.fill_null(0).to_numpy(), column.is_valid().to_numpy())
