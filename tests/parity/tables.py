"""Logs of `Event` as Arrow tables, and outcome tables as `Outcome`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from sojourn.pipeline.schema import OUTCOME_TIMES
from sojourn.rules import Event, Outcome

LOG = pa.schema(
    [
        ("key", pa.string()),
        ("kind", pa.string()),
        ("at", pa.int64()),
        ("source", pa.string()),
        ("value", pa.float64()),
        ("allowed", pa.int64()),
        ("due", pa.int64()),
        ("amount", pa.float64()),
    ]
)


def as_table(log: Sequence[Event]) -> pa.Table:
    """A log as a table; times in milliseconds, sources as text."""
    rows = [
        {**event._asdict(), "source": None if event.source is None else str(event.source), **(event.columns or {})}
        for event in log
    ]
    return pa.Table.from_pylist([{name: row.get(name) for name in LOG.names} for row in rows], LOG)


def as_outcomes(table: pa.Table) -> list[Outcome]:
    """The rows of an outcome table, in the order of their names; times as epoch milliseconds."""
    for name in OUTCOME_TIMES:
        ms = table[name].cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
        table = table.set_column(table.column_names.index(name), name, ms)
    return sorted(Outcome(**row) for row in table.to_pylist())
