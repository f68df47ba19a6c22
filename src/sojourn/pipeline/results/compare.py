"""Whether two outcome tables are equal as sets, and where they are not."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ...rules import Outcome
from .. import schema as S  # noqa: N812  (as F for Spark's functions)
from .rows import outcome_rows

_SIDE = "side"


class Difference(NamedTuple):
    """An operation of which the tables do not say the same: what each says, as rows; none if it lacks it."""

    operation_id: str
    left: tuple[Outcome, ...]
    right: tuple[Outcome, ...]


def differences(left: pa.Table, right: pa.Table, most: int) -> tuple[int, list[Difference]]:
    """In how many rows the tables differ; and, by operation, the first few differences in the order of ids."""
    sides = [_sided(left, 1), _sided(right, -1)]
    summed = pa.concat_tables(sides).group_by(S.OUTCOMES.names).aggregate([(_SIDE, "sum")])
    different = summed.filter(pc.not_equal(summed[f"{_SIDE}_sum"], 0)).sort_by(S.OPERATION_ID)
    ids = pc.unique(different[S.OPERATION_ID]).slice(0, most)
    chosen = different.filter(pc.is_in(different[S.OPERATION_ID], ids))
    rows = list(zip(outcome_rows(chosen), chosen[f"{_SIDE}_sum"].to_pylist(), strict=True))
    return len(different), [_difference(name, rows) for name in ids.to_pylist()]


def _sided(outcomes: pa.Table, side: int) -> pa.Table:
    table = outcomes.select(S.OUTCOMES.names).cast(S.OUTCOMES)
    return table.append_column(_SIDE, pa.repeat(side, len(table)))


def _difference(operation_id: str, rows: list[tuple[Outcome, int]]) -> Difference:
    of_operation = [(row, side) for row, side in rows if row.operation_id == operation_id]
    return Difference(
        operation_id,
        tuple(row for row, side in of_operation if side > 0),
        tuple(row for row, side in of_operation if side < 0),
    )
