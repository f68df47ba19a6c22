"""JSON Lines as Arrow tables, columns typed as the values are written; texts stay texts, also if they look like times.

A line has one object, or several. A file in order is read by Arrow in one go. A line that starts with { and ends with }
cannot be part of an object that goes on in another line, since } and { never meet inside of one: so what Arrow finds in
such lines is what each of them has. All other lines are looked at one by one, and so are those that Arrow refuses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import json as arrow_json

from .json_values import DEEPEST, NOT_JSON, NOT_UTF_8, common_schema, rows_of
from .lines import BOM, Bad, Lines, Rows, is_text, lines_of, united

FEW = 200
"""Up to this many lines are read one by one where Arrow gives up; of more, each half is tried again."""

SAMPLE = 1 << 16
_BLANKS = b" \t\r" + BOM
_EXACT = 2.0**63
_CHANGED = "changed from"


def read_block(data: bytes, schema: pa.Schema | None = None) -> Rows:
    """The lines of some bytes as a table: of the columns of a schema, or of those that there are."""
    text, lines, bad = _sorted_out(data)
    rows = _read(text, lines, schema)
    return Rows(rows.table, bad + rows.bad)


def _sorted_out(data: bytes) -> tuple[bytes, Lines, list[Bad]]:
    """The lines that may be objects, and those that cannot be."""
    lines = lines_of(data)
    is_good = _looks_good(data, lines)
    if is_good.all() and is_text(data):
        return data, lines, []
    good: list[bytes] = []
    bad: list[Bad] = []
    for start, end, is_sure in zip(*(values.tolist() for values in (*lines, is_good)), strict=True):
        line = data[start:end]
        stripped = line if is_sure else line.strip(_BLANKS)
        if not is_text(line):
            bad.append(Bad(NOT_UTF_8, line))
        elif stripped[:1] == b"{" and stripped[-1:] == b"}":
            good.append(stripped)
        elif stripped:
            bad.append(Bad(NOT_JSON, line))
    text = b"\n".join(good)
    return text, lines_of(text), bad


def _looks_good(data: bytes, lines: Lines) -> NDArray[np.bool_]:
    characters = np.frombuffer(data, np.uint8)
    if not len(characters):
        return np.zeros(len(lines.starts), bool)
    starts = characters.take(lines.starts, mode="clip") == ord("{")
    ends = characters.take(lines.ends - 1, mode="clip") == ord("}")
    return np.asarray(starts & ends & (lines.ends > lines.starts))


def _read(text: bytes, lines: Lines, schema: pa.Schema | None) -> Rows:
    if len(lines.starts) and not _is_risky(text, len(lines.starts)):
        try:
            table = _read_by_arrow(text, schema)
            if _is_exact(table):
                return Rows(table if schema is None else cast(table, schema), [])
        except pa.ArrowInvalid as error:
            if len(lines.starts) > FEW and _CHANGED not in str(error):
                return _read_in_halves(text, lines, schema)
    return rows_of(_each(text, lines), schema)


def _read_in_halves(text: bytes, lines: Lines, schema: pa.Schema | None) -> Rows:
    middle = int(lines.starts[len(lines.starts) // 2])
    halves = [_read(part, lines_of(part), schema) for part in (text[:middle], text[middle:])]
    fit = common_schema(half.table.schema for half in halves)
    if all(fits(half.table, fit) for half in halves):
        return united(halves, [half.table for half in halves])
    return rows_of(_each(text, lines), schema)


def _each(text: bytes, lines: Lines) -> list[bytes]:
    return [text[start:end] for start, end in zip(lines.starts.tolist(), lines.ends.tolist(), strict=True)]


def _is_risky(text: bytes, lines: int) -> bool:
    """Whether Arrow might stop early, or nest too deeply for its stack."""
    if b"\0" in text:
        return True
    if text.count(b"{") + text.count(b"[") <= lines + DEEPEST:
        return False
    characters = np.frombuffer(text, np.uint8)
    opens = np.flatnonzero((characters == ord("{")) | (characters == ord("[")))
    return bool(np.diff(np.searchsorted(opens, lines_of(text).starts), append=len(opens)).max() > DEEPEST)


def _read_by_arrow(text: bytes, schema: pa.Schema | None) -> pa.Table:
    if schema is not None:
        return _parsed(text, schema)
    hint = pa.schema([])
    if len(text) > 2 * SAMPLE:
        hint = _texts(_parsed(text[: text.rfind(b"\n", 0, SAMPLE) + 1] or text, hint).schema)
    try:
        table = _parsed(text, hint)
    except pa.ArrowInvalid:
        table = _parsed(text, pa.schema([]))
    if not _has_times(table.schema):
        return table
    return _parsed(text, pa.schema([(field.name, _as_written(field.type)) for field in table.schema]))


def _parsed(text: bytes, schema: pa.Schema) -> pa.Table:
    return arrow_json.read_json(
        pa.BufferReader(text),
        read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer"),
    )


def _texts(schema: pa.Schema) -> pa.Schema:
    """The columns that Arrow may take for times where they are texts."""
    kinds = [(field.name, _as_written(field.type)) for field in schema]
    return pa.schema([(name, kind) for name, kind in kinds if pa.types.is_string(kind)])


def _has_times(schema: pa.Schema) -> bool:
    return any(_as_written(field.type) != field.type for field in schema)


def _as_written(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(_as_written(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _as_written(field.type)) for field in kind])
    return pa.string() if pa.types.is_temporal(kind) else kind


def _is_exact(table: pa.Table) -> bool:
    """Whether no number is infinite, not a number, or so large that it may have been a whole one."""
    return all(_is_small(chunk) for column in table.columns for chunk in column.chunks)


def _is_small(values: pa.Array) -> bool:
    if pa.types.is_list(values.type):
        return _is_small(values.flatten())
    if pa.types.is_struct(values.type):
        return all(map(_is_small, values.flatten()))
    if not pa.types.is_floating(values.type):
        return True
    return bool(pc.all(pc.less(pc.abs(values), _EXACT)).as_py() is not False)


def fits(table: pa.Table, schema: pa.Schema) -> bool:
    """Whether the columns of a table have the types of a schema, or ones that are no more than a cast away."""
    return all(_is_near(field.type, schema.field(field.name).type) for field in table.schema)


def _is_near(kind: pa.DataType, wanted: pa.DataType) -> bool:
    return bool(kind == wanted or pa.types.is_null(kind) or (kind == pa.int64() and wanted == pa.float64()))


def cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table that fits a schema, with the schema's columns and types; those that it lacks are null."""
    there = set(table.column_names)
    columns = [
        table[field.name].cast(field.type, safe=False) if field.name in there else pa.nulls(len(table), field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema) if len(schema) else table.select([])


def united_rows(parts: Sequence[Rows], schema: pa.Schema) -> Rows:
    """Parts that fit a schema, as one table of it."""
    return united(parts, [cast(part.table, schema) for part in parts] or [schema.empty_table()])
