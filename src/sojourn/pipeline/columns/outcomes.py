"""Verdicts as the columns of an outcome table."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...rules import Rule
from .. import schema as S  # noqa: N812  (as F for Spark's functions)
from ..kernel import NEVER, PENDING, Operations, Verdicts
from ..kernel.search import Ints
from .texts import joined, repeated

_PIECE_BYTES = 2**30


def outcome_table(
    rule: Rule,
    operations: Operations,
    verdicts: Verdicts,
    key: pa.Array,
    operation_id: pa.Array | None = None,
    as_of: int | None = None,
    time: pa.DataType = S.TIME,
) -> pa.Table:
    """A row for each operation, as `schema.DECIDED`.

    `key` and, where operations have ids of their own, `operation_id` are in the order of the operations. `as_of` is the
    end of the log that the verdicts are of.
    """
    columns = {
        S.OPERATION_ID: _operation_ids(rule, key, operations) if operation_id is None else _texts_of(operation_id),
        S.RULE: pa.repeat(rule.name, len(key)),
        S.KEY: _texts_of(key),
        S.OPENED_AT: _times(operations.opened_at, time),
        S.DEADLINE: _times(verdicts.deadline, time),
        S.OUTCOME: _texts_of(repeated(verdicts.ending, S.ENDINGS)),
        S.AT: _times(np.where(verdicts.ending == PENDING, NEVER, verdicts.at), time),
        S.WAITED_MS: pa.array(verdicts.at - operations.opened_at),
        S.MET_AT: _times(verdicts.met_at, time),
        S.DECIDED_BY: _texts_of(repeated(*verdicts.decided_by)),
        S.MISSING: _texts_of(repeated(*verdicts.missing)),
        S.CANCELLED_AT: pa.nulls(len(key), time) if rule.cancels is None else _times(verdicts.cancelled_at, time),
        S.AS_OF: _times(np.full(len(key), NEVER if as_of is None else as_of), time),
    }
    fields = [f.with_type(time) if f.type == S.TIME else f for f in S.DECIDED]
    return pa.table([columns[f.name].cast(f.type) for f in fields], schema=pa.schema(fields))


def _operation_ids(rule: Rule, key: pa.Array, operations: Operations) -> pa.ChunkedArray:
    """As `rules.operation_id`, for columns."""
    return _texts_of(joined(rule.name, key, operations.opened_at, operations.ordinal))


def _texts_of(column: pa.Array) -> pa.ChunkedArray:
    """A column of texts, in as many pieces as it takes: one holds 2 GiB at most."""
    if column.nbytes <= _PIECE_BYTES:
        return pa.chunked_array([column.cast(pa.string())])
    ends = np.cumsum(pc.binary_length(column).to_numpy(zero_copy_only=False))
    cuts = np.searchsorted(ends, np.arange(0, ends[-1], _PIECE_BYTES)).tolist()
    cuts = [*dict.fromkeys(cuts), len(column)]
    return pa.chunked_array([column.slice(a, b - a).cast(pa.string()) for a, b in pairwise(cuts)])


def _times(ms: Ints, time: pa.DataType) -> pa.Array:
    is_null = ms == NEVER
    if not is_null.any():
        return pa.array(ms if time.unit == "ms" else ms * 1000).view(time)
    count = np.where(is_null, 0, ms) * (1000 if time.unit == "us" else 1)
    return pa.array(count, mask=is_null).view(time)
