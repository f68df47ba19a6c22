"""What runs on Spark's executors: sorted Arrow batches in, outcomes out. Needs NumPy, PyArrow and `sojourn.rules` only.

The rows come sorted by key, then time; a key's rows may lie in any number of batches. Those of whole keys are gathered
until there are enough to be worth a call of the kernel. So memory is bounded by that, and by the events of the
largest key: some thirty bytes each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .arrow_log import in_one_piece
from .kernel import UNREADABLE, Events, Numbers, given, judge, openings
from .kernel.columns import Lanes
from .kernel.search import Flags, Ints
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


def number_column(place: int) -> str:
    return f"number_{place}"


def deadline_column(place: int) -> str:
    return f"deadline_{place}"


@dataclass(frozen=True)
class Decide:
    """The function that Spark maps over the partitions; `has_operations` if some rows are given operations."""

    plan: Plan
    has_operations: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in whole_keys(batches):
            for decided in self._decided(table):
                yield from decided.to_batches()

    def _decided(self, table: pa.Table) -> Iterator[pa.Table]:
        """The outcomes of some whole keys, rule by rule."""
        keys = in_one_piece(table[KEY])
        starts = _starts(keys)
        if self.has_operations:
            yield from self._judged(table, starts)
            return
        events = self._events(table, starts)
        names = keys.take(pa.array(starts[:-1]))
        for rule in self.plan.rules:
            lanes = Lanes(rule, events)
            operations = openings(rule, events, lanes)
            if len(operations.group):
                verdicts = judge(rule, events, operations, lanes)
                yield outcome_table(rule, operations, verdicts, names.take(pa.array(operations.group)), time=_TIME)

    def _judged(self, table: pa.Table, starts: Ints) -> Iterator[pa.Table]:
        """The outcomes of the operations among the rows, given the events among them."""
        is_operation = table[KIND].to_numpy() == OPERATION
        group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        event_rows, rows = np.flatnonzero(~is_operation), np.flatnonzero(is_operation)
        events = self._events(table.take(pa.array(event_rows)), np.searchsorted(event_rows, starts))
        place = table[RULE].take(pa.array(rows)).to_numpy()
        for i, rule in enumerate(self.plan.rules):
            chosen = rows[place == i]
            if not len(chosen):
                continue
            own = table.take(pa.array(chosen))
            operations = given(events, group[chosen], own[AT].to_numpy(), own[DEADLINE].to_numpy())
            shown, names = in_one_piece(own[SHOWN_KEY]), in_one_piece(own[OPERATION_ID])
            yield outcome_table(rule, operations, judge(rule, events, operations), shown, names, _TIME)

    def _events(self, table: pa.Table, starts: Ints) -> Events:
        plan = self.plan
        has_source = SOURCE in plan.columns
        withins = () if self.has_operations else plan.withins
        return Events(
            starts=starts,
            at=table[AT].to_numpy(),
            kind=table[KIND].to_numpy(),
            kinds=plan.kinds,
            source=in_one_piece(table[SOURCE]).dictionary_encode("encode").indices.to_numpy() if has_source else None,
            numbers={name: _numbers(table[number_column(i)]) for i, name in enumerate(plan.numbers)},
            deadlines={w: table[deadline_column(i)].fill_null(UNREADABLE).to_numpy() for i, w in enumerate(withins)},
        )


def whole_keys(batches: Iterable[pa.RecordBatch], enough: int = ENOUGH_ROWS) -> Iterator[pa.Table]:
    """The rows again, in tables of at least so many rows, but for the last; all rows of a key are in the same one."""
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


def _key(batch: pa.RecordBatch) -> pa.Scalar:
    return batch[KEY][-1]


def _start_of_last_key(batch: pa.RecordBatch) -> int:
    is_last = pc.equal(batch[KEY], _key(batch)).to_numpy(zero_copy_only=False)
    return int(is_last.argmax())


def _starts(keys: pa.Array) -> Ints:
    """Where each key starts, and the number of rows."""
    is_new = np.ones(len(keys), bool)
    is_new[1:] = pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
    return np.append(np.flatnonzero(is_new), len(keys))


def _numbers(column: pa.ChunkedArray) -> Numbers:
    is_number: Flags = column.is_valid().to_numpy()
    return Numbers(column.fill_null(0).to_numpy(), is_number)
