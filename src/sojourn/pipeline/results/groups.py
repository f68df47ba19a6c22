"""To which group each operation of an outcome table belongs: what its opening event says in a column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .. import schema as S  # noqa: N812  (as F for Spark's functions)
from ..columns.events import ArrowLog
from ..files.source import check_columns
from ..plan import Plan
from .rows import whole_ms
from .tally import GROUP

_OPENED_MS = "opened_ms"


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
    timed = outcomes.append_column(_OPENED_MS, whole_ms(outcomes[S.OPENED_AT]))
    return _joined(timed, _openings(by, plan, events), [S.RULE, S.KEY, _OPENED_MS])


def _openings(by: str, plan: Plan, events: pa.Table) -> pa.Table:
    """Rule, key, time and group of each event that opens."""
    log, groups = ArrowLog(events, plan), _text(events[by])
    return pa.concat_tables(_openings_of(rule.name, log, log.is_kind(rule.opens), groups) for rule in plan.rules)


def _openings_of(rule: str, log: ArrowLog, opens: np.ndarray, groups: pa.ChunkedArray) -> pa.Table:
    rows = pa.array(np.flatnonzero(opens))
    columns = {S.RULE: pa.repeat(rule, len(rows)), S.KEY: log.key.values.take(rows).cast(pa.string())}
    return pa.table({**columns, _OPENED_MS: pa.array(log.at.ms).take(rows), GROUP: groups.take(rows)})


def _joined(outcomes: pa.Table, groups: pa.Table, on: list[str]) -> pa.Table:
    first = groups.group_by(on).aggregate([(GROUP, "min")]).rename_columns([*on, GROUP])
    return outcomes.join(first, keys=on)


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.cast(column, pa.string())
