"""The bytes of a segment, few and quickly written: columns arranged so that their bytes repeat, then compressed.

LZ4 looks for sequences of bytes that it has seen before. Offsets differ in each row, even if all lists and texts have
the same length: so lengths are written in their place. Of a time mostly the lower half differs, and it would break up
the repeating upper ones: so all lower halves come first, then all upper ones. A quarter fewer bytes, in half the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_SIZES = Struct("<qq")
"""Of a part: before it was compressed, and after."""


def to_bytes(*parts: pa.RecordBatch) -> bytes:
    pieces = []
    for rows in parts:
        data = _in_columns(rows).serialize()
        packed = pa.compress(data, codec="lz4_raw")
        pieces += [_SIZES.pack(data.size, packed.size), packed]
    return b"".join(pieces)


def from_bytes(data: bytes, *schemas: pa.Schema) -> list[pa.RecordBatch]:
    whole, start, parts = pa.py_buffer(data), 0, []
    for schema in schemas:
        size, packed = _SIZES.unpack_from(data, start)
        start += _SIZES.size
        parts.append(_in_rows(pa.decompress(whole.slice(start, packed), size, codec="lz4_raw"), schema))
        start += packed
    return parts


def _in_columns(rows: pa.RecordBatch) -> pa.RecordBatch:
    """A single row, of lists: columns whose lengths differ."""
    columns = [column for name in rows.schema.names for column in _taken_apart(rows[name])]
    lists = [pa.ListArray.from_arrays(pa.array([0, len(column)], pa.int32()), column) for column in columns]
    return pa.RecordBatch.from_arrays(lists, names=[str(place) for place in range(len(lists))])


def _in_rows(message: pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    types = [kind for field in schema for kind in _types(field.type)]
    lists = pa.ipc.read_record_batch(message, pa.schema([(str(n), pa.list_(kind)) for n, kind in enumerate(types)]))
    columns = (column.values for column in lists.columns)
    return pa.RecordBatch.from_arrays([_put_together(field.type, columns) for field in schema], schema=schema)


def _taken_apart(array: pa.Array) -> Iterator[pa.Array]:
    """The columns that hold this one; of several, the first says what is null. Lists and structs never are."""
    kind = array.type
    if pa.types.is_struct(kind):
        for column in array.flatten():
            yield from _taken_apart(column)
    elif pa.types.is_list(kind):
        lengths, start, size = _lengths(array)
        yield pa.array(lengths)
        yield from _taken_apart(array.values.slice(start, size))
    elif pa.types.is_string(kind):
        lengths, start, size = _lengths(array)
        yield _with_nulls_of(array, lengths)
        yield pa.array(np.frombuffer(array.buffers()[2] or b"", np.uint8)[start : start + size])
    elif pa.types.is_int64(kind):
        halves = np.frombuffer(array.buffers()[1], "<u4")[2 * array.offset :][: 2 * len(array)]
        yield _with_nulls_of(array, halves[0::2].copy())
        yield pa.array(halves[1::2].copy())
    else:
        yield array


def _lengths(array: pa.Array) -> tuple[NDArray[Any], int, int]:
    """Of each list or text, where the first one starts, and how long they are together."""
    ends = np.frombuffer(array.buffers()[1], np.int32)[array.offset :][: len(array) + 1]
    return np.diff(ends), int(ends[0]), int(ends[-1] - ends[0])


def _with_nulls_of(array: pa.Array, numbers: NDArray[Any]) -> pa.Array:
    return pa.array(numbers, mask=array.is_null().to_numpy(False) if array.null_count else None)


def _types(kind: pa.DataType) -> Iterator[pa.DataType]:
    """Of the columns that `_taken_apart` gives."""
    if pa.types.is_struct(kind):
        for field in kind:
            yield from _types(field.type)
    elif pa.types.is_list(kind):
        yield pa.int32()
        yield from _types(kind.value_type)
    elif pa.types.is_string(kind):
        yield from (pa.int32(), pa.uint8())
    elif pa.types.is_int64(kind):
        yield from (pa.uint32(), pa.uint32())
    else:
        yield kind


def _put_together(kind: pa.DataType, columns: Iterator[pa.Array]) -> pa.Array:
    """What `_taken_apart` took apart."""
    if pa.types.is_struct(kind):
        return pa.StructArray.from_arrays([_put_together(field.type, columns) for field in kind], fields=list(kind))
    first = next(columns)
    nulls = first.buffers()[0] if first.null_count else None
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(_offsets(first), _put_together(kind.value_type, columns), type=kind)
    if pa.types.is_string(kind):
        text = pa.py_buffer(next(columns).to_numpy())
        return pa.StringArray.from_buffers(len(first), _offsets(first).buffers()[1], text, nulls)
    if pa.types.is_int64(kind):
        halves = np.stack([first.fill_null(0).to_numpy(), next(columns).to_numpy()], axis=1)
        return pa.Array.from_buffers(kind, len(first), [nulls, pa.py_buffer(halves)])
    return first


def _offsets(lengths: pa.Array) -> pa.Array:
    return pa.array(np.append(0, np.cumsum(lengths.fill_null(0).to_numpy())), pa.int32())
