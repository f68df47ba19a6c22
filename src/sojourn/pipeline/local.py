"""The law over Arrow tables, in this process: the kernel without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ..rules import Duration, Rule, duration_ms
from . import schema as S  # noqa: N812  (as F for Spark's functions)
from .columns.events import ArrowLog
from .columns.grouping import by_key, in_parallel, shards_for, shards_of
from .columns.operations import read_operations
from .columns.outcomes import outcome_table
from .columns.quarantine import set_aside
from .decide_given import decided as decided_given
from .kernel import Events, judge, openings
from .kernel.columns import Lanes
from .kernel.search import Ints
from .plan import Plan
from .results.deadlines import Deadline
from .results.what_if import what_if_table


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
    found = decided(events, plan, operations)
    return found._replace(outcomes=found.outcomes.select(S.OUTCOMES.names))


def decided(events: pa.Table, plan: Plan, operations: pa.Table | None = None) -> Result:
    """The same, by a plan; the outcomes as `schema.DECIDED`."""
    opens = operations is None
    plan.check_columns(events.column_names, opens=opens)
    log = ArrowLog(events, plan)
    aside = set_aside(plan, log, events, opens=opens)
    rows = np.flatnonzero(aside.is_usable & (log.kind_code >= 0))
    if operations is None:
        return Result(pa.concat_tables(_opened(plan, log, rows)), aside.table)
    found, refused = read_operations(operations, plan)
    return Result(pa.concat_tables(decided_given(plan, log, rows, found)), pa.concat_tables([aside.table, refused]))


def what_if(outcomes: pa.Table, withins: Sequence[Duration], rules: Rule | Sequence[Rule] = ()) -> pa.Table:
    """How the operations of an outcome table would have ended within each of these instead, as `schema.WHAT_IF`.

    From `met_at`, so without a second run. A cancellation that came after the deadline is not in the table: under a
    rule that cancels, what a longer deadline would have made of an expired operation is `unknown`. Whether a rule
    cancels is what `rules` say; without them, whether an operation of the table was cancelled. Under `keeps_alive` an
    outcome does not tell what another deadline would have made of it: with `rules` all of it is unknown.
    """
    asked = [Deadline(duration_ms(within)) for within in withins]
    return what_if_table(outcomes, asked, (rules,) if isinstance(rules, Rule) else rules)


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
