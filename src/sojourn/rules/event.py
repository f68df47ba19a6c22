"""An event: something of some kind that happened to a key at a time."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

Number = int | float | Decimal
Source = str | int | None
"""Who sent an event. None is a source like any other: the unnamed one."""


class Event(NamedTuple):
    """One row of an event log. `at` is in integer milliseconds, since the epoch where people are to read it.

    `columns` holds further columns by name: deadlines of an opening event, other amounts to add up.
    """

    key: str
    kind: str
    at: int
    source: Source = None
    value: Number | None = None
    columns: Mapping[str, Any] | None = None


def source_order(source: Source) -> tuple[bool, bool, Source]:
    """A sort key over all sources: the unnamed one, then numbers, then texts."""
    return (source is not None, isinstance(source, str), source)
