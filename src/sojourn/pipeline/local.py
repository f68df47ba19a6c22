"""The law over Arrow tables, in this process: the kernel without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..rules import Duration, Rule, duration_ms, duration_text
from . import decide
from . import schema as S  # noqa: N812  (as F for Spark's functions)
from .columns.kinds import table_without_views
from .columns.normal import Normal, column_of, normal_form, normal_schema, with_source_codes
from .columns.operations import OPERATION, Given, read_operations
from .columns.quarantine import set_aside
from .deal import by_shard, dealt_out, in_parallel, shards_for
from .kernel import NEVER
from .kernel.search import Ints
from .plan import Plan
from .schema import OUTCOMES


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
    rule's `columns` say, or the name itself.

    With `operations` the events open nothing: each row of that table is an operation, with the columns `operation_id`,
    `opened_at`, `keys` (a list; or `key`), `within`, unless the rule has one, and `rule`, if there are several. The
    events of all its keys count for it.
    """
    plan = Plan.of(rules, unit, key=key, kind=kind, at=at, source=source, value=value)
    return decided(events, plan, operations)


def decided(events: pa.Table, plan: Plan, operations: pa.Table | None = None) -> Result:
    """The same, by a plan."""
    opens = operations is None
    plan.check_columns(events.column_names, opens=opens)
    events = table_without_views(events)
    schema = with_source_codes(normal_schema(plan, events.schema, opens=opens))
    normal = normal_form(events, plan, schema, opens=opens)
    aside = pa.concat_tables(set_aside(events, reasons) for reasons in normal.reasons)
    if operations is None:
        return Result(pa.concat_tables([OUTCOMES.empty_table(), *_opened(plan, normal)]), aside)
    given, refused = read_operations(table_without_views(operations), plan)
    found = [OUTCOMES.empty_table(), *_given(plan, normal, given)]
    return Result(pa.concat_tables(found), pa.concat_tables([aside, refused]))


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


def _opened(plan: Plan, normal: Normal) -> Iterator[pa.Table]:
    """The outcomes of what the events open, shard by shard."""
    rows = normal.usable
    shards = dealt_out(column_of(normal.events, S.KEY), rows, shards_for(len(rows)))
    for tables in in_parallel(lambda own: list(decide.opened(plan, _taken(normal.events, own))), shards):
        yield from tables


def _given(plan: Plan, normal: Normal, given: Given) -> Iterator[pa.Table]:
    """The outcomes of operations that are given, with keys dealt out to shards: of events and of operations alike.

    Where every operation waits on one key, it is judged in the shard of that key. Where some wait on several, each is
    first handed what counts of its keys' events, wherever they are.
    """
    rows, count = normal.usable, len(given.rule)
    shards = shards_for(len(rows) + len(given.keys))
    events = dealt_out(column_of(normal.events, S.KEY), rows, shards)
    is_simple = len(given.keys) == count
    waiting = given.on_one_key() if is_simple else given.watches(np.arange(count))
    asked = dealt_out(column_of(waiting, S.KEY), np.arange(waiting.num_rows), shards)

    def judged(place: int) -> list[pa.Table]:
        return list(decide.on_one_key(plan, _taken(normal.events, events[place]), _taken(waiting, asked[place])))

    def handed(place: int) -> list[pa.RecordBatch]:
        own = _taken(normal.events, events[place]), _taken(waiting, asked[place])
        return list(decide.handed(plan, *own, place))

    work = in_parallel(judged if is_simple else handed, range(shards))
    if is_simple:
        return chain.from_iterable(work)
    return _judged(plan, given, pa.Table.from_batches(chain.from_iterable(work)))


def _judged(plan: Plan, given: Given, events: pa.Table) -> Iterator[pa.Table]:
    """The outcomes of operations by the events that they have been handed, some operations at a time."""
    count = len(given.rule)
    parts = shards_for(events.num_rows + count)
    owner = events[OPERATION].to_numpy()
    dealt = by_shard(owner * parts // max(1, count), parts)

    def judged(part: int) -> list[pa.Table]:
        first, end = (-(-count * bound // parts) for bound in (part, part + 1))
        rows, own = dealt[part], np.arange(first, end)
        return list(decide.on_many_keys(plan, given, own, _taken(events, rows), owner[rows] - first))

    return chain.from_iterable(in_parallel(judged, range(parts)))


def _taken(rows: pa.Table | pa.RecordBatch, own: Ints) -> pa.Table | pa.RecordBatch:
    return rows if len(own) == rows.num_rows else rows.take(pa.array(own))
