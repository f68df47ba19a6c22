"""Conditions: what an operation waits for. Frozen values that say nothing about how they are evaluated.

All are monotone: once a condition holds, no further signal makes it fail. That is why an outcome depends on the set of
events only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from math import inf
from typing import Literal

from ..errors import RuleError
from .event import Number
from .exact import PLACES, fits, number_text, settled


@dataclass(frozen=True, slots=True)
class Seen:
    """That many events of the kind since the opening; with `distinct="source"`, from that many sources."""

    kind: str
    times: int = 1
    distinct: Literal["source"] | None = None

    def __post_init__(self) -> None:
        check_kind(self.kind, "seen")
        _check_count("times", self.times, f"seen({self.kind!r})")
        if self.distinct not in (None, "source"):
            raise RuleError(
                f'seen({self.kind!r}): distinct={self.distinct!r} is not known; allowed is "source", or none',
                "distinct",
            )

    def __str__(self) -> str:
        count = "" if self.times == 1 else f"{self.times} "
        return f"{count}{self.kind}{' from distinct sources' if self.distinct else ''}"


@dataclass(frozen=True, slots=True)
class Total:
    """The values of the kind since the opening add up to `at_least`: exactly, in whatever order they came.

    `of` names what is added: "value", or one of the event's further columns. Values are finite numbers >= 0: ints,
    floats or decimals. To decimals 417.05 means just that, whether `at_least` is a float or a `Decimal`.
    """

    kind: str
    at_least: Number
    of: str = "value"

    def __post_init__(self) -> None:
        check_kind(self.kind, "total")
        check_kind(self.of, f"total({self.kind!r}): of", "of")
        _check_number(self.at_least, f"total({self.kind!r})")
        if self.at_least <= 0:
            raise RuleError(f"total({self.kind!r}): at_least={self.at_least!r} must be more than 0", "at_least")
        object.__setattr__(self, "at_least", settled(self.at_least))

    def __str__(self) -> str:
        return f"{number_text(self.at_least)} {self.of} in {self.kind}"


@dataclass(frozen=True, slots=True)
class Reached:
    """`by` sources have ever reported a value >= `at_least`. A level: what was reached before the opening counts."""

    kind: str
    at_least: Number
    by: int = 1

    def __post_init__(self) -> None:
        check_kind(self.kind, "reached")
        _check_number(self.at_least, f"reached({self.kind!r})")
        _check_count("by", self.by, f"reached({self.kind!r})")
        object.__setattr__(self, "at_least", settled(self.at_least))

    def __str__(self) -> str:
        sources = "" if self.by == 1 else f" from {self.by} sources"
        return f"{self.kind} >= {number_text(self.at_least)}{sources}"


@dataclass(frozen=True, slots=True)
class Never:
    """Only the deadline, or a cancellation, ends the operation."""

    def __str__(self) -> str:
        return "never"


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds."""

    parts: tuple[Condition, ...]

    def __post_init__(self) -> None:
        _check_parts("all_of", self.parts)

    @property
    def needed(self) -> int:
        return len(self.parts)

    def __str__(self) -> str:
        return " and ".join(map(bracketed, self.parts))


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part holds."""

    parts: tuple[Condition, ...]

    def __post_init__(self) -> None:
        _check_parts("any_of", self.parts)

    @property
    def needed(self) -> int:
        return 1

    def __str__(self) -> str:
        return " or ".join(map(bracketed, self.parts))


@dataclass(frozen=True, slots=True)
class NOf:
    """At least `n` of the parts hold."""

    n: int
    parts: tuple[Condition, ...]

    def __post_init__(self) -> None:
        _check_parts("n_of", self.parts)
        _check_count("n", self.n, "n_of", most=len(self.parts))

    @property
    def needed(self) -> int:
        return self.n

    def __str__(self) -> str:
        return f"{self.n} of ({', '.join(map(str, self.parts))})"


Leaf = Seen | Total | Reached
Group = AllOf | AnyOf | NOf
Condition = Leaf | Group | Never


def seen(kind: str, times: int = 1, distinct: Literal["source"] | None = None) -> Seen:
    """`times` events of the kind since the opening, from distinct sources if asked."""
    return Seen(kind, times, distinct)


def total(kind: str, of: str = "value", *, at_least: Number) -> Total:
    """The values of the kind since the opening add up to `at_least`."""
    return Total(kind, at_least, of)


def reached(kind: str, at_least: Number, by: int = 1) -> Reached:
    """`by` sources have ever reported a value >= `at_least`."""
    return Reached(kind, at_least, by)


def all_of(*parts: str | Condition) -> AllOf:
    """Every part holds; a plain text means `seen` of that kind."""
    return AllOf(tuple(map(as_condition, parts)))


def any_of(*parts: str | Condition) -> AnyOf:
    """At least one part holds; a plain text means `seen` of that kind."""
    return AnyOf(tuple(map(as_condition, parts)))


def n_of(n: int, *parts: str | Condition) -> NOf:
    """At least `n` parts hold; a plain text means `seen` of that kind."""
    return NOf(n, tuple(map(as_condition, parts)))


def never() -> Never:
    """No signal ends the operation."""
    return Never()


def as_condition(value: str | Condition) -> Condition:
    """`value` itself, or `seen(value)` if it is the name of a kind."""
    if isinstance(value, str):
        return Seen(value)
    if not isinstance(value, Condition):
        raise RuleError(
            f"{value!r} is not a condition; allowed are the name of a kind, seen, total, reached, "
            "all_of, any_of, n_of and never"
        )
    return value


def leaves(condition: Condition) -> tuple[Leaf, ...]:
    """The different leaves of a condition, in the order in which it names them."""
    return tuple(dict.fromkeys(_walk(condition)))


def bracketed(part: Condition) -> str:
    return f"({part})" if isinstance(part, AllOf | AnyOf) else str(part)


def check_kind(value: str, what: str, field: str | None = None) -> None:
    if not isinstance(value, str) or not value:
        raise RuleError(f"{what}={value!r} must be a text that is not empty", field or what)


def _walk(condition: Condition) -> Iterator[Leaf]:
    if isinstance(condition, Leaf):
        yield condition
    elif isinstance(condition, Group):
        for part in condition.parts:
            yield from _walk(part)


MOST_TIMES = 2**31 - 1
"""No log has as many events for one wait; more would not fit the columns that the kernel counts in."""


def _check_count(name: str, value: int, what: str, most: int | None = None) -> None:
    limit = MOST_TIMES if most is None else most
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= limit:
        allowed = f"of at least 1 and at most {limit:,}" if most is None else f"from 1 to {most}, the number of parts"
        raise RuleError(f"{what}: {name}={value!r} must be a whole number {allowed}", name)


def _check_number(value: Number, what: str) -> None:
    if isinstance(value, Decimal):
        is_number = fits(value)
    else:
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < inf
    if not is_number:
        raise RuleError(f"{what}: at_least={value!r} must be a finite number of at most {PLACES} decimals", "at_least")


def _check_parts(what: str, parts: tuple[Condition, ...]) -> None:
    if not isinstance(parts, tuple) or not parts:
        raise RuleError(f"{what}() needs at least one part, as in {what}({'1, ' * (what == 'n_of')}'paid')", what)
    for part in parts:
        if not isinstance(part, Condition):
            raise RuleError(f"{what}: {part!r} is not a condition; name a kind, or use seen, total, reached ...", what)
