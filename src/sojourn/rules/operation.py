"""An operation as it is opened, before anything has happened to it."""

from __future__ import annotations

from typing import NamedTuple

from .event import Event
from .rule import Rule


class Operation(NamedTuple):
    """One key's wait under a rule. `deadline` is the one it was opened with."""

    rule: Rule
    key: str
    opened_at: int
    deadline: int
    operation_id: str

    @property
    def within_ms(self) -> int:
        return self.deadline - self.opened_at


def opened(rule: Rule, opening: Event, ordinal: int = 1) -> Operation:
    """The operation that an event opens; `ordinal` counts the openings of its key at the same instant."""
    name = operation_id(rule.name, opening.key, opening.at, ordinal)
    return Operation(rule, opening.key, opening.at, rule.deadline(opening), name)


def operation_id(rule_name: str, key: str, opened_at: int, ordinal: int = 1) -> str:
    """The same log gives the same ids: rule, key and time of opening, then `#2` for the second of the same instant."""
    return f"{rule_name}/{key}/{opened_at}" + (f"#{ordinal}" if ordinal > 1 else "")
