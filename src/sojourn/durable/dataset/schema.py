"""The columns of the tables that a log becomes: those of the pipelines first, then what only a log knows."""

from __future__ import annotations

import pyarrow as pa

from ...pipeline.schema import OUTCOMES, TIME

STAMP, SEGMENT, OFFSET, PLACE = "stamp", "segment", "offset", "place"
"""When a record was written, and where: segment, offset in it, and the row's place in the record."""

ID, PAYLOAD, WAIT, PLAN, WITHIN_MS = "id", "payload", "wait", "plan", "within_ms"
SOURCE_TYPE, VALUE_TYPE = "source_type", "value_type"
NUMBER, SEEN, TOLD_AT = "number", "seen", "told_at"
RECORD, BODY = "record", "body"

_ABOUT = {"sojourn.dataset": "1"}
_WHERE = [pa.field(SEGMENT, pa.int64(), nullable=False), pa.field(OFFSET, pa.int64(), nullable=False)]

EVENTS = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("at", TIME, nullable=False),
        pa.field("source", pa.string()),
        pa.field("value", pa.string()),
        pa.field(ID, pa.string()),
        pa.field(PAYLOAD, pa.string()),
        pa.field(WAIT, pa.int64()),
        pa.field("keys", pa.list_(pa.string())),
        pa.field("rule", pa.string()),
        pa.field(PLAN, pa.int64()),
        pa.field(WITHIN_MS, pa.int64()),
        pa.field(SOURCE_TYPE, pa.string()),
        pa.field(VALUE_TYPE, pa.string()),
        pa.field(STAMP, TIME, nullable=False),
        *_WHERE,
        pa.field(PLACE, pa.int64(), nullable=False),
    ],
    _ABOUT,
)
"""A row for each wait that was opened (`wait` is its number) and for each signal (`wait` is null)."""

TOLD = pa.schema(
    [
        *OUTCOMES,
        pa.field(NUMBER, pa.int64(), nullable=False),
        pa.field(WAIT, pa.int64(), nullable=False),
        pa.field(PAYLOAD, pa.string()),
        pa.field(SEEN, pa.string(), nullable=False),
        pa.field(TOLD_AT, TIME, nullable=False),
        *_WHERE,
    ],
    _ABOUT,
)
"""A row for each outcome that was told."""

CHANGES = pa.schema(
    [
        pa.field(STAMP, TIME, nullable=False),
        pa.field(RECORD, pa.string(), nullable=False),
        pa.field(BODY, pa.string(), nullable=False),
        *_WHERE,
    ],
    _ABOUT,
)
"""A row for each other record, as docs/reference/log-format.md has it: rules, starts, what was done by hand."""
