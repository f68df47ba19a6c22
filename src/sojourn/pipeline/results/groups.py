"""To which group each operation belongs, where operations are given: what the table says in a column."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from .. import schema as S  # noqa: N812  (as F for Spark's functions)
from ..plan import check_columns


def with_groups(outcomes: pa.Table, by: str, operations: pa.Table) -> pa.Table:
    """The outcomes of operations that were given, with a column GROUP, in no particular order."""
    check_columns({by: "--by"}, operations.column_names, "the table of operations")
    named = pa.table({S.OPERATION_ID: _text(operations[S.OPERATION_ID]), S.GROUP: _text(operations[by])})
    return _joined(outcomes, named, [S.OPERATION_ID])


def _joined(outcomes: pa.Table, groups: pa.Table, on: list[str]) -> pa.Table:
    first = groups.group_by(on).aggregate([(S.GROUP, "min")]).rename_columns([*on, S.GROUP])
    return outcomes.join(first, keys=on)


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.cast(column, pa.string())
