"""Arrow's types of columns: what they are called in errors, and which of them Arrow itself cannot handle."""

from __future__ import annotations

import pyarrow as pa

_FAMILIES = {
    "boolean": pa.types.is_boolean,
    "timestamp": pa.types.is_timestamp,
    "date": pa.types.is_date,
    "interval": pa.types.is_duration,
    "interval of months": pa.types.is_interval,
    "time of day": pa.types.is_time,
    "decimal": pa.types.is_decimal,
    "array": lambda kind: pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind),
    "struct": pa.types.is_struct,
    "map": pa.types.is_map,
    "binary": lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind),
    "string": lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
}


def kind_text(kind: pa.DataType) -> str:
    """What a type is called in an error: the same whichever engine has read the column, and in which of its sizes."""
    plain = plain_type(kind)
    return next((name for name, is_one in _FAMILIES.items() if is_one(plain)), str(plain))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type itself, without dictionaries, views, and bytes of a fixed number."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    return without_views(kind)


def without_views(kind: pa.DataType) -> pa.DataType:
    """The type that can be filtered and taken from: Arrow cannot do so with views of texts and bytes."""
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_list(kind):
        return pa.list_(_field_without_views(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(_field_without_views(kind.value_field))
    if pa.types.is_struct(kind):
        return pa.struct([_field_without_views(field) for field in kind])
    return kind


def table_without_views(table: pa.Table) -> pa.Table:
    """The same table, of types that can be filtered and taken from."""
    fields = [_field_without_views(field) for field in table.schema]
    return table if fields == list(table.schema) else table.cast(pa.schema(fields, table.schema.metadata))


def _field_without_views(field: pa.Field) -> pa.Field:
    return field.with_type(without_views(field.type))
