"""What a set of rules reads from an event log, and from which columns."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from ..errors import ConfigError
from ..rules import AsOf, Column, Reached, Rule, Seen, UntilColumn, checked_as_of, duration_text, end_of_log
from .kernel.columns import number_of
from .schema import (
    AT,
    CORRUPT_LINE,
    CORRUPT_REASON,
    KEY,
    KEYS,
    KIND,
    OPENED_AT,
    OPERATION_ID,
    RULE,
    SOURCE,
    VALUE,
    WITHIN,
    Unit,
)

FARTHEST_MS = 2**62 // 1000
"""No time or duration is longer, either way, so that a deadline fits a timestamp in microseconds (146,000 years)."""


@dataclass(frozen=True)
class Plan:
    """The rules, the columns they need by the names of the log, how to take bare numbers as times, where the log ends.

    `columns`  by our names: key, kind and at, and of source and value those that a rule reads.
    `kinds`    the kinds that a rule names: events of other kinds are ignored.
    `numbers`  the columns of numbers that a rule reads, by the name that it gives them: "value", or their own.
    `withins`  the columns that hold deadlines.
    `as_of`    "log", "complete" or a time in epoch milliseconds: later events are not looked at.
    `by`       a column of the events that open, by which operations are grouped.
    """

    rules: tuple[Rule, ...]
    columns: Mapping[str, str]
    unit: Unit
    kinds: tuple[str, ...]
    numbers: tuple[str, ...]
    withins: tuple[Column | UntilColumn, ...]
    as_of: AsOf = "log"
    by: str | None = None

    @staticmethod
    def of(rules: Rule | Sequence[Rule], unit: Unit = "auto", **columns: str | None) -> Plan:
        """The plan for these rules. A column has the name that is given here or in the rules, or else our own."""
        chosen = rules_of(rules)
        _check(chosen, unit)
        leaves = [leaf for rule in chosen for leaf in rule.leaves]
        numbers = tuple(dict.fromkeys(number_of(leaf) for leaf in leaves if not isinstance(leaf, Seen)))
        has_sources = any(counts_sources(leaf) for leaf in leaves)
        needed = [KEY, KIND, AT, *[SOURCE] * has_sources, *[VALUE] * (VALUE in numbers)]
        kinds = dict.fromkeys(kind for rule in chosen for kind in _kinds(rule))
        withins = dict.fromkeys(rule.within for rule in chosen if not isinstance(rule.within, int))
        names = {ours: columns.get(ours) or _named(chosen, ours) for ours in needed}
        return Plan(chosen, names, unit, tuple(kinds), numbers, tuple(withins))

    def ending(self, as_of: AsOf) -> Plan:
        """The same plan, for a log that ends there."""
        return replace(self, as_of=checked_as_of(as_of))

    def grouped(self, by: str | None) -> Plan:
        """The same plan, with operations grouped by a column of the events that open them."""
        return replace(self, by=by)

    @property
    def last_looked_at(self) -> int | None:
        """The time after which no event is looked at, if one is given."""
        return end_of_log(self.as_of, None)

    def end_of_log(self, latest: int | None) -> int | None:
        """The time up to which the events are known, given that of the latest; None if they are complete."""
        return end_of_log(self.as_of, latest)

    def column_of(self, number: str) -> str:
        """The log's name of a column of numbers."""
        return self.columns[VALUE] if number == VALUE else number

    def needed(self, *, opens: bool = True) -> list[str]:
        """The columns of a log that are read, by its own names; `opens` says whether its events open operations."""
        named = [*self.columns.values(), *map(self.column_of, self.numbers)]
        if opens:
            named += [*(within.name for within in self.withins), *([] if self.by is None else [self.by])]
        return list(dict.fromkeys(named))

    @property
    def has_sources(self) -> bool:
        """Whether events have a column of sources that is not their key."""
        return self.columns.get(SOURCE, self.columns[KEY]) != self.columns[KEY]

    @property
    def dictionary_columns(self) -> set[str]:
        """The columns of texts with few different values, by the log's own names: they are read as dictionaries."""
        few = {self.columns[name] for name in (KIND, SOURCE) if name in self.columns} | (
            {self.by} if self.by else set()
        )
        return few - {self.columns[KEY]}

    def check_columns(self, there: Iterable[str], *, opens: bool = True, where: str = "the log") -> None:
        """Refuse a log that lacks a column; `opens` says whether its events open operations."""
        named = self.columns.items()
        wanted = {theirs: f"{ours} (name another with {ours}=, --{ours} or [columns])" for ours, theirs in named}
        wanted |= {self.column_of(number): f"total(of={number!r})" for number in self.numbers if number != VALUE}
        if opens:
            wanted |= {within.name: "within" for within in self.withins}
            wanted |= {} if self.by is None else {self.by: "--by"}
        check_columns(wanted, there, where)

    def check_operations(self, there: Iterable[str]) -> None:
        """Refuse a table of operations that lacks a column."""
        names = list(there)
        wanted = [OPERATION_ID, OPENED_AT, *[RULE] * (len(self.rules) > 1), *[WITHIN] * bool(self.withins)]
        keys = [] if KEYS in names else [KEY]
        check_columns(dict.fromkeys([*wanted, *keys], "operations"), names, "the table of operations")


