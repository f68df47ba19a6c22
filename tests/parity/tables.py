"""Logs of `Event` as Arrow tables, outcome tables as `Outcome`, and the engines as functions between the two."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from hypothesis import strategies as st

from sojourn.pipeline import local
from sojourn.pipeline.schema import OUTCOME_TIMES, OUTCOMES
from sojourn.rules import AsOf, Event, Outcome, Rule, event_error, outcomes

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


NUMBERS = ("value", "amount")

number_types = st.sampled_from([pa.decimal128(18, 17), pa.decimal128(38, 18), pa.decimal256(76, 38), pa.string()])
"""What numbers of `rules.strategies.DECIMALS` may be written in, without loss."""


def as_table(log: Sequence[Event], number: pa.DataType | None = None) -> pa.Table:
    """A log as a table; times in milliseconds, sources as text, numbers as floats or of the type given."""
    rows = [
        {**event._asdict(), "source": None if event.source is None else str(event.source), **(event.columns or {})}
        for event in log
    ]
    if number is None:
        return pa.Table.from_pylist([{name: row.get(name) for name in LOG.names} for row in rows], LOG)
    if pa.types.is_string(number):
        rows = [{**row, **{name: text(row.get(name)) for name in NUMBERS}} for row in rows]
    schema = pa.schema([field.with_type(number) if field.name in NUMBERS else field for field in LOG])
    return pa.Table.from_pylist([{name: row.get(name) for name in LOG.names} for row in rows], schema)


def text(number: object) -> str | None:
    return None if number is None else str(number)


def as_outcomes(table: pa.Table) -> list[Outcome]:
    """The rows of an outcome table, by name; times as epoch milliseconds."""
    table = table.select(OUTCOMES.names)
    for name in OUTCOME_TIMES:
        ms = table[name].cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
        table = table.set_column(table.column_names.index(name), name, ms)
    return sorted(Outcome(**row) for row in table.to_pylist())


def by_local(
    rules: Sequence[Rule], log: Sequence[Event], number: pa.DataType | None = None, as_of: AsOf = "complete"
) -> list[Outcome]:
    return as_outcomes(local.outcomes(as_table(log, number), rules, unit="ms", as_of=as_of).outcomes)


def by_fold(rules: Sequence[Rule], log: Sequence[Event], as_of: AsOf = "complete") -> list[Outcome]:
    """What the law says; without the column `seen`, which is not in tables."""
    end = latest(rules, log) if as_of == "log" else as_of
    if end is None:
        return []
    found = [outcome for rule in rules for outcome in outcomes(rule, log, lambda event, reason: None, as_of=end)]
    return sorted(outcome._replace(seen="") for outcome in found)


def latest(rules: Sequence[Rule], log: Sequence[Event]) -> int | None:
    """The time of the latest event that some rule can use."""
    return max((e.at for e in log if any(event_error(rule, e) is None for rule in rules)), default=None)


def set_aside_by_fold(rules: Sequence[Rule], log: Sequence[Event]) -> list[tuple[str, str]]:
    """The rule and the reason, for each event that a rule cannot use."""
    aside: list[tuple[str, str]] = []
    for rule in rules:
        outcomes(rule, log, lambda event, reason, name=rule.name: aside.append((name, reason)))  # type: ignore[misc]
    return aside
