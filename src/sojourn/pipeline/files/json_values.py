"""JSON, object by object, as Python has it: slow, but it can say what is wrong with a line.

A column has one type: null, boolean, whole number (of 64 bits), number, text, list or object. Where types are mixed,
all values are text, each as it is written; so is a column in which a whole number is too large for 64 bits.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from .lines import Bad, Rows

NOT_JSON = "the line is not a JSON object"
NOT_UTF_8 = "the line has bytes that are not UTF-8"
REPEATED = "the line names a field twice"
HALF = "the line has half a character: a surrogate without the other half"
DEEP = "the line is nested too deeply"

DEEPEST = 100
"""How deeply lists and objects may be nested: more than anyone needs, and not too deep for Arrow's stack."""

_INT64 = range(-(2**63), 2**63)
_BLANKS = re.compile(r"[ \t\r\n]*")


class Unfit(Exception):  # noqa: N818  (it never leaves these modules)
    """A line that cannot be read, and why."""


class _Number(float):
    """A number that is not whole, with the text that it was written as."""

    text: str

    def __new__(cls, text: str) -> _Number:
        number = super().__new__(cls, text)
        number.text = text
        return number


def rows_of(lines: Iterable[bytes], schema: pa.Schema | None) -> Rows:
    """Lines of UTF-8, read one by one: columns as the schema says, or as the values are."""
    rows: list[dict[str, Any]] = []
    bad: list[Bad] = []
    for line in lines:
        try:
            objects = objects_of(line)
            rows += objects if schema is None else [fitted_row(row, schema) for row in objects]
        except Unfit as error:
            bad.append(Bad(str(error), line))
    if schema is None:
        schema = pa.schema(list(type_of_all(rows))) if rows else pa.schema([])
        rows = [fitted_row(row, schema) for row in rows]
    values = pa.array(rows, pa.struct(list(schema)))
    return Rows(pa.Table.from_struct_array(values), bad)


def objects_of(line: bytes) -> list[dict[str, Any]]:
    """The objects of a line: mostly one, but a second one is not lost."""
    text = line.decode()
    objects: list[dict[str, Any]] = []
    at = 0
    try:
        while (at := _BLANKS.match(text, at).end()) < len(text):  # type: ignore[union-attr]
            value, at = _DECODER.raw_decode(text, at)
            objects.append(_checked(value))
    except RecursionError:
        raise Unfit(DEEP) from None
    except ValueError:
        raise Unfit(NOT_JSON) from None
    if "\\u" in text and not _is_text(objects):
        raise Unfit(HALF)
    return objects


def _checked(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unfit(NOT_JSON)
    if _depth(value, 0) > DEEPEST:
        raise Unfit(DEEP)
    return value


def _depth(value: Any, above: int) -> int:
    if above > DEEPEST or not isinstance(value, dict | list):
        return above
    inner = value.values() if isinstance(value, dict) else value
    return max((_depth(part, above + 1) for part in inner), default=above + 1)


def _is_text(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Unfit(REPEATED)
    return fields


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_float=_Number)


def type_of(value: Any) -> pa.DataType:
    match value:
        case None:
            return pa.null()
        case bool():
            return pa.bool_()
        case int():
            return pa.int64() if value in _INT64 else pa.string()
        case float():
            return pa.float64()
        case list():
            return pa.list_(common_type(map(type_of, value)))
        case dict():
            return type_of_all([value])
    return pa.string()


def type_of_all(rows: Sequence[dict[str, Any]]) -> pa.StructType:
    """An object that has the fields of all of these."""
    types: dict[str, pa.DataType] = {}
    for row in rows:
        for name, value in row.items():
            types[name] = common_type((types.get(name, pa.null()), type_of(value)))
    return pa.struct(list(types.items()))


def common_type(types: Iterable[pa.DataType]) -> pa.DataType:
    """The type that has room for values of all of these."""
    common = pa.null()
    for kind in types:
        common = kind if kind == common else _common(common, kind)
    return common


def _common(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if pa.types.is_null(one) or pa.types.is_null(other):
        return other if pa.types.is_null(one) else one
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(common_type((one.value_type, other.value_type)))
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        return pa.struct(list(common_schema([pa.schema(list(one)), pa.schema(list(other))])))
    return pa.string()


def common_schema(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """The columns of all of these, in order of appearance, with room for the values of all."""
    types: dict[str, pa.DataType] = {}
    for schema in schemas:
        for field in schema:
            types[field.name] = common_type((types.get(field.name, pa.null()), field.type))
    return pa.schema(list(types.items()))


def settled(schema: pa.Schema) -> pa.Schema:
    """A schema in which nothing is open: what was always null, or an object without fields, is text."""
    return pa.schema([(field.name, _settled(field.type)) for field in schema])


def _settled(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(_settled(kind.value_type))
    if pa.types.is_struct(kind) and kind.num_fields:
        return pa.struct(list(settled(pa.schema(list(kind)))))
    return pa.string() if pa.types.is_null(kind) or pa.types.is_struct(kind) else kind


def fitted_row(row: dict[str, Any], schema: pa.Schema) -> dict[str, Any]:
    return {field.name: _fitted(row.get(field.name), field.type, field.name) for field in schema}


def _fitted(value: Any, kind: pa.DataType, name: str) -> Any:
    """A value as one of a type; `Unfit` if it is not of that type."""
    if value is None or pa.types.is_null(kind):
        return None
    if pa.types.is_string(kind):
        return value if isinstance(value, str) else _as_written(value)
    if pa.types.is_list(kind) and isinstance(value, list):
        return [_fitted(part, kind.value_type, name) for part in value]
    if pa.types.is_struct(kind) and isinstance(value, dict):
        return fitted_row(value, pa.schema(list(kind)))
    if pa.types.is_floating(kind) and isinstance(value, int | float) and not isinstance(value, bool):
        return _as_float(value)
    if kind != type_of(value):
        raise Unfit(f"field {name!r} is not {_word(kind)}")
    return value


def _as_float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:  # as if it had been written with an exponent
        return math.inf if value > 0 else -math.inf


def _word(kind: pa.DataType) -> str:
    if pa.types.is_list(kind) or pa.types.is_struct(kind):
        return "a list" if pa.types.is_list(kind) else "an object"
    return {pa.int64(): "a whole number of 64 bits", pa.float64(): "a number", pa.bool_(): "true or false"}[kind]


def _as_written(value: Any) -> str:
    return value.text if isinstance(value, _Number) else json.dumps(value, ensure_ascii=False)
