"""The law over Arrow tables, in this process: the kernel without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..rules import Duration, Rule, duration_ms, duration_text
from . import schema as S  # noqa: N812  (as F for Spark's functions)
from .columns.events import ArrowLog
from .columns.grouping import by_key, in_parallel, shards_for, shards_of
from .columns.kinds import table_without_views
from .columns.operations import read_operations
from .columns.outcomes import outcome_table
from .columns.quarantine import set_aside
from .decide_given import decided
from .kernel import NEVER, Events, judge, openings
from .kernel.columns import Lanes
from .kernel.search import Ints
from .plan import Plan


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
    events = table_without_views(events)
    log = ArrowLog(events, plan)
    aside = set_aside(plan, log, events, opens=opens)
    rows = np.flatnonzero(aside.is_usable & (log.kind_code >= 0))
    if operations is None:
        return Result(pa.concat_tables(_opened(plan, log, rows)), aside.table)
    found, refused = read_operations(table_without_views(operations), plan)
    return Result(pa.concat_tables(decided(plan, log, rows, found)), pa.concat_tables([aside.table, refused]))


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

    def judged(own: Ints) -> pa.Table:
        keys = log.key.values if len(own) == len(log.key.values) else log.key.values.take(pa.array(own))
        groups = by_key(keys, log.at.ms[own])
        source = groups.of_rows if log.source_is_key else None
        events = log.events(own[groups.order], groups.starts, source, opens=True)
        return pa.concat_tables(judged_by(rule, groups.names, events) for rule in plan.rules)

    def judged_by(rule: Rule, keys: pa.Array, events: Events) -> pa.Table:
        lanes = Lanes(rule, events)
        operations = openings(rule, events, lanes)
        verdicts = judge(rule, events, operations, lanes)
        return outcome_table(rule, operations, verdicts, keys.take(pa.array(operations.group)))

    return in_parallel(judged, shards_of(log.key.values, rows, shards_for(len(rows))))
