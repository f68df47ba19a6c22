"""Verdicts as the columns of an outcome table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...rules import Rule
from .. import schema as S  # noqa: N812  (as F for Spark's functions)
from ..kernel import NEVER, PENDING, Operations, Verdicts
from ..kernel.search import Ints
from .texts import joined

_PIECE_BYTES = 2**30


def outcome_table(
    rule: Rule,
    operations: Operations,
    verdicts: Verdicts,
    key: pa.Array,
    operation_id: pa.Array | None = None,
    as_of: int | None = None,
    time: pa.DataType = S.TIME,
    *,
    is_coded: bool = True,
) -> pa.Table:
    """A row for each operation, as `schema.DECIDED`: if it is coded, with dictionaries for texts that come again.

    `key` and, where operations have ids of their own, `operation_id` are in the order of the operations. `as_of` is the
    end of the log that the verdicts are of.
    """
    texts = _repeated if is_coded else _spelled_out
    columns = {
        S.OPERATION_ID: _operation_ids(rule, key, operations) if operation_id is None else _texts_of(operation_id),
        S.RULE: texts(np.zeros(len(key), np.int32), [rule.name]),
        S.KEY: _texts_of(key),
        S.OPENED_AT: _times(operations.opened_at, time),
        S.DEADLINE: _times(verdicts.deadline, time),
        S.OUTCOME: texts(verdicts.ending, S.ENDINGS),
        S.AT: _times(np.where(verdicts.ending == PENDING, NEVER, verdicts.at), time),
        S.WAITED_MS: pa.array(verdicts.at - operations.opened_at),
        S.MET_AT: _times(verdicts.met_at, time),
        S.DECIDED_BY: texts(*verdicts.decided_by),
        S.MISSING: texts(*verdicts.missing),
        S.CANCELLED_AT: pa.nulls(len(key), time) if rule.cancels is None else _times(verdicts.cancelled_at, time),
        S.AS_OF: pa.nulls(len(key), time) if as_of is None else _times(np.full(len(key), as_of), time),
    }
    schema = S.with_times(S.DECIDED, time)
    schema = S.coded(schema) if is_coded else schema
    return pa.table([columns[field.name] for field in schema], schema=schema)


def plain(decided: pa.Table) -> pa.Table:
    """The same rows, with texts for dictionaries: as people see them, and Spark."""
    kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in decided.schema.types]
    pairs = zip(decided.schema, kinds, strict=True)
    return decided.cast(pa.schema([field.with_type(kind) for field, kind in pairs]))


def _repeated(codes: NDArray[Any], texts: Sequence[str]) -> pa.DictionaryArray:
    """The text of each code, null where that is below 0; some texts may be the same."""
    names = pa.array(texts, pa.string()).dictionary_encode()
    is_null = codes < 0
    if len(names.dictionary) < len(texts):
        codes = np.append(names.indices.to_numpy(), 0)[codes]
    indices = pa.array(codes.astype(np.int32, copy=False), mask=is_null if is_null.any() else None)
    return pa.DictionaryArray.from_arrays(indices, names.dictionary)


def _spelled_out(codes: NDArray[Any], texts: Sequence[str]) -> pa.Array:
    """The same, as texts."""
    is_null = codes < 0
    if is_null.all():
        return pa.nulls(len(codes), pa.string())
    return pa.array(texts, pa.string()).take(pa.array(codes, mask=is_null if is_null.any() else None))


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
