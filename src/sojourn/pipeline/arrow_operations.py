"""Operations that are given as an Arrow table, beside the events: each may wait on several keys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .arrow_log import Texts, in_one_piece, texts
from .arrow_times import NEGATIVE, TOO_FAR, UNKNOWN, durations, times
from .grouping import in_parallel, shards_for, shards_of
from .kernel.search import Flags, Ints, ranges
from .plan import Plan
from .quarantine import quarantined, reasons_of
from .reasons import GIVEN_TWICE, Limit, OperationFacts, Word, operation_checks
from .schema import KEY, KEYS, OPENED_AT, OPERATION_ID, RULE, WITHIN


class Given(NamedTuple):
    """Operations that can be used. Number i waits on keys[starts[i]:starts[i + 1]], and shows the first of them, under
    the rule of place rule[i]."""

    operation_id: pa.Array
    shown_key: pa.Array
    rule: Ints
    opened_at: Ints
    deadline: Ints
    starts: Ints
    keys: pa.Array

    def take(self, rows: Ints) -> Given:
        if len(rows) == len(self.rule):
            return self
        counts = np.diff(self.starts)[rows]
        return Given(
            self.operation_id.take(pa.array(rows)),
            self.shown_key.take(pa.array(rows)),
            self.rule[rows],
            self.opened_at[rows],
            self.deadline[rows],
            _starts(counts),
            self.keys.take(pa.array(ranges(self.starts[rows], counts))),
        )

    @property
    def owner(self) -> Ints:
        """The operation that waits on each key of `keys`."""
        return np.repeat(np.arange(len(self.rule)), np.diff(self.starts))


def read_operations(table: pa.Table, plan: Plan) -> tuple[Given, pa.Table]:
    """The operations, and the rows that are set aside."""
    plan.check_operations(table.column_names)
    operation_id = texts(OPERATION_ID, in_one_piece(table[OPERATION_ID]))
    opened_at = times(OPENED_AT, in_one_piece(table[OPENED_AT]), plan.unit)
    counts, waited = _keys(table)
    rule = _rules(table, plan)
    within, limit = _within(table, plan, rule)
    facts = OperationFacts(
        Word(operation_id.is_missing, operation_id.is_bad),
        _keys_word(counts, waited),
        Word(opened_at.is_missing, opened_at.is_bad),
        rule < 0,
        limit,
    )
    reason, reasons = reasons_of(operation_checks(facts), len(table))
    starts = _starts(counts)
    shown = pa.array(starts[:-1], mask=counts == 0)
    deadline = opened_at.ms + within
    found = Given(operation_id.values, waited.values.take(shown), rule, opened_at.ms, deadline, starts, waited.values)
    reason[_given_twice(found, np.flatnonzero(reason < 0))] = len(reasons)
    aside = quarantined(table, reason, [*reasons, GIVEN_TWICE], None)
    return found.take(np.flatnonzero(reason < 0)), aside


def _keys(table: pa.Table) -> tuple[Ints, Texts]:
    """How many keys each operation has, and all of them, one after the other."""
    name = KEYS if KEYS in table.column_names else KEY
    column = in_one_piece(table[name])
    if not pa.types.is_list(column.type) and not pa.types.is_large_list(column.type):
        return np.ones(len(column), np.int64), texts(name, column)
    counts: Ints = pc.list_value_length(column).fill_null(0).cast(pa.int64()).to_numpy()
    return counts, texts(name, column.flatten())


def _keys_word(counts: Ints, keys: Texts) -> Word:
    """Missing if an operation has no key at all, or just nothing; bad if one of several is."""
    is_bad = _any(counts, keys.is_missing | keys.is_bad)
    is_nothing = (counts == 0) | ((counts == 1) & _any(counts, keys.is_missing))
    return Word(is_nothing, is_bad & ~is_nothing)


def _any(counts: Ints, flags: Flags) -> Flags:
    before = np.append(0, np.cumsum(flags))
    starts = _starts(counts)
    return np.asarray(before[starts[1:]] > before[starts[:-1]])


def _rules(table: pa.Table, plan: Plan) -> Ints:
    """The place of each operation's rule; -1 if there is no such rule."""
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


def _given_twice(found: Given, rows: Ints) -> Ints:
    """Those of the rows whose name another one has that is opened and due before it."""
    shards = shards_of(found.operation_id, rows, shards_for(len(rows)))
    return np.concatenate(in_parallel(lambda own: _twice_among(found, own), shards))


def _twice_among(found: Given, rows: Ints) -> Ints:
    encoded = found.operation_id.take(pa.array(rows)).dictionary_encode()
    if len(encoded.dictionary) == len(rows):
        return rows[:0]
    code = encoded.indices.to_numpy()
    ordered = sorted(
        (
            found.operation_id[row].as_py(),
            found.opened_at[row],
            found.deadline[row],
            tuple(key.encode() for key in found.keys[found.starts[row] : found.starts[row + 1]].to_pylist()),
            found.rule[row],
            row,
        )
        for row in rows[np.bincount(code)[code] > 1].tolist()
    )
    return np.array([entry[-1] for i, entry in enumerate(ordered) if i and ordered[i - 1][0] == entry[0]], np.int64)


def _starts(counts: Ints) -> Ints:
    return np.append(0, np.cumsum(counts))
