"""CSV and JSON Lines as Arrow tables, with the lines that are neither set aside.

A file in order is read by Arrow in one go. Only where Arrow gives up is it read line by line.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyarrow import csv
from pyarrow import json as arrow_json

from ...errors import SourceError
from ..schema import QUARANTINE

CORRUPT = "_corrupt_record"
"""As Spark calls the column that holds a line which it cannot read."""

FIELDS = "the line has not as many fields as the header"
NOT_JSON = "the line is not a JSON object"

CSV_OPTIONS = ("sep", "delimiter", "quote", "header", "encoding", "multiLine", "nullValue")

Read = tuple[pa.Table, pa.Table]
"""The events, and a quarantine table."""


def read_csv(path: str, options: Mapping[str, str] | None = None) -> Read:
    """Every column as text; an empty field is null, quoted or not: Spark does not tell the two apart."""
    given = dict(options or {})
    for name in given:
        if name not in CSV_OPTIONS:
            raise SourceError(f"option {name!r} is not known without Spark; for csv there are {', '.join(CSV_OPTIONS)}")
    bad: list[str] = []
    names = _column_names(path, given)
    try:
        table = csv.read_csv(
            path,
            read_options=_read_options(given),
            parse_options=_parse_options(given, bad),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
                null_values=[given.get("nullValue", "")],
            ),
        )
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path!r} cannot be read as csv: {error}") from None
    return _numbered(table, given), _quarantined(FIELDS, bad)


def read_json(path: str) -> Read:
    """One object a line. Texts stay texts, also those that look like times; a column of several types is text."""
    try:
        table = arrow_json.read_json(path)
        if any(pa.types.is_timestamp(field.type) for field in table.schema):
            schema = pa.schema([_as_written(field) for field in table.schema])
            table = arrow_json.read_json(path, parse_options=arrow_json.ParseOptions(explicit_schema=schema))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _read_json_lines(path)
    except OSError as error:
        raise SourceError(f"{path!r} cannot be read as json: {error}") from None
    return table, QUARANTINE.empty_table()


def _column_names(path: str, given: Mapping[str, str]) -> list[str]:
    try:
        options = _read_options(given), _parse_options(given, [])
        with csv.open_csv(path, read_options=options[0], parse_options=options[1]) as reader:
            return list(reader.schema.names)
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path!r} cannot be read as csv: {error}") from None


def _read_options(given: Mapping[str, str]) -> csv.ReadOptions:
    is_headed = _is_true(given.get("header", "true"))
    return csv.ReadOptions(encoding=given.get("encoding", "utf8"), autogenerate_column_names=not is_headed)


def _parse_options(given: Mapping[str, str], bad: list[str]) -> csv.ParseOptions:
    def keep(row: csv.InvalidRow) -> str:
        bad.append(row.text)
        return "skip"

    return csv.ParseOptions(
        delimiter=given.get("sep", given.get("delimiter", ",")),
        quote_char=given.get("quote", '"'),
        newlines_in_values=_is_true(given.get("multiLine", "false")),
        invalid_row_handler=keep,
    )


def _is_true(text: str) -> bool:
    return text.strip().lower() == "true"


def _numbered(table: pa.Table, given: Mapping[str, str]) -> pa.Table:
    """Columns without a header are called as in Spark: _c0, _c1, ..."""
    if _is_true(given.get("header", "true")):
        return table
    return table.rename_columns([f"_c{place}" for place in range(table.num_columns)])


def _as_written(field: pa.Field) -> pa.Field:
    return field.with_type(pa.string()) if pa.types.is_timestamp(field.type) else field


def _read_json_lines(path: str) -> Read:
    """What Arrow refuses, line by line."""
    rows, bad = [], []
    for line in _text_lines(path):
        row = _object(line)
        if row is not None:
            rows.append(row)
        elif line.strip():
            bad.append(line.rstrip("\r\n"))
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: _array([row.get(name) for row in rows]) for name in names}
    return pa.table(columns), _quarantined(NOT_JSON, bad)


def _text_lines(path: str) -> list[str]:
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig", errors="replace") as file:
        return list(file)


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _array(values: list[Any]) -> pa.Array:
    """Values of one type, or all of them as text: those that are none, as they stand in the file."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        texts = [value if isinstance(value, str | None) else json.dumps(value) for value in values]
        return pa.array(texts, pa.string())


def _quarantined(reason: str, lines: list[str]) -> pa.Table:
    rows = pa.array([json.dumps({CORRUPT: line}, ensure_ascii=False) for line in lines], pa.string())
    columns = [pa.nulls(len(lines), pa.string()), pa.repeat(reason, len(lines)), rows]
    return pa.table(columns, schema=QUARANTINE)
