"""Why a row is set aside: the same checks, in the same order and words, whatever the columns are made of.

A flag is a column of booleans, NumPy's or Spark's: both know & and |. The reasons are those of `rules.event_error`, but
for the value itself, which stands in the row: so there are few different ones, and they can be counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from ...rules import Column, Rule, Seen, Total, UntilColumn
from ..kernel.columns import number_of

Flag = Any
Check = tuple[Flag, str]
"""Where this is true, and no check before, that is the reason."""


class Word(NamedTuple):
    """What is known of a column of keys, kinds, sources or times."""

    is_missing: Flag
    is_bad: Flag


class Amount(NamedTuple):
    """What is known of a column of numbers; `is_unfit` where there is one, but below 0 or infinite.

    `is_long` where a text has too many digits; None if there are no texts.
    """

    is_missing: Flag
    is_bad: Flag
    is_unfit: Flag
    is_long: Flag | None = None


class Limit(NamedTuple):
    """What is known of a column that deadlines stand in."""

    is_missing: Flag
    is_bad: Flag
    is_negative: Flag
    is_far: Flag


class Facts(Protocol):
    """What is known of the rows of a log, column by column."""

    @property
    def words(self) -> dict[str, Word]:
        """By our names: key, kind, time and, if a rule reads it, source."""

    def is_kind(self, kind: str) -> Flag: ...

    def amount(self, number: str) -> Amount: ...

    def limit(self, within: Column | UntilColumn) -> Limit: ...


class OperationFacts(NamedTuple):
    """What is known of the rows of a table of operations."""

    operation_id: Word
    keys: Word
    opened_at: Word
    is_unknown_rule: Flag
    within: Limit | None
    """None if the rule itself says how long."""


_BAD = {
    "key": "key is neither a text nor a whole number",
    "kind": "kind is neither a text nor a whole number",
    "time": "time cannot be read; allowed are timestamps, ISO 8601 texts, epoch numbers, "
    "and with the unit yyyymmdd dates such as 20240131",
    "source": "source is neither a text nor a whole number",
}


def row_checks(facts: Facts) -> list[Check]:
    """What makes a row useless to any rule."""
    words = facts.words
    missing = [(word.is_missing, f"no {name}") for name, word in words.items() if name != "source"]
    return missing + [(word.is_bad, _BAD[name]) for name, word in words.items()]


def rule_checks(rule: Rule, facts: Facts, *, opens: bool = True) -> list[Check]:
    """What makes a row useless to a rule, if it is of use at all; `opens` if events open operations."""
    checks = _limit_checks(rule, facts) if opens else []
    for leaf in rule.leaves:
        if not isinstance(leaf, Seen):
            is_kind, of = facts.is_kind(leaf.kind), number_of(leaf)
            amount = facts.amount(of)
            checks.append((is_kind & amount.is_missing, f"no {of} on {leaf.kind!r}"))
            checks.append((is_kind & amount.is_bad, f"{of} of {leaf.kind!r} is not a number"))
            if amount.is_long is not None:
                reason = f"{of} of {leaf.kind!r} is too long; a number in a text has at most 38 digits before the point"
                checks.append((is_kind & amount.is_long, reason))
            if isinstance(leaf, Total):
                reason = f"{of} of {leaf.kind!r} cannot be added up; allowed are finite numbers >= 0"
                checks.append((is_kind & amount.is_unfit, reason))
    return checks


def _limit_checks(rule: Rule, facts: Facts) -> list[Check]:
    if isinstance(rule.within, int):
        return []
    opens, limit, what = facts.is_kind(rule.opens), facts.limit(rule.within), f"{rule.within.name} of {rule.opens!r}"
    kind = "duration" if isinstance(rule.within, Column) else "time"
    missing = f"no {rule.within.name} on {rule.opens!r}; the deadline stands in that column"
    return [
        (opens & limit.is_missing, missing),
        (opens & limit.is_bad, f"{what} is no {kind}"),
        (opens & limit.is_negative, f"{what} is a negative duration"),
        (opens & limit.is_far, f"{what} is too far"),
    ]


def operation_checks(facts: OperationFacts) -> list[Check]:
    """What makes a row of a table of operations useless; that its name was given before is for the engines to find."""
    checks = [
        (facts.operation_id.is_missing, "no operation_id"),
        (facts.keys.is_missing, "no keys"),
        (facts.opened_at.is_missing, "no opened_at"),
        (facts.operation_id.is_bad, "operation_id is neither a text nor a whole number"),
        (facts.keys.is_bad, "one of the keys is neither a text nor a whole number"),
        (facts.opened_at.is_bad, _BAD["time"].replace("time", "opened_at", 1)),
        (facts.is_unknown_rule, "rule is not one of the rules"),
    ]
    if facts.within is not None:
        checks += [
            (facts.within.is_missing, "no within"),
            (facts.within.is_bad, "within is no duration"),
            (facts.within.is_negative, "within is a negative duration"),
            (facts.within.is_far, "within is too far"),
        ]
    return checks


GIVEN_TWICE = "operation_id is given more than once; the one that is opened and due first counts"
