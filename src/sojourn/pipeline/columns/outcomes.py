"""Verdicts as the columns of an outcome table."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...rules import Rule
from .. import schema as S  # noqa: N812  (as F for Spark's functions)
from ..kernel import NEVER, NOTHING, PENDING, CodedTexts, Operations, Verdicts
from ..kernel.search import Ints

_LARGE = pa.large_string()
_PIECE_BYTES = 2**30


def outcome_table(
    rule: Rule,
    operations: Operations,
    verdicts: Verdicts,
    key: pa.Array,
    operation_id: pa.Array | None = None,
    time: pa.DataType = S.TIME,
) -> pa.Table:
    """A row for each operation, as `schema.DECIDED`.

    `key` and, where operations have ids of their own, `operation_id` are in the order of the operations.
    """
    columns = {
        S.OPERATION_ID: _operation_ids(rule, key, operations) if operation_id is None else _texts_of(operation_id),
        S.RULE: pa.repeat(rule.name, len(key)),
        S.KEY: _texts_of(key),
        S.OPENED_AT: _times(operations.opened_at, time),
        S.DEADLINE: _times(verdicts.deadline, time),
        S.OUTCOME: pa.array(S.ENDINGS).take(pa.array(verdicts.ending)),
        S.AT: _times(np.where(verdicts.ending == PENDING, NEVER, verdicts.at), time),
        S.WAITED_MS: pa.array(verdicts.at - operations.opened_at),
        S.MET_AT: _times(verdicts.met_at, time),
        S.DECIDED_BY: _texts(verdicts.decided_by),
        S.MISSING: _texts(verdicts.missing),
        S.CANCELLED_AT: pa.nulls(len(key), time) if rule.cancels is None else _times(verdicts.cancelled_at, time),
    }
    fields = [f.with_type(time) if f.type == S.TIME else f for f in S.DECIDED]
    return pa.table([columns[f.name].cast(f.type) for f in fields], schema=pa.schema(fields))


def _operation_ids(rule: Rule, key: pa.Array, operations: Operations) -> pa.ChunkedArray:
    """As `rules.operation_id`, for columns."""
    opened_at = pa.array(operations.opened_at).cast(_LARGE)
    ids = pc.binary_join_element_wise(pa.scalar(rule.name, _LARGE), key.cast(_LARGE), opened_at, pa.scalar("/", _LARGE))
    is_later = operations.ordinal > 1
    if is_later.any():
        ordinal = pa.array(operations.ordinal).cast(_LARGE)
        numbered = pc.binary_join_element_wise(ids, ordinal, pa.scalar("#", _LARGE))
        ids = pc.if_else(pa.array(is_later), numbered, ids)
    return _texts_of(ids)


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
    count = np.where(is_null, 0, ms) * (1000 if time.unit == "us" else 1)
    return pa.array(count, mask=is_null).cast(time)


def _texts(coded: CodedTexts) -> pa.Array:
    codes = pa.array(coded.codes, mask=coded.codes == NOTHING)
    return pa.array(coded.texts, pa.string()).take(codes)