def rules_of(rules: Rule | Iterable[Rule]) -> tuple[Rule, ...]:
    """One rule or several, as several; `ConfigError` if something else is among them."""
    chosen = tuple(rules) if isinstance(rules, Iterable) and not isinstance(rules, str) else (rules,)
    for rule in chosen:
        if not isinstance(rule, Rule):
            raise ConfigError(f"{rule!r} is not a rule; make one with Rule(...), or Rule.from_toml(...) of a rule file")
    return chosen


def check_columns(wanted: Mapping[str, str], there: Iterable[str], where: str) -> None:
    """Refuse a table without the columns that are wanted: their names, and what each is for."""
    names = [name for name in there if name not in (CORRUPT_LINE, CORRUPT_REASON)]
    for name, purpose in wanted.items():
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ConfigError(f"{where} has no column {name!r} for {purpose}. It has: {', '.join(names)}{hint}")


def _check(rules: tuple[Rule, ...], unit: str) -> None:
    if not rules:
        raise ConfigError("no rule is given; give at least one")
    if unit not in get_args(Unit):
        raise ConfigError(f"unit={unit!r} is not known; allowed are {', '.join(get_args(Unit))}")
    names = [rule.name for rule in rules]
    for rule in rules:
        if names.count(rule.name) > 1:
            raise ConfigError(f"{names.count(rule.name)} rules are called {rule.name!r}; each needs a name of its own")
        if isinstance(rule.within, int) and rule.within > FARTHEST_MS:
            raise ConfigError(
                f"rule {rule.name!r}: within {duration_text(rule.within)} gives deadlines that no timestamp can hold; "
                f"the longest is {duration_text(FARTHEST_MS)}"
            )


def _kinds(rule: Rule) -> list[str]:
    return [rule.opens, *rule.places_by_kind, *filter(None, [rule.cancels, rule.keeps_alive])]


def counts_sources(leaf: object) -> bool:
    """Whether a leaf tells sources apart: where one source is enough, it does not."""
    return (isinstance(leaf, Seen) and leaf.distinct is not None and leaf.times > 1) or (
        isinstance(leaf, Reached) and leaf.by > 1
    )


def _named(rules: tuple[Rule, ...], ours: str) -> str:
    """What the rules call a column: they must agree."""
    names = {dict(rule.columns)[ours]: rule.name for rule in rules if ours in dict(rule.columns)}
    if len(names) > 1:
        said = ", ".join(f"{name!r} by rule {rule!r}" for name, rule in names.items())
        raise ConfigError(f"the column {ours} is called {said}; name one with {ours}=...")
    return next(iter(names), ours)
