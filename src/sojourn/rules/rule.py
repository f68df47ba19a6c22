"""A rule: which event opens an operation, what it waits for, how long, and what else may end it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from typing import Literal

from ..errors import RuleError
from .condition import Condition, Leaf, Never, as_condition, check_kind, leaves
from .duration import Duration, duration_text
from .event import Event
from .within import Column, UntilColumn, Within, as_within, deadline, within_text

Per = Literal["first", "each"]
Columns = Mapping[str, str] | Iterable[tuple[str, str]]

EVENT_COLUMNS = ("key", "kind", "at", "source", "value")


@dataclass(frozen=True, slots=True, init=False)
class Rule:
    """What an operation means. Immutable, hashable, comparable; `str(rule)` is a sentence.

    `opens`        the kind of event that opens an operation.
    `until`        the condition, or the name of a kind for `seen(kind)`; none at all means `never()`.
    `within`       a duration (text, `timedelta`, milliseconds), `column(name)` or `until_column(name)`.
    `per`          "first": one operation per key, for its earliest opening event; "each": one for every opening event.
    `cancels`      the kind of event that cancels.
    `keeps_alive`  the kind of event that moves the deadline to its own time + within. There is no `until` then.
    `columns`      what a log calls the columns key, kind, at, source and value: kept here, used by the pipelines.

    A kind may play several parts. An opening event whose kind is also a signal counts as a signal for its operation,
    since it is stamped like its opening.
    """

    name: str
    opens: str
    until: Condition
    within: Within
    per: Per
    cancels: str | None
    keeps_alive: str | None
    columns: tuple[tuple[str, str], ...]
    leaves: tuple[Leaf, ...] = field(compare=False, repr=False)
    """The different leaves of `until`, in rule order."""
    places: Mapping[Leaf, int] = field(compare=False, repr=False)
    """The place of each leaf in `leaves`."""
    places_by_kind: Mapping[str, tuple[int, ...]] = field(compare=False, repr=False)
    """The places of the leaves that each kind feeds."""

    def __init__(
        self,
        name: str,
        opens: str,
        until: str | Condition | None = None,
        within: Duration | Column | UntilColumn | Mapping[str, str] | None = None,
        per: Per = "first",
        cancels: str | None = None,
        keeps_alive: str | None = None,
        columns: Columns = (),
    ) -> None:
        with _at_fault(None, f"rule {name!r}: "):
            with _at_fault("until", "until: "):
                condition = Never() if until is None else as_condition(until)
            with _at_fault("within", "within: "):
                if within is None:
                    raise RuleError('is missing; give a duration such as "60 days"')
                limit = as_within(within)
            own_leaves = leaves(condition)
            values = (
                _checked_name(name),
                _checked_kind("opens", opens),
                condition,
                limit,
                _checked_per(per),
                None if cancels is None else _checked_kind("cancels", cancels),
                None if keeps_alive is None else _checked_kind("keeps_alive", keeps_alive),
                checked_columns(columns),
                own_leaves,
                {leaf: place for place, leaf in enumerate(own_leaves)},
                _places_by_kind(own_leaves),
            )
            for name_of_field, value in zip(self.__slots__, values, strict=True):
                object.__setattr__(self, name_of_field, value)
            self._check()

    def deadline(self, opening: Event) -> int:
        """The deadline of the operation that `opening` opens; `RuleError` if it cannot be read."""
        return deadline(self.within, opening)

    def _check(self) -> None:
        """Refuse settings that contradict each other."""
        if self.cancels == self.opens:
            raise RuleError(
                f"cancels={self.cancels!r} is also what opens: each operation would cancel itself", "cancels"
            )
        if self.keeps_alive is None:
            return
        if self.until != Never():
            raise RuleError(f"keeps_alive={self.keeps_alive!r} leaves no room for until: leave one out", "keeps_alive")
        if isinstance(self.within, UntilColumn):
            raise RuleError(f"keeps_alive={self.keeps_alive!r} needs a duration as within, not a fixed time", "within")

    def __str__(self) -> str:
        parts = [f"{self.name}: from {'the first' if self.per == 'first' else 'each'} {self.opens}"]
        if self.keeps_alive:
            parts.append(f"as long as {self.keeps_alive} comes {within_text(self.within)}")
        elif self.until == Never():
            parts.append(f"for {duration_text(self.within)}" if isinstance(self.within, int) else str(self.within))
        else:
            parts += [f"until {self.until}", within_text(self.within)]
        if self.cancels:
            parts.append(f"unless {self.cancels}")
        return ", ".join(parts)

    @staticmethod
    def from_toml(source: str | PathLike[str]) -> Rule:
        """The rule in a TOML text or file; a `str` on one line that ends in .toml is the name of a file."""
        from .toml import read_rule  # noqa: PLC0415  (it needs this class)

        return read_rule(source)

    def to_toml(self) -> str:
        """The rule as TOML text; `from_toml` gives back an equal rule."""
        from .toml import write_rule  # noqa: PLC0415  (it needs this class)

        return write_rule(self)


@contextmanager
def _at_fault(field: str | None, prefix: str) -> Iterator[None]:
    """Errors raised inside get this prefix, and name the field at fault."""
    try:
        yield
    except RuleError as error:
        raise RuleError(f"{prefix}{error}", field or error.field) from None


def _checked_name(name: str) -> str:
    check_kind(name, "name")
    if "/" in name:
        raise RuleError("the name must not contain '/': operation ids use it between name and key", "name")
    return name


def _checked_kind(field: str, value: str) -> str:
    check_kind(value, field)
    return value


def _checked_per(per: Per) -> Per:
    if per not in ("first", "each"):
        raise RuleError(f'per={per!r} is not known; allowed are "first" and "each"', "per")
    return per


def checked_columns(columns: Columns) -> tuple[tuple[str, str], ...]:
    given = dict(columns)
    for ours, theirs in given.items():
        if ours not in EVENT_COLUMNS:
            raise RuleError(f"column {ours!r} is not known; allowed are {', '.join(EVENT_COLUMNS)}", ours)
        check_kind(theirs, f"column {ours}", ours)
    return tuple((ours, given[ours]) for ours in EVENT_COLUMNS if ours in given)


def _places_by_kind(own_leaves: tuple[Leaf, ...]) -> dict[str, tuple[int, ...]]:
    kinds = dict.fromkeys(leaf.kind for leaf in own_leaves)
    return {kind: tuple(i for i, leaf in enumerate(own_leaves) if leaf.kind == kind) for kind in kinds}
