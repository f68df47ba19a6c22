"""How long an operation may take: a duration, or what its opening event says."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from ..errors import RuleError
from .condition import check_kind
from .duration import LIMIT_MS, Duration, duration_ms, duration_text
from .event import Event

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Column:
    """The duration in that column of the opening event: milliseconds, a text or a `timedelta`."""

    name: str

    def __post_init__(self) -> None:
        check_kind(self.name, "column")

    def __str__(self) -> str:
        return f"within its {self.name}"


@dataclass(frozen=True, slots=True)
class UntilColumn:
    """The time in that column of the opening event: epoch milliseconds or an aware `datetime`, rounded up.

    A time before the opening makes the opening itself the deadline.
    """

    name: str

    def __post_init__(self) -> None:
        check_kind(self.name, "until_column")

    def __str__(self) -> str:
        return f"by its {self.name}"


Within = int | Column | UntilColumn


def column(name: str) -> Column:
    """`within=column("allowed")`: the opening event's column says how long."""
    return Column(name)


def until_column(name: str) -> UntilColumn:
    """`within=until_column("due_at")`: the opening event's column says until when."""
    return UntilColumn(name)


def as_within(value: Duration | Column | UntilColumn | Mapping[str, str]) -> Within:
    """`value` as a rule keeps it; `{"column": name}` and `{"until_column": name}` are the forms of a rule file."""
    if isinstance(value, Column | UntilColumn):
        return value
    if not isinstance(value, Mapping):
        return duration_ms(value)
    match dict(value):
        case {"column": name, **rest} if not rest:
            return Column(name)
        case {"until_column": name, **rest} if not rest:
            return UntilColumn(name)
    raise RuleError(
        f'{dict(value)!r} is not known; allowed are a duration, {{column = "..."}} and {{until_column = "..."}}'
    )


def within_text(within: Within) -> str:
    return f"within {duration_text(within)}" if isinstance(within, int) else str(within)


def deadline(within: Within, opening: Event) -> int:
    """The deadline of the operation that `opening` opens, never before it; `RuleError` if its column is invalid."""
    if isinstance(within, int):
        return opening.at + within
    value = (opening.columns or {}).get(within.name)
    if value is None:
        raise RuleError(f"no {within.name} on {opening.kind!r}; the deadline is read from that column")
    try:
        if isinstance(within, Column):
            return opening.at + duration_ms(value)
        return max(opening.at, _time_ms(value))
    except RuleError as error:
        raise RuleError(f"{within.name} of {opening.kind!r}: {error}") from None


def _time_ms(value: Any) -> int:
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise RuleError(f"time {value!r} has no time zone; add one, as in value.astimezone()")
        return -(-(value - EPOCH) // timedelta(milliseconds=1))
    try:
        if isinstance(value, bool):
            raise TypeError
        ms = operator.index(value)
    except TypeError:
        raise RuleError(f"time {value!r} is neither epoch milliseconds nor an aware datetime") from None
    if abs(ms) > LIMIT_MS:
        raise RuleError(f"time {value!r} is too far; the farthest is {LIMIT_MS} ms either way")
    return ms
