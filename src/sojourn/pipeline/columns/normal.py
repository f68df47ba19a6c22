"""The normal form: events as Arrow columns of the plan. Every engine makes it here, and the kernel reads nothing else.

key         text
kind        a code: the index of the kind in the plan
at          epoch milliseconds
source      text, or a code that is the same for the same source; only if a rule counts sources that are not the key
number_0    ... the plan's numbers, in its order; null where there is none
deadline_0  ... what the plan's columns of deadlines say, if events open operations; UNREADABLE where they say nothing
group       text, of events that open operations, if these are grouped; null where the column says nothing
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..kernel import UNREADABLE, Events
from ..kernel.passes import groups
from ..kernel.search import MOST_ROWS, Flags, Ints
from ..plan import Plan
from ..schema import AT, GROUP, KEY, KIND, SOURCE, record_batch
from .events import EventColumns, in_one_piece
from .kinds import plain_type
from .numbers import kernel_numbers, number_type
from .quarantine import Reasons, checked


class Normal(NamedTuple):
    """What a table of events becomes. `events` has a row for each row of the table; `usable` are those that count."""

    events: pa.RecordBatch
    has_time: Flags
    """Which rows have a time, whatever else is wrong with them."""
    usable: NDArray[Any]
    """Rows that some rule names and can use, as far as the row itself tells, and that are not too late for the plan."""
    reasons: list[Reasons]
    """Why other rows are set aside."""
    latest: int | None
    """The time of the latest row that some rule can use, whatever its kind: there the log ends."""

    def only_usable(self) -> pa.RecordBatch:
        is_all = len(self.usable) == self.events.num_rows
        return self.events if is_all else self.events.take(pa.array(self.usable))

    @property
    def aside(self) -> int:
        """How many times a row is set aside: by all rules, or by one."""
        return sum(int(np.count_nonzero(reasons.reason >= 0)) for reasons in self.reasons)


def number_column(place: int) -> str:
    return f"number_{place}"


def deadline_column(place: int) -> str:
    return f"deadline_{place}"


def number_types(plan: Plan, log: pa.Schema) -> dict[str, pa.DataType]:
    """The types of the plan's numbers in a log with these columns. A column without numbers is refused later."""
    kinds = {name: plain_type(log.field(plan.column_of(name)).type) for name in plan.numbers}
    return {name: number_type(kind) or pa.float64() for name, kind in kinds.items()}


def normal_schema(plan: Plan, numbers: Mapping[str, pa.DataType], *, opens: bool = True) -> pa.Schema:
    """The normal form with numbers of these types; `opens` says whether events open operations."""
    source = [(SOURCE, pa.string())] * plan.has_sources
    named = [(number_column(i), numbers[name]) for i, name in enumerate(plan.numbers)]
    deadlines = [(deadline_column(i), pa.int64()) for i, _ in enumerate(plan.withins) if opens]
    group = [(GROUP, pa.string())] * (opens and plan.by is not None)
    return pa.schema([(KEY, pa.string()), (KIND, pa.int16()), (AT, pa.int64()), *source, *named, *deadlines, *group])


def normal_form(table: pa.Table, plan: Plan, schema: pa.Schema | None = None, *, opens: bool = True) -> Normal:
    """The events of a table. What rows that cannot be used hold means nothing: `usable` leaves them out.

    Parts of a log that will be put together share a `schema`. Without one, for a whole log, sources are codes, and
    columns are no wider than they need to be.
    """
    log = EventColumns(table, plan)
    if schema is None:
        log.read_in_parallel()
    is_usable, reasons = checked(plan, log, len(table), opens=opens)
    columns = _columns(log, plan, opens=opens, has_codes=schema is None)
    if schema is None:
        events = pa.RecordBatch.from_pydict(columns)
    else:
        events = record_batch(schema, [columns[name] for name in schema.names])
    has_time = ~(log.at.is_missing | log.at.is_bad)
    is_looked_at = is_usable & (log.kind_code >= 0)
    if plan.last_looked_at is not None:
        is_looked_at &= log.at.ms <= plan.last_looked_at
    return Normal(events, has_time, _rows(is_looked_at), reasons, _latest(log.at.ms, is_usable, reasons))


def _rows(flags: Flags) -> NDArray[Any]:
    """The rows that are flagged: often all of them, which needs half of the memory."""
    is_all = len(flags) <= MOST_ROWS and bool(flags.all())
    return np.arange(len(flags), dtype=np.int32) if is_all else np.flatnonzero(flags)


def _latest(at: Ints, is_usable: Flags, reasons: list[Reasons]) -> int | None:
    for_no_rule = np.logical_and.reduce([of_rule.reason >= 0 for of_rule in reasons if of_rule.rule is not None])
    counts = is_usable & ~for_no_rule
    return int(at.max(where=counts, initial=UNREADABLE)) if counts.any() else None


def _columns(log: EventColumns, plan: Plan, *, opens: bool, has_codes: bool) -> dict[str, Any]:
    columns: dict[str, Any] = {KEY: log.key.values, KIND: log.kind_code, AT: log.at.ms}
    if log.source is not None and plan.has_sources:
        columns[SOURCE] = log.source_code if has_codes else log.source.values
    columns |= {number_column(i): log.number_column(name) for i, name in enumerate(plan.numbers)}
    if opens:
        columns |= {deadline_column(i): log.deadline(within) for i, within in enumerate(plan.withins)}
        if plan.by is not None:
            opens_one = np.logical_or.reduce([log.is_kind(rule.opens) for rule in plan.rules])
            columns[GROUP] = pc.if_else(pa.array(opens_one), log.group(plan.by), pa.scalar(None, pa.string()))
    return columns


def kernel_events(plan: Plan, events: pa.Table | pa.RecordBatch, order: NDArray[Any], starts: Ints) -> Events:
    """Events in the normal form as the kernel wants them: in this order, with a group at each of `starts`.

    Sources without a column are the keys, and those are the groups.
    """
    names = [name for name in events.schema.names if name not in (KEY, SOURCE, GROUP)]
    rows = pa.array(order)
    taken = events.select(names).take(rows)
    source = None
    if SOURCE in events.schema.names:
        source = _codes(column_of(events, SOURCE)).take(rows).to_numpy()
    elif SOURCE in plan.columns:
        source = groups(starts, len(order))
    deadlines = {w: deadline_column(i) for i, w in enumerate(plan.withins) if deadline_column(i) in names}
    return Events(
        starts=starts,
        at=column_of(taken, AT).to_numpy(),
        kind=column_of(taken, KIND).to_numpy(),
        kinds=plan.kinds,
        source=source,
        numbers={name: kernel_numbers(column_of(taken, number_column(i))) for i, name in enumerate(plan.numbers)},
        deadlines={within: column_of(taken, name).to_numpy() for within, name in deadlines.items()},
    )


def column_of(events: pa.Table | pa.RecordBatch, name: str) -> pa.Array:
    column = events[name]
    return in_one_piece(column) if isinstance(column, pa.ChunkedArray) else column


def _codes(sources: pa.Array) -> pa.Array:
    return sources if pa.types.is_integer(sources.type) else sources.dictionary_encode("encode").indices
