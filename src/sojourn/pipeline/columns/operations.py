"""Operations that are given as an Arrow table, beside the events: each may wait on several keys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..deal import dealt_out, in_parallel, shards_for
from ..kernel.search import Flags, Ints, RowNumbers, order_by, ranges
from ..plan import Plan
from ..schema import DEADLINE, GIVEN, KEY, KEYS, OPENED_AT, OPERATION_ID, RULE, WITHIN, record_batch
from .events import Texts, in_one_piece, texts
from .quarantine import quarantined, reasons_of
from .reasons import GIVEN_TWICE, Limit, OperationFacts, Validity, operation_checks
from .texts import Hashes, coded
from .times import NEGATIVE, TOO_FAR, UNKNOWN, durations, times

OPERATION = "operation"
"""The number of an operation, where its id would be too long."""

ON_ONE_KEY = pa.schema(
    [
        (KEY, pa.string()),
        (OPERATION_ID, pa.string()),
        (RULE, pa.int32()),
        (OPENED_AT, pa.int64()),
        (DEADLINE, pa.int64()),
    ]
)
"""Operations that wait on one key each; RULE is the index of the rule."""

WATCHES = pa.schema([(KEY, pa.string()), (OPERATION, pa.int64()), (RULE, pa.int32()), (OPENED_AT, pa.int64())])
"""A row for each key that an operation waits on."""

_MANY_KEYS = 8
"""Up to this many keys of an operation are compared one by one."""


@dataclass(frozen=True)
class Given:
    """Operations that can be used. Number i waits on keys[starts[i]:starts[i + 1]], under the rule of index rule[i]."""

    operation_id: pa.Array
    rule: Ints
    opened_at: Ints
    deadline: Ints
    starts: Ints
    keys: pa.Array

    @staticmethod
    def of(rows: pa.Table) -> Given:
        """Operations from a table with the columns of `schema.GIVEN`."""
        keys = in_one_piece(rows[KEYS])
        counts = pc.list_value_length(keys).cast(pa.int64()).to_numpy()
        name = in_one_piece(rows[OPERATION_ID])
        rule, opened_at, deadline = (rows[column].to_numpy() for column in (RULE, OPENED_AT, DEADLINE))
        return Given(name, rule, opened_at, deadline, _starts(counts), keys.flatten())

    def rows(self) -> pa.RecordBatch:
        """The same as a table."""
        keys = pa.ListArray.from_arrays(pa.array(self.starts, pa.int32()), self.keys.cast(pa.string()))
        columns = [self.operation_id, pa.array(self.rule), keys, pa.array(self.opened_at), pa.array(self.deadline)]
        return record_batch(GIVEN, columns)

    def on_one_key(self) -> pa.RecordBatch:
        """Operations that wait on one key each, as `ON_ONE_KEY`."""
        return record_batch(ON_ONE_KEY, [self.shown_key, self.operation_id, self.rule, self.opened_at, self.deadline])

    def watches(self, number: Ints) -> pa.RecordBatch:
        """Each key that an operation waits on, once, as `WATCHES`; `number` identifies the operations.

        Keys keep their order: they are long, and are moved once, when they are dealt out. An operation whose number is
        below 0 is left out.
        """
        owner = self.owner
        watches = record_batch(WATCHES, [self.keys, number[owner], self.rule[owner], self.opened_at[owner]])
        is_chosen = (number[owner] >= 0) & ~is_repeated(self)
        return watches if is_chosen.all() else watches.filter(pa.array(is_chosen))

    @property
    def latest(self) -> int | None:
        """When the last of them is opened: a log that has it goes as far as that."""
        return int(self.opened_at.max()) if len(self.opened_at) else None

    @cached_property
    def shown_key(self) -> pa.Array:
        """The first key of each: the one that its outcome shows."""
        return self.keys if len(self.keys) == len(self.rule) else self.keys.take(pa.array(self.starts[:-1]))

    def take(self, rows: Ints) -> Given:
        counts = np.diff(self.starts)[rows]
        return Given(
            self.operation_id.take(pa.array(rows)),
            self.rule[rows],
            self.opened_at[rows],
            self.deadline[rows],
            _starts(counts),
            self.keys.take(pa.array(ranges(self.starts[rows], counts))),
        )

    def where(self, are_chosen: Flags) -> Given:
        return self if are_chosen.all() else self.take(np.flatnonzero(are_chosen))

    @property
    def owner(self) -> Ints:
        """The operation that waits on each key of `keys`."""
        return np.repeat(np.arange(len(self.rule)), np.diff(self.starts))


def read_operations(table: pa.Table, plan: Plan) -> tuple[Given, pa.Table]:
    """The operations, and the rows that are set aside."""
    given, reason, reasons = checked_operations(table, plan)
    reason[_given_twice(given, np.flatnonzero(reason < 0))] = len(reasons)
    return _opened_by(plan, given.where(reason < 0)), quarantined(table, reason, [*reasons, GIVEN_TWICE], None)


def usable_operations(table: pa.Table, plan: Plan) -> Given:
    """The operations in a part of a table: another part may have operations with the same ids."""
    given, reason, _ = checked_operations(table, plan)
    return _opened_by(plan, given.where(reason < 0))


def _opened_by(plan: Plan, given: Given) -> Given:
    """Without the operations that are opened later than the plan looks."""
    last = plan.last_looked_at
    return given if last is None else given.where(given.opened_at <= last)


def latest_of(*times: int | None) -> int | None:
    """The latest of these times; None if there is none."""
    return max((time for time in times if time is not None), default=None)


def first_of_each_name(given: Given, hashed: Hashes) -> Ints:
    """The first row of each id, by the hashes of the ids: an order that depends on the rows alone."""
    order = np.argsort(hashed)
    is_same = np.diff(hashed[order]) == 0
    if not is_same.any():
        return order
    places = np.flatnonzero(np.append(is_same, False) | np.append(False, is_same))
    ordered = sorted((hashed[row], *_content(given, row), row) for row in order[places].tolist())
    order[places] = [entry[-1] for entry in ordered]
    is_first = np.ones(len(order), bool)
    is_first[places[1:]] = [one[1] != before[1] for before, one in pairwise(ordered)]
    return order[is_first]


def is_repeated(given: Given) -> Flags:
    """Which keys their operation has named before."""
    owner, counts = given.owner, np.diff(given.starts)
    repeated = np.zeros(len(owner), bool)
    if counts.max(initial=0) > _MANY_KEYS:
        code = given.keys.dictionary_encode().indices.to_numpy()
        order = order_by(owner, code)
        owner, code = owner[order], code[order]
        repeated[order[1:]] = (owner[1:] == owner[:-1]) & (code[1:] == code[:-1])
        return repeated
    for further in range(1, int(counts.max(initial=0))):
        is_same = owner[further:] == owner[:-further]
        is_same &= pc.equal(given.keys[further:], given.keys[:-further]).to_numpy(zero_copy_only=False)
        repeated[further:] |= is_same
    return repeated


def checked_operations(table: pa.Table, plan: Plan) -> tuple[Given, NDArray[Any], list[str]]:
    """All rows, and for each the index of the reason why it cannot be used, -1 if there is none."""
    plan.check_operations(table.column_names)
    operation_id = texts(OPERATION_ID, in_one_piece(table[OPERATION_ID]))
    opened_at = times(OPENED_AT, in_one_piece(table[OPENED_AT]), plan.unit)
    counts, waited = _keys(table)
    rule = _rules(table, plan)
    within, limit = _within(table, plan, rule)
    facts = OperationFacts(
        Validity(operation_id.is_missing, operation_id.is_bad),
        _keys_validity(counts, waited),
        Validity(opened_at.is_missing, opened_at.is_bad),
        rule < 0,
        limit,
    )
    reason, reasons = reasons_of(operation_checks(facts), len(table))
    given = Given(operation_id.values, rule, opened_at.ms, opened_at.ms + within, _starts(counts), waited.values)
    return given, reason, reasons


def _keys(table: pa.Table) -> tuple[Ints, Texts]:
    """How many keys each operation has, and all of them, one after the other."""
    name = KEYS if KEYS in table.column_names else KEY
    column = in_one_piece(table[name])
    if not pa.types.is_list(column.type) and not pa.types.is_large_list(column.type):
        return np.ones(len(column), np.int64), texts(name, column)
    counts: Ints = pc.list_value_length(column).fill_null(0).cast(pa.int64()).to_numpy()
    return counts, texts(name, column.flatten())


def _keys_validity(counts: Ints, keys: Texts) -> Validity:
    """Missing if an operation has no key, or only a null; bad if one of its keys is missing or bad."""
    is_bad = _any(counts, keys.is_missing | keys.is_bad)
    is_nothing = (counts == 0) | ((counts == 1) & _any(counts, keys.is_missing))
    return Validity(is_nothing, is_bad & ~is_nothing)


def _any(counts: Ints, flags: Flags) -> Flags:
    before = np.append(0, np.cumsum(flags))
    starts = _starts(counts)
    return np.asarray(before[starts[1:]] > before[starts[:-1]])


def _rules(table: pa.Table, plan: Plan) -> Ints:
    """The index of each operation's rule; -1 if there is no such rule."""
    if RULE not in table.column_names:
        return np.zeros(len(table), np.int64)
    names = texts(RULE, in_one_piece(table[RULE])).values
    known = pa.array([rule.name for rule in plan.rules], names.type)
    return np.asarray(pc.index_in(names, known).fill_null(-1).to_numpy(), np.int64)


