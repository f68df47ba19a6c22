"""To which group each operation of an outcome table belongs: what its opening event says in a column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .. import schema as S  # noqa: N812  (as F for Spark's functions)
from ..columns.events import EventColumns
from ..plan import Plan, check_columns
from .rows import whole_ms

GROUP = "group"
"""The column that says to which group an operation belongs, where an outcome table has one."""

OPENED_MS = "opened_ms"

OPENINGS = pa.schema([(S.RULE, pa.string()), (S.KEY, pa.string()), (OPENED_MS, pa.int64()), (GROUP, pa.string())])
"""Rule, key, time and group of events that open."""


def with_groups(
    outcomes: pa.Table, by: str, plan: Plan, events: pa.Table, operations: pa.Table | None = None
) -> pa.Table:
    """The outcomes with a column GROUP, in no particular order.

    Where several openings of a key at one instant say different things, the first in the order of text counts.
    """
    if operations is not None:
        check_columns({by: "--by"}, operations.column_names, "the table of operations")
        named = pa.table({S.OPERATION_ID: _text(operations[S.OPERATION_ID]), GROUP: _text(operations[by])})
        return _joined(outcomes, named, [S.OPERATION_ID])
    timed = outcomes.append_column(OPENED_MS, whole_ms(outcomes[S.OPENED_AT]))
    return _joined(timed, openings_by(by, plan, events), [S.RULE, S.KEY, OPENED_MS])


def openings_by(by: str, plan: Plan, events: pa.Table) -> pa.Table:
    """The events that open, as `OPENINGS`."""
    log, groups = EventColumns(events, plan), _text(events[by])
    return pa.concat_tables(_openings_of(rule.name, log, log.is_kind(rule.opens), groups) for rule in plan.rules)


def _openings_of(rule: str, log: EventColumns, opens: np.ndarray, groups: pa.ChunkedArray) -> pa.Table:
    rows = pa.array(np.flatnonzero(opens))
    columns = {S.RULE: pa.repeat(rule, len(rows)), S.KEY: log.key.values.take(rows).cast(pa.string())}
    columns |= {OPENED_MS: pa.array(log.at.ms).take(rows), GROUP: groups.take(rows)}
    return pa.table(columns, schema=OPENINGS)


def _joined(outcomes: pa.Table, groups: pa.Table, on: list[str]) -> pa.Table:
    first = groups.group_by(on).aggregate([(GROUP, "min")]).rename_columns([*on, GROUP])
    return outcomes.join(first, keys=on)


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.cast(column, pa.string())
