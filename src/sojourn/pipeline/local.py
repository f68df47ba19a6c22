"""The law over Arrow tables, in this process: the kernel without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..rules import Duration, Rule, duration_ms, duration_text
from . import schema as S  # noqa: N812  (as F for Spark's functions)
from .arrow_log import ArrowLog
from .arrow_operations import Given, read_operations
from .grouping import Groups, Share, by_key, shards_of, shares_of
from .kernel import NEVER, Events, counted, given, judge, openings
from .kernel.columns import Lanes
from .kernel.search import Ints, order_by
from .plan import Plan
from .quarantine import set_aside
from .tables import outcome_table

ENOUGH_ROWS = 100_000
"""So many at a time fit the caches of a processor; fewer would keep the interpreter busy."""

MOST_SHARDS = 256

Part = TypeVar("Part")
Done = TypeVar("Done")


class Result(NamedTuple):
    """What became of a log."""

    outcomes: pa.Table
    """A row for each operation, as `schema.OUTCOMES`, in no particular order."""
    quarantine: pa.Table
    """A row for each row that could not be used, as `schema.QUARANTINE`."""


def outcomes(
    events: pa.Table,
    rules: Rule | Sequence[Rule],
    *,
    key: str | None = None,
    kind: str | None = None,
    at: str | None = None,
    source: str | None = None,
    value: str | None = None,
    unit: S.Unit = "auto",
    operations: pa.Table | None = None,
) -> Result:
    """The outcome of every operation that a log opens, under each rule.

    The columns of the log are named by `key`, `kind`, `at`, `source` and `value`; one that is not given is what the
    rule's `columns` say, or else the very word.

    With `operations` the events open nothing: each row of that table is an operation, with the columns `operation_id`,
    `opened_at`, `keys` (a list; or `key`), `within`, unless the rule has one, and `rule`, if there are several. The
    events of all its keys count for it.
    """
    plan = Plan.of(rules, unit, key=key, kind=kind, at=at, source=source, value=value)
    opens = operations is None
    plan.check_columns(events.column_names, opens=opens)
    log = ArrowLog(events, plan)
    aside = set_aside(plan, log, events, opens=opens)
    rows = np.flatnonzero(aside.is_usable & (log.kind_code >= 0))
    if operations is None:
        return Result(pa.concat_tables(_opened(plan, log, rows)), aside.table)
    keys, logged = _columns(plan, log, rows, opens=False)
    found, refused = read_operations(operations, plan, keys)
    return Result(pa.concat_tables(_given(plan, logged, found)), pa.concat_tables([aside.table, refused]))


def what_if(outcomes: pa.Table, withins: Sequence[Duration]) -> pa.Table:
    """How the operations of an outcome table would have ended within each of these instead, as `schema.WHAT_IF`.

    From `met_at`, so without a second run. A cancellation that came after the deadline of the table is not known there:
    under a rule that cancels, ask for shorter deadlines than its own only. Under `keeps_alive` there is nothing to ask.
    """
    rules = outcomes[S.RULE].combine_chunks().dictionary_encode()
    rule, opened_at = rules.indices.to_numpy(), _ms(outcomes[S.OPENED_AT])
    is_cancelled = pc.equal(outcomes[S.OUTCOME], S.CANCELLED).to_numpy()
    met_after = np.where(outcomes[S.MET_AT].is_null().to_numpy(), NEVER, _ms(outcomes[S.MET_AT]) - opened_at)
    cancelled_after = _ms(outcomes[S.AT]) - opened_at

    def counts(within_ms: int) -> dict[str, Ints]:
        cancelled = is_cancelled & (cancelled_after <= within_ms)
        completed = ~is_cancelled & (met_after <= within_ms)
        expired = ~(cancelled | completed)
        flags = {S.OPENED: expired | ~expired, S.COMPLETED: completed, S.EXPIRED: expired, S.CANCELLED: cancelled}
        flags |= {S.MET_LATE: expired & (met_after < NEVER), S.NEVER_MET: expired & (met_after == NEVER)}
        return {name: np.bincount(rule[flag], minlength=len(names)) for name, flag in flags.items()}

    names = rules.dictionary.to_pylist()
    asked = [(duration_ms(within), counts(duration_ms(within))) for within in withins]
    rows = [
        {S.RULE: name, S.WITHIN: duration_text(ms), S.WITHIN_MS: ms, **{of: int(n[place]) for of, n in found.items()}}
        for place, name in enumerate(names)
        for ms, found in asked
    ]
    return pa.Table.from_pylist(rows, S.WHAT_IF)


def _ms(column: pa.ChunkedArray) -> Ints:
    values: Ints = column.cast(S.TIME).cast(pa.int64()).fill_null(0).to_numpy()
    return values


def _opened(plan: Plan, log: ArrowLog, rows: Ints) -> Iterable[pa.Table]:
    """The outcomes of what the events open."""

    def decided(own: Ints) -> pa.Table:
        keys, events = _columns(plan, log, own)
        return pa.concat_tables(decided_by(rule, keys, events) for rule in plan.rules)

    def decided_by(rule: Rule, keys: pa.Array, events: Events) -> pa.Table:
        lanes = Lanes(rule, events)
        operations = openings(rule, events, lanes)
        verdicts = judge(rule, events, operations, lanes)
        return outcome_table(rule, operations, verdicts, keys.take(pa.array(operations.group)))

    return _in_parallel(decided, shards_of(log.key.values, rows, _shards(len(rows))))


def _given(plan: Plan, events: Events, found: Given) -> Iterator[pa.Table]:
    """The outcomes of what is given.

    Operations on one key each share its events. If any has several, each is given what counts of its keys' events.
    """
    events = replace(events, starts=np.append(events.starts, events.starts[-1]))  # one more, of keys without events
    for place, rule in enumerate(plan.rules):
        own = found.take(np.flatnonzero(found.rule == place))
        if len(own.group) == len(own.rule):
            yield from _judged(rule, events, own, own.group)
        else:
            yield from _judged(rule, _handed(rule, events, own), own, np.arange(len(own.rule)))


def _judged(rule: Rule, events: Events, own: Given, group: Ints) -> Iterable[pa.Table]:
    """The outcomes of operations that look at one group each."""
    order = order_by(group, own.opened_at)
    group = group[order]

    def decided(share: Share) -> pa.Table:
        places = order[share.operations]
        some = events.between(share.first, share.end)
        opened = given(some, group[share.operations] - share.first, own.opened_at[places], own.deadline[places])
        shown, names = own.shown_key.take(pa.array(places)), own.operation_id.take(pa.array(places))
        return outcome_table(rule, opened, judge(rule, some, opened), shown, names)

    return _in_parallel(decided, shares_of(events.starts, group, _shards(len(events.at) + len(group))))


def _handed(rule: Rule, events: Events, own: Given) -> Events:
    """What counts of the events of its keys, for each operation: a group an operation."""
    group, operation = own.watches()

    def hand(share: Share) -> tuple[Ints, Ints]:
        some, owner = events.between(share.first, share.end), operation[share.operations]
        watches = given(some, group[share.operations] - share.first, own.opened_at[owner], own.deadline[owner])
        watch, rows = counted(rule, some, watches)
        return owner[watch], rows + events.starts[share.first]

    parts = _in_parallel(hand, shares_of(events.starts, group, _shards(len(events.at) + len(group))))
    owner, rows = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = order_by(owner, events.at[rows])
    counts = np.bincount(owner, minlength=len(own.rule))
    return events.take(rows[order], np.append(0, np.cumsum(counts)))


def _columns(plan: Plan, log: ArrowLog, rows: Ints, *, opens: bool = True) -> tuple[pa.Array, Events]:
    """The keys of some rows, and the rows as the kernel wants them: a group a key."""
    keys = log.key.values if len(rows) == len(log.key.values) else log.key.values.take(pa.array(rows))
    groups = by_key(keys, log.at.ms[rows])
    rows = rows[groups.order]
    events = Events(
        starts=groups.starts,
        at=log.at.ms[rows],
        kind=log.kind_code[rows],
        kinds=plan.kinds,
        source=_sources(plan, log, rows, groups),
        numbers={name: log.number(name).take(rows) for name in plan.numbers},
        deadlines={within: log.deadline(within)[rows] for within in plan.withins if opens},
    )
    return groups.names, events


def _sources(plan: Plan, log: ArrowLog, rows: Ints, groups: Groups) -> Ints | None:
    if plan.columns.get(S.SOURCE) == plan.columns[S.KEY]:
        return np.repeat(np.arange(len(groups.names)), np.diff(groups.starts))
    return None if log.source_code is None else log.source_code[rows]


def _shards(rows: int) -> int:
    """A power of two."""
    return 1 << min(MOST_SHARDS, rows // ENOUGH_ROWS).bit_length() - 1 if rows >= ENOUGH_ROWS else 1


def _in_parallel(work: Callable[[Part], Done], parts: Sequence[Part]) -> list[Done]:
    """NumPy and Arrow let go of the interpreter while they work, so that threads help."""
    if len(parts) == 1:
        return [work(parts[0])]
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        return list(pool.map(work, parts))
