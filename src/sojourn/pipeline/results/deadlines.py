"""Other deadlines for the same operations: the "what if" of an outcome table, which needs no second run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...rules import Duration, duration_ms, duration_text


class Deadline(NamedTuple):
    """A deadline to try: a duration from the opening on, or a shift of the deadline that each operation has."""

    ms: int
    is_shift: bool = False

    def __str__(self) -> str:
        if not self.is_shift:
            return duration_text(self.ms)
        return f"{'-' if self.ms < 0 else '+'}{duration_text(abs(self.ms))}"


def deadlines(given: str | Iterable[Duration]) -> tuple[Deadline, ...]:
    """The deadlines in a text such as "30 days, 60 days", or in a list; "+15 min" and "-15 min" are shifts."""
    parts = given.split(",") if isinstance(given, str) else given
    return tuple(dict.fromkeys(_deadline(part) for part in parts))


def fixed(withins: Duration | Iterable[Duration]) -> tuple[Deadline, ...]:
    """The deadlines of durations from the opening on; a duration alone is one of them."""
    if isinstance(withins, str) or not isinstance(withins, Iterable):
        return (Deadline(duration_ms(withins)),)
    return tuple(Deadline(duration_ms(within)) for within in withins)


def _deadline(given: Duration) -> Deadline:
    text = given.strip() if isinstance(given, str) else ""
    if not text.startswith(("+", "-")):
        return Deadline(duration_ms(text or given))
    ms = duration_ms(text[1:].strip())
    return Deadline(-ms if text[0] == "-" else ms, is_shift=True)


def shift_text(ms: int) -> str:
    """A shift in words: "20 min later"."""
    return f"{duration_text(abs(ms))} {'earlier' if ms < 0 else 'later'}" if ms else "as it is"
