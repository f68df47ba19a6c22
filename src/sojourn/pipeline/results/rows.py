"""Rows of an outcome table as `Outcome`s, for people to read: a few at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...rules import Outcome
from .. import schema as S  # noqa: N812  (as F for Spark's functions)


def outcome_rows(outcomes: pa.Table) -> tuple[Outcome, ...]:
    """Each row, its times in milliseconds."""
    rows = outcomes.select(S.OUTCOMES.names)
    for name in S.OUTCOME_TIMES:
        rows = rows.set_column(rows.column_names.index(name), name, whole_ms(rows.column(name)))
    return tuple(Outcome(**row) for row in rows.to_pylist())


def few_of(column: pa.ChunkedArray, places: NDArray[np.int64]) -> pa.ChunkedArray:
    """Some values of a column; `places` ascend. Arrow itself would first copy the chunks into one."""
    ends = np.cumsum([len(chunk) for chunk in column.chunks])
    cuts = np.searchsorted(places, ends).tolist()
    begins = [0, *ends.tolist()]
    parts = [
        chunk.take(pa.array(places[start:end] - begin))
        for chunk, begin, start, end in zip(column.chunks, begins, [0, *cuts], cuts, strict=False)
        if start < end
    ]
    return pa.chunked_array(parts, column.type)


def whole_ms(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of times in milliseconds, null where there is none."""
    return pc.cast(pc.cast(times, S.TIME, safe=False), pa.int64())


def ms_or_zero(times: pa.ChunkedArray) -> NDArray[np.int64]:
    """A column of times in milliseconds, as NumPy has it; 0 where there is none."""
    ms: NDArray[np.int64] = pc.fill_null(whole_ms(times), 0).to_numpy()
    return ms
