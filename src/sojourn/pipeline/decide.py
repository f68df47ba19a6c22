"""Rows and operations in, outcomes out (as `schema.DECIDED`, coded): the one place where engines have the law applied.

Events are in the normal form (`columns.normal`), and all events of a key are there, up to `as_of`, the end of the log,
or altogether: bringing them together is the engines' part. The threads of the local engine and Spark's executors call
this. A stream's shard, which also keeps what is still pending, has a step of its own over the same kernel
(`stream.shard.decide`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from ..rules import Rule
from . import kernel
from .columns.grouping import by_key, by_key_and_asked, first_said
from .columns.normal import column_of, kernel_events
from .columns.operations import OPERATION, Given
from .columns.outcomes import outcome_table
from .kernel import Events, Operations
from .kernel.columns import Lanes
from .kernel.search import Ints, order_by
from .plan import Plan
from .schema import AT, DEADLINE, GROUP, KEY, OPENED_AT, OPERATION_ID, RULE, SOURCE, TIME, record_batch

Rows: TypeAlias = "pa.Table | pa.RecordBatch"


def opened(plan: Plan, events: Rows, as_of: int | None = None, time: pa.DataType = TIME) -> Iterator[pa.Table]:
    """The outcomes of the operations that these rows open, rule by rule."""
    groups = by_key(column_of(events, KEY), column_of(events, AT).to_numpy())
    grouped = kernel_events(plan, events, groups.order, groups.starts)
    for rule in plan.rules:
        lanes = Lanes(rule, grouped)
        operations = kernel.openings(rule, grouped, lanes)
        if len(operations.group):
            verdicts = kernel.judge(rule, grouped, operations, lanes, as_of)
            keys = _names_of(operations.group, groups.names)
            table = outcome_table(rule, operations, verdicts, keys, as_of=as_of, time=time)
            if plan.by is not None:
                rows_that_open = lanes[rule.opens].rows
                said = column_of(events, GROUP).take(pa.array(groups.order[rows_that_open]))
                group = first_said(said, grouped.instant[rows_that_open], operations.first)
                table = table.append_column(GROUP, group)
            yield table


def _names_of(group: Ints, names: pa.Array) -> pa.Array:
    """The name of each group; often each has one operation."""
    is_each = len(group) == len(names) and np.array_equal(group, np.arange(len(names)))
    return names if is_each else names.take(pa.array(group))


def on_one_key(
    plan: Plan, events: Rows, waiting: Rows, as_of: int | None = None, time: pa.DataType = TIME
) -> Iterator[pa.Table]:
    """The outcomes of operations that wait on one key each (`operations.ON_ONE_KEY`), by the events of these keys."""
    ids, keys = column_of(waiting, OPERATION_ID), column_of(waiting, KEY)
    groups, group = by_key_and_asked(column_of(events, KEY), column_of(events, AT).to_numpy(), keys)
    grouped = kernel_events(plan, events, groups.order, groups.starts)
    opened_at, deadline, rule_index = (column_of(waiting, name).to_numpy() for name in (OPENED_AT, DEADLINE, RULE))
    for index, rule in enumerate(plan.rules):
        chosen = np.flatnonzero(rule_index == index)
        if len(chosen):
            shown, names = (column.take(pa.array(chosen)) for column in (keys, ids))
            operations = kernel.given(grouped, group[chosen], opened_at[chosen], deadline[chosen])
            yield _table(rule, grouped, operations, shown, names, as_of, time)


def handed_schema(plan: Plan, events: pa.Schema) -> pa.Schema:
    """Events on their way to an operation that waits on several keys."""
    source = [pa.field(SOURCE, pa.int64())] * (SOURCE in plan.columns and not plan.has_sources)
    return pa.schema([pa.field(OPERATION, pa.int64()), *[field for field in events if field.name != KEY], *source])


def handed(plan: Plan, events: Rows, watches: Rows, origin: int) -> Iterator[pa.RecordBatch]:
    """The events that count for each operation that watches their keys, as `handed_schema`.

    `origin` is a number of its own for each part of a log: it tells keys apart where they are the sources.
    """
    groups, group = by_key_and_asked(column_of(events, KEY), column_of(events, AT).to_numpy(), column_of(watches, KEY))
    grouped = kernel_events(plan, events, groups.order, groups.starts)
    number, rule_index, opened_at = (column_of(watches, name).to_numpy() for name in (OPERATION, RULE, OPENED_AT))
    schema = handed_schema(plan, events.schema)
    for index, rule in enumerate(plan.rules):
        chosen = np.flatnonzero(rule_index == index)
        since = opened_at[chosen]
        operations = kernel.given(grouped, group[chosen], since, deadline=since)  # what counts does not depend on it
        operation, row = kernel.counted(rule, grouped, operations)
        rows = events.select([name for name in events.schema.names if name != KEY]).take(pa.array(groups.order[row]))
        columns = {OPERATION: number[chosen[operation]]}
        if not plan.has_sources and grouped.source is not None:
            columns[SOURCE] = grouped.source[row] | (origin << 32)
        columns |= {name: column_of(rows, name) for name in schema.names if name not in columns}
        yield record_batch(schema, [columns[name] for name in schema.names])


def on_many_keys(
    plan: Plan,
    given: Given,
    rows: Ints,
    events: Rows,
    owner: Ints,
    as_of: int | None = None,
    time: pa.DataType = TIME,
) -> Iterator[pa.Table]:
    """The outcomes of some rows of `given`, by the events that they were handed: `owner` has positions in `rows`."""
    starts = np.append(0, np.cumsum(np.bincount(owner, minlength=len(rows))))
    grouped = kernel_events(plan, events, order_by(owner, column_of(events, AT).to_numpy()), starts)
    for index, rule in enumerate(plan.rules):
        group = np.flatnonzero(given.rule[rows] == index)
        chosen = rows[group]
        if len(chosen):
            shown, ids = (column.take(pa.array(chosen)) for column in (given.shown_key, given.operation_id))
            operations = kernel.given(grouped, group, given.opened_at[chosen], given.deadline[chosen])
            yield _table(rule, grouped, operations, shown, ids, as_of, time)


def _table(
    rule: Rule,
    events: Events,
    operations: Operations,
    keys: pa.Array,
    ids: pa.Array,
    as_of: int | None,
    time: pa.DataType,
) -> pa.Table:
    verdicts = kernel.judge(rule, events, operations, as_of=as_of)
    return outcome_table(rule, operations, verdicts, keys, ids, as_of, time)
