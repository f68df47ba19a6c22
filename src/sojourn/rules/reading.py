"""What a rule reads from an event, and why it cannot: the reasons with which pipelines set rows aside."""

from __future__ import annotations

from decimal import Decimal
from math import inf
from typing import TYPE_CHECKING, Any, TypeGuard

from ..errors import RuleError
from .condition import Condition, Reached, Total, leaves
from .duration import LIMIT_MS
from .event import Event, Number
from .exact import PLACES, fits

if TYPE_CHECKING:
    from .rule import Rule


def measure(leaf: Total | Reached, event: Event) -> Number:
    """The number that a leaf reads from an event of its kind; `RuleError` with the reason if there is none."""
    value: Number = _reading(leaf, event)
    reason = _number_error(leaf, value)
    if reason is not None:
        raise RuleError(reason)
    return value


def value_error(condition: Condition, event: Event) -> str | None:
    """Why the condition cannot use the value of an event; None if it can, or need not."""
    for leaf in leaves(condition):
        if isinstance(leaf, Total | Reached) and leaf.kind == event.kind:
            reason = _number_error(leaf, _reading(leaf, event))
            if reason is not None:
                return reason
    return None


def event_error(rule: Rule, event: Event) -> str | None:
    """Why the rule cannot use an event; None if it can, or need not. It depends on nothing but the two."""
    reason = _row_error(event)
    if reason is None and event.kind == rule.opens:
        try:
            rule.deadline(event)
        except RuleError as error:
            return str(error)
    return reason or value_error(rule.until, event)


def source_error(source: object) -> str | None:
    """Why this can be nobody's name; None if it can."""
    return None if isinstance(source, str | int | None) else f"source {source!r} is neither a text nor a whole number"


def _row_error(event: Event) -> str | None:
    for name, value in (("key", event.key), ("kind", event.kind), ("time", event.at)):
        if value is None:
            return f"no {name}"
    for name, text in (("key", event.key), ("kind", event.kind)):
        if not isinstance(text, str):
            return f"{name} {text!r} is not a text"
    if not isinstance(event.at, int) or isinstance(event.at, bool) or abs(event.at) > LIMIT_MS:
        return f"time {event.at!r} is not a whole number of milliseconds within {LIMIT_MS} of the epoch"
    return source_error(event.source)


def _reading(leaf: Total | Reached, event: Event) -> Any:
    if isinstance(leaf, Reached) or leaf.of == "value":
        return event.value
    return (event.columns or {}).get(leaf.of)


def _number_error(leaf: Total | Reached, value: object) -> str | None:
    of = leaf.of if isinstance(leaf, Total) else "value"
    if value is None:
        return f"no {of} on {leaf.kind!r}"
    if not _is_number(value):
        return f"{of} {value!r} of {leaf.kind!r} is not a number"
    if isinstance(leaf, Total) and not 0 <= value < inf:
        return f"{of} {value!r} of {leaf.kind!r} cannot be added up; allowed are finite numbers >= 0"
    if isinstance(leaf, Total) and isinstance(value, Decimal) and not fits(value):
        return f"{of} {value!r} of {leaf.kind!r} is too long; allowed are decimals of at most {PLACES} places"
    return None


def _is_number(value: object) -> TypeGuard[Number]:
    if isinstance(value, Decimal):
        return not value.is_nan()
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value
