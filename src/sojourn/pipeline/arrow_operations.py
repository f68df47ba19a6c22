"""Operations that are given as an Arrow table, beside the events: each may wait on several keys."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..rules import Rule
from .arrow_log import Texts, in_one_piece, texts
from .arrow_times import NEGATIVE, TOO_FAR, UNKNOWN, durations, times
from .kernel import Events, Operations, counted, given
from .kernel.search import Flags, Ints, order_by, ranges
from .plan import Plan
from .quarantine import quarantined, reasons_of
from .reasons import GIVEN_TWICE, Limit, OperationFacts, Word, operation_checks
from .schema import KEY, KEYS, OPENED_AT, OPERATION_ID, RULE, WITHIN


class Given(NamedTuple):
    """Operations that can be used. Number i waits on key[starts[i]:starts[i + 1]], under the rule of place rule[i]."""

    operation_id: pa.Array
    rule: Ints
    opened_at: Ints
    deadline: Ints
    starts: Ints
    key: pa.Array

    def first_key(self) -> pa.Array:
        """The key that the outcome shows."""
        return self.key.take(pa.array(self.starts[:-1]))

    def take(self, rows: Ints) -> Given:
        counts = np.diff(self.starts)[rows]
        return Given(
            self.operation_id.take(pa.array(rows)),
            self.rule[rows],
            self.opened_at[rows],
            self.deadline[rows],
            _starts(counts),
            self.key.take(pa.array(ranges(self.starts[rows], counts))),
        )


def read_operations(table: pa.Table, plan: Plan) -> tuple[Given, pa.Table]:
    """The operations, and the rows that are set aside."""
    plan.check_operations(table.column_names)
    operation_id = texts(OPERATION_ID, in_one_piece(table[OPERATION_ID]))
    opened_at = times(OPENED_AT, in_one_piece(table[OPENED_AT]), plan.unit)
    counts, keys = _keys(table)
    rule = _rules(table, plan)
    within, limit = _within(table, plan, rule)
    facts = OperationFacts(
        Word(operation_id.is_missing, operation_id.is_bad),
        _keys_word(counts, keys),
        Word(opened_at.is_missing, opened_at.is_bad),
        rule < 0,
        limit,
    )
    reason, reasons = reasons_of(operation_checks(facts), len(table))
    found = Given(operation_id.values, rule, opened_at.ms, opened_at.ms + within, _starts(counts), keys.values)
    reason[_given_twice(found, np.flatnonzero(reason < 0))] = len(reasons)
    aside = quarantined(table, reason, [*reasons, GIVEN_TWICE], None)
    return found.take(np.flatnonzero(reason < 0)), aside


def watched(rule: Rule, events: Events, keys: pa.Array, found: Given) -> tuple[Events, Operations]:
    """Events and operations for the kernel; `keys` are those of the groups of the events.

    Operations on one key each share its events. If any has several, each is given what counts of its keys' events.
    """
    code: Ints = pc.index_in(found.key, keys.cast(found.key.type)).fill_null(len(keys)).to_numpy()
    events = replace(events, starts=np.append(events.starts, events.starts[-1]))  # one more, of keys without events
    if len(found.key) == len(found.rule):
        return events, given(events, code, found.opened_at, found.deadline)
    count = len(found.rule)
    operation = np.repeat(np.arange(count), np.diff(found.starts))
    operation, code = _different(operation, code, len(keys) + 1)
    watches = given(events, code, found.opened_at[operation], found.deadline[operation])
    watch, rows = counted(rule, events, watches)
    owner = operation[watch]
    order = order_by(owner, events.at[rows])
    own = events.take(rows[order], np.searchsorted(owner[order], np.arange(count + 1)))
    return own, given(own, np.arange(count), found.opened_at, found.deadline)


def _different(operation: Ints, code: Ints, codes: int) -> tuple[Ints, Ints]:
    """The pairs without repetition, by operation."""
    pairs = np.sort(operation * codes + code)
    is_new = np.ones(len(pairs), bool)
    is_new[1:] = pairs[1:] != pairs[:-1]
    return np.divmod(pairs[is_new], codes)


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
    code = found.operation_id.take(pa.array(rows)).dictionary_encode().indices.to_numpy()
    repeated = rows[np.bincount(code)[code] > 1] if len(rows) else rows
    own = found.take(repeated)
    keys = [
        tuple(part.encode() for part in own.key[a:b].to_pylist())
        for a, b in zip(own.starts, own.starts[1:], strict=False)
    ]
    columns = zip(own.operation_id.to_pylist(), own.opened_at, own.deadline, keys, own.rule, repeated, strict=True)
    ordered = sorted(columns)
    return np.array([entry[-1] for i, entry in enumerate(ordered) if i and ordered[i - 1][0] == entry[0]], np.int64)


def _starts(counts: Ints) -> Ints:
    return np.append(0, np.cumsum(counts))
