"""The names and types of every table of the pipelines: one place.

Inside the engines a time is an int64 of epoch milliseconds. In the tables that people see it is a timestamp in UTC:
`timestamp[ms, tz=UTC]` in Arrow, `TIMESTAMP` in Spark. `waited_ms` is an int64 in both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import pyarrow as pa

from ..rules import OUTCOME_COLUMNS
from ..rules.rule import EVENT_COLUMNS

KEY, KIND, AT, SOURCE, VALUE = EVENT_COLUMNS
"""What an event log has; its own columns are mapped to these."""

OPERATION_ID, RULE, _, OPENED_AT, DEADLINE, OUTCOME, _, WAITED_MS, MET_AT, DECIDED_BY, MISSING = OUTCOME_COLUMNS
"""What an outcome table has, beside KEY and AT."""

KEYS, WITHIN = "keys", "within"
"""What a table of operations has, beside OPERATION_ID, OPENED_AT and, under several rules, RULE."""

REASON, ROW = "reason", "row"
"""What a quarantine table has, beside RULE: why a row was set aside, and the row itself as JSON."""

CORRUPT = "_corrupt_record"
"""What a line that cannot be read is called in ROW, as Spark calls it."""

CORRUPT_LINE, CORRUPT_REASON = "_sojourn_corrupt_line", "_sojourn_corrupt_reason"
"""The columns of such a line where it travels beside rows (`files.lines`): no log has columns of these names."""

WITHIN_MS = "within_ms"
OPENED, COMPLETED, EXPIRED, CANCELLED, PENDING, MET_LATE, NEVER_MET, UNKNOWN = COUNTS = (
    "opened",
    "completed",
    "expired",
    "cancelled",
    "pending",
    "met_late",
    "never_met",
    "unknown",
)
"""What a what-if table has, beside RULE, WITHIN and WITHIN_MS: counts of operations, under each deadline."""

SHARES = ("share", "share_low", "share_high")
"""And the share of operations that complete, estimated where some are not seen to the end, with its confidence band."""

GROUP = "group"
"""Beside the columns of an outcome table, where operations are grouped: what the opening event says in that column."""

CANCELLED_AT = "cancelled_at"
"""Beside the columns of an outcome table, inside the engines: the first cancellation, whatever the deadline."""

AS_OF = "as_of"
"""And the end of the log, in every row; null if the log is complete."""

ENDED = (COMPLETED, EXPIRED, CANCELLED)
ENDINGS = (*ENDED, PENDING)
"""The values of the column OUTCOME."""

OUTCOME_TIMES = (OPENED_AT, DEADLINE, AT, MET_AT)
"""The columns of an outcome table that are times."""

Unit = Literal["auto", "s", "ms", "us", "ns", "yyyymmdd"]
"""What a bare number means where a time is expected: seconds, milli-, micro- or nanoseconds since 1970, or a date.

"auto" looks at each number, and takes the largest of the units in which its year has at most four digits: seconds
up to 253,402,300,799, the end of 9999, then milliseconds, and so on. So a time before 1978 in milliseconds is mistaken
for a later one: name the unit where there are such times. Numbers that may be dates (20240131, 20240131235959) are
refused.
"""

TIME = pa.timestamp("ms", tz="UTC")

SPARK_TIME = pa.timestamp("us", tz="UTC")
"""A time as Spark has it."""

OUTCOMES = pa.schema(
    [
        pa.field(
            name,
            TIME if name in OUTCOME_TIMES else pa.int64() if name == WAITED_MS else pa.string(),
            nullable=name in (AT, MET_AT, DECIDED_BY, MISSING),
        )
        for name in OUTCOME_COLUMNS
    ]
)
"""An outcome table, as `local.outcomes` gives it."""

DECIDED = OUTCOMES.append(pa.field(CANCELLED_AT, TIME)).append(pa.field(AS_OF, TIME))
"""The same, with what only the engines know."""

REPEATED = (RULE, OUTCOME, DECIDED_BY, MISSING)
"""The columns of an outcome table that say the same again and again."""


def coded(schema: pa.Schema) -> pa.Schema:
    """The same columns, those that repeat themselves as dictionaries: so outcomes are counted and written."""
    texts = pa.dictionary(pa.int32(), pa.string())
    return pa.schema([field.with_type(texts) if field.name in REPEATED else field for field in schema])


def with_times(schema: pa.Schema, time: pa.DataType) -> pa.Schema:
    """The same columns, with times of this type."""
    return pa.schema([field.with_type(time) if field.type == TIME else field for field in schema])


GIVEN = pa.schema(
    [
        (OPERATION_ID, pa.string()),
        (RULE, pa.int32()),
        (KEYS, pa.list_(pa.string())),
        (OPENED_AT, pa.int64()),
        (DEADLINE, pa.int64()),
    ]
)
"""Operations that can be used, inside the engines: RULE is the index of the rule."""

QUARANTINE = pa.schema(
    [
        pa.field(RULE, pa.string()),
        pa.field(REASON, pa.string(), nullable=False),
        pa.field(ROW, pa.string(), nullable=False),
    ]
)
"""A row for each row that was set aside; under several rules, for each rule that cannot use it.

RULE is null where no rule can: nothing can be read without a key, a kind and a time.
"""

WHAT_IF = pa.schema(
    [
        pa.field(RULE, pa.string(), nullable=False),
        pa.field(WITHIN, pa.string(), nullable=False),
        *(pa.field(name, pa.int64(), nullable=False) for name in (WITHIN_MS, *COUNTS)),
        *(pa.field(name, pa.float64()) for name in SHARES),
    ]
)
"""A row for each rule and deadline: `opened` = `completed` + `expired` + `cancelled` + `pending` + `unknown`, and
`expired` = `met_late` + `never_met`. The shares are null where nobody can know."""


def record_batch(schema: pa.Schema, columns: Iterable[Any]) -> pa.RecordBatch:
    """Columns of Arrow or NumPy, cast to the types of a schema."""
    arrays = (column if isinstance(column, pa.Array) else pa.array(column) for column in columns)
    pairs = zip(arrays, schema.types, strict=True)
    return pa.RecordBatch.from_arrays([a if a.type == kind else a.cast(kind) for a, kind in pairs], schema=schema)