def _within(table: pa.Table, plan: Plan, rule: Ints) -> tuple[Ints, Limit | None]:
    if WITHIN not in table.column_names:
        return np.array([rule.within for rule in plan.rules] + [0])[rule], None
    column = in_one_piece(table[WITHIN])
    ms = durations(WITHIN, column)
    is_missing = column.is_null().to_numpy(zero_copy_only=False)
    return np.maximum(ms, 0), Limit(is_missing, ms == UNKNOWN, ms == NEGATIVE, ms == TOO_FAR)


def _given_twice(given: Given, rows: Ints) -> Ints:
    """The rows whose id another row has that is opened and due before."""
    shards = dealt_out(given.operation_id, rows, shards_for(len(rows)))
    return np.concatenate(in_parallel(lambda shard: _twice_among(given, shard), shards))


def _twice_among(given: Given, rows: RowNumbers) -> Ints:
    code, names = coded(given.operation_id, rows)
    if len(names) == len(rows):
        return np.zeros(0, np.int64)
    ordered = sorted((*_content(given, row), row) for row in rows[np.bincount(code)[code] > 1].tolist())
    return np.array([one[-1] for before, one in pairwise(ordered) if before[0] == one[0]], np.int64)


def _content(given: Given, row: int) -> tuple[Any, ...]:
    """All that an operation says, in the order in which operations of one id are compared."""
    keys = given.keys[given.starts[row] : given.starts[row + 1]].to_pylist()
    named = given.operation_id[row].as_py(), given.opened_at[row], given.deadline[row]
    return *named, tuple(key.encode() for key in keys), given.rule[row]


def _starts(counts: Ints) -> Ints:
    return np.append(0, np.cumsum(counts))
