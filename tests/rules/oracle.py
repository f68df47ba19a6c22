"""A second opinion on the law, as naive as possible: walk through time instant by instant and look at each.

It shares no code with the law: only the values (rules, conditions, events) that both talk about.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from sojourn.rules import AllOf, AnyOf, Condition, Event, Never, NOf, Reached, Rule, Seen, Total
from sojourn.rules.event import Number

END = 30
"""No event and no deadline of the tests lies beyond."""


class Opinion(NamedTuple):
    outcome: str
    at: int
    deadline: int
    met_at: int | None
    decided_by: str


def holds(condition: Condition, events: list[Event], opened_at: int, now: int) -> bool:
    """Does the condition hold at `now`, given the signals stamped up to then?"""
    if now < opened_at:
        return False
    if isinstance(condition, Never):
        return False
    if isinstance(condition, AllOf):
        return all(holds(part, events, opened_at, now) for part in condition.parts)
    if isinstance(condition, AnyOf):
        return any(holds(part, events, opened_at, now) for part in condition.parts)
    if isinstance(condition, NOf):
        return [holds(part, events, opened_at, now) for part in condition.parts].count(True) >= condition.n
    known = [event for event in events if event.kind == condition.kind and event.at <= now]
    if isinstance(condition, Reached):
        return len({event.source for event in known if is_level(event.value, condition.at_least)}) >= condition.by
    since = [event for event in known if not event.at < opened_at]
    if isinstance(condition, Seen):
        return len({event.source for event in since} if condition.distinct else since) >= condition.times
    assert isinstance(condition, Total)
    amounts = [event.value if condition.of == "value" else (event.columns or {})[condition.of] for event in since]
    total = sum((Fraction(amount) for amount in amounts), Fraction(0))
    is_binary = any(isinstance(amount, float) and amount % 1 for amount in amounts)
    return total >= as_written(condition.at_least) or (is_binary and float(total) >= condition.at_least)


def is_level(value: Any, at_least: Number) -> bool:
    assert isinstance(value, int | float | Decimal)
    return bool(value >= at_least if isinstance(value, float) else Fraction(value) >= as_written(at_least))


def as_written(number: Number) -> Fraction:
    return Fraction(str(number))


def first_time(condition: Condition, events: list[Event], opened_at: int) -> int | None:
    return next((now for now in range(opened_at, END) if holds(condition, events, opened_at, now)), None)


def who_made_it_hold(condition: Condition, events: list[Event], opened_at: int, now: int) -> str:
    """The first leaf in rule order that turned true at `now`, in a part that turned true, in a part that ..."""
    if not isinstance(condition, AllOf | AnyOf | NOf):
        assert not isinstance(condition, Never)
        return condition.kind
    for part in condition.parts:
        if holds(part, events, opened_at, now) and not holds(part, events, opened_at, now - 1):
            return who_made_it_hold(part, events, opened_at, now)
    raise AssertionError("a group turned true and none of its parts did")


def opinion(rule: Rule, opened_at: int, deadline: int, events: list[Event]) -> Opinion:
    """Live through the operation, one instant after the other."""
    within = deadline - opened_at
    met_at = first_time(rule.until, events, opened_at)
    for now in range(opened_at, END):
        kinds_now = [event.kind for event in events if event.at == now]
        if rule.keeps_alive in kinds_now:
            deadline = now + within
        if holds(rule.until, events, opened_at, now):
            by = who_made_it_hold(rule.until, events, opened_at, now)
            return Opinion("completed", now, deadline, met_at, by)
        if rule.cancels is not None and rule.cancels in kinds_now:
            return Opinion("cancelled", now, deadline, met_at, rule.cancels)
        if now == deadline:
            return Opinion("expired", now, deadline, met_at, "deadline")
    raise AssertionError("the tests end before the operation does")
