"""Operations that are given beside the events, over Arrow tables: who waits on which key, and what came there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ..rules import Rule
from .columns.events import ArrowLog
from .columns.grouping import by_key_and_asked, dealt_out, in_parallel, shards_for, shards_of
from .columns.operations import Given
from .columns.outcomes import outcome_table
from .kernel import Events, Operations, counted, given, judge
from .kernel.search import Ints, order_by
from .plan import Plan


def decided(plan: Plan, log: ArrowLog, rows: Ints, found: Given) -> Iterator[pa.Table]:
    """The outcomes of what is given. Keys are dealt out to shards: those of the events, and those that are waited on.

    Where every operation waits on one key, it is judged in the shard of that key. Where some wait on several, each is
    first handed what counts of its keys' events, wherever they are.
    """
    shards = _Shards(plan, log, rows, found)
    if len(found.keys) == len(found.rule):
        for tables in in_parallel(shards.judged, range(shards.count)):
            yield from tables
        return
    handed = in_parallel(shards.handed, range(shards.count))
    for place, rule in enumerate(plan.rules):
        operation, row = (np.concatenate(parts) for parts in zip(*(part[place] for part in handed), strict=True))
        yield from _judged(rule, found.where(found.rule == place), shards, log.at.ms, operation, row)


class _Watched(NamedTuple):
    """A shard: its events, the row of each in the log, and who looks at which group: each pair once."""

    events: Events
    row: Ints
    group: Ints
    operation: Ints


class _Shards:
    """The keys, dealt out."""

    def __init__(self, plan: Plan, log: ArrowLog, rows: Ints, found: Given) -> None:
        self._log = log
        self._rules = plan.rules
        self._found = found
        self._owner = found.owner
        self._number = _ordinals(found.rule)
        self.count = shards_for(len(rows) + len(found.keys))
        self._rows = shards_of(log.key.values, rows, self.count)
        self._watches = shards_of(found.keys, np.arange(len(found.keys)), self.count)
        self._key_code = np.zeros(len(log.key.values), np.int64) if log.source_is_key else None

    def judged(self, number: int) -> list[pa.Table]:
        """The outcomes of the operations whose only key is in a shard, rule by rule."""
        watched = self._watched(number)
        tables = []
        for place, rule in enumerate(self._rules):
            operations, own = self._under(place, watched)
            verdicts = judge(rule, watched.events, operations)
            shown, names = (texts.take(pa.array(own)) for texts in (self._found.shown_key, self._found.operation_id))
            tables.append(outcome_table(rule, operations, verdicts, shown, names))
        return tables

    def handed(self, number: int) -> list[tuple[Ints, Ints]]:
        """What counts of the events of a shard: an operation's number among those of its rule, and a row of the log."""
        watched = self._watched(number)
        pairs = []
        for place, rule in enumerate(self._rules):
            operations, own = self._under(place, watched)
            operation, row = counted(rule, watched.events, operations)
            pairs.append((self._number[own[operation]], watched.row[row]))
        return pairs

    def _watched(self, number: int) -> _Watched:
        log, row, asked = self._log, self._rows[number], self._watches[number]
        keys, watched = log.key.values.take(pa.array(row)), self._found.keys.take(pa.array(asked))
        groups, group = by_key_and_asked(keys, log.at.ms[row], watched)
        row = row[groups.order]
        if self._key_code is not None:
            self._key_code[row] = groups.of_rows * self.count + number
        operation = self._owner[asked]
        order = order_by(group, operation)
        group, operation = group[order], operation[order]
        is_new = np.ones(len(group), bool)  # not so where an operation names a key twice: those are neighbours now
        is_new[1:] = (group[1:] != group[:-1]) | (operation[1:] != operation[:-1])
        return _Watched(self.events(row, groups.starts), row, group[is_new], operation[is_new])

    def events(self, row: Ints, starts: Ints) -> Events:
        """Rows of the log, of shards that have been looked at, in these groups."""
        return self._log.events(row, starts, None if self._key_code is None else self._key_code[row])

    def _under(self, place: int, watched: _Watched) -> tuple[Operations, Ints]:
        """The watches of the operations under a rule, as operations, and the number of each's operation."""
        found, group, own = self._found, watched.group, watched.operation
        if len(self._rules) > 1:
            chosen = np.flatnonzero(found.rule[own] == place)
            group, own = group[chosen], own[chosen]
        return given(watched.events, group, found.opened_at[own], found.deadline[own]), own


def _ordinals(values: Ints) -> Ints:
    """The number of each among its equals: 0, 1, 2 ..."""
    numbers = np.empty(len(values), np.int64)
    for value in np.unique(values):
        is_equal = values == value
        numbers[is_equal] = np.arange(np.count_nonzero(is_equal))
    return numbers


def _judged(rule: Rule, own: Given, shards: _Shards, at: Ints, operation: Ints, row: Ints) -> list[pa.Table]:
    """The outcomes of a rule's operations, each by the rows that it has been handed."""
    count = len(own.rule)
    parts = shards_for(len(row) + count)

    def judged(part: int) -> pa.Table:
        first, end = (-(-count * bound // parts) for bound in (part, part + 1))
        here = dealt[part]
        group = operation[here] - first
        order = order_by(group, at[row[here]])
        starts = np.append(0, np.cumsum(np.bincount(group, minlength=end - first)))
        events = shards.events(row[here][order], starts)
        operations = given(events, np.arange(end - first), own.opened_at[first:end], own.deadline[first:end])
        shown, names = own.shown_key.slice(first, end - first), own.operation_id.slice(first, end - first)
        return outcome_table(rule, operations, judge(rule, events, operations), shown, names)

    dealt = dealt_out((operation * parts // max(1, count)).astype(np.uint8), parts)
    return in_parallel(judged, range(parts))
