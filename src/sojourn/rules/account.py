"""What had been seen and what was missing, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .condition import AllOf, Condition, Group, Leaf, Never, NOf, Reached, Seen, Total, leaves
from .duration import duration_text
from .event import Source
from .exact import amount_text, number_text, reaches, threshold
from .operation import Operation
from .outcome import Outcome, Standing
from .rule import Rule

SOURCES_NAMED = 5
"""How many sources a text names; of the others it gives the number."""


class Progress(NamedTuple):
    """How far a leaf had come: events or sources counted, or the exact total; and which sources, earliest first.

    `is_rough` says of a total whether it is enough once rounded: `exact.reaches`.
    """

    have: int
    sources: tuple[Source, ...] = ()
    is_rough: bool = False


ProgressOf = Callable[[Leaf], Progress]


def missing_text(condition: Condition, progress_of: ProgressOf) -> str:
    """What a condition that does not hold still lacks: "Payment", "1 of 2 ack", "paid and (packed or waived)"."""
    return _missing(condition, progress_of)[0]


def seen_text(condition: Condition, progress_of: ProgressOf) -> str:
    """How far each leaf had come: "seen 1 of 2 acks (replica-1), missing 1; no Payment"."""
    return "; ".join(_seen(leaf, progress_of(leaf)) for leaf in leaves(condition))


def conclude(
    operation: Operation,
    standing: Standing,
    at: int,
    *,
    deadline: int,
    met_at: int | None,
    decided_by: str | None,
    progress_of: ProgressOf,
) -> Outcome:
    """The outcome, in words too, of an operation that has been judged; `progress_of` tells the progress by `at`.

    Of a pending one, `at` is the time at which it was looked at.
    """
    rule, key, opened_at, _, operation_id = operation
    missing, seen = words(rule, standing, operation.within_ms, progress_of)
    ended_at = None if standing == "pending" else at
    times = (opened_at, deadline, standing, ended_at, at - opened_at, met_at)
    return Outcome(operation_id, rule.name, key, *times, decided_by, missing, seen)


def words(rule: Rule, standing: Standing, within_ms: int, progress_of: ProgressOf) -> tuple[str | None, str]:
    """`missing` and `seen` of an outcome. Nothing is missing if it completed, nor where nothing was awaited."""
    if rule.keeps_alive and standing == "expired":
        return rule.keeps_alive, f"no {rule.keeps_alive} for {duration_text(within_ms)}"
    if isinstance(rule.until, Never):
        return None, ""
    missing = None if standing == "completed" else missing_text(rule.until, progress_of)
    return missing, seen_text(rule.until, progress_of)


def _holds(condition: Condition, progress_of: ProgressOf) -> bool:
    if isinstance(condition, Group):
        return sum(_holds(part, progress_of) for part in condition.parts) >= condition.needed
    return not isinstance(condition, Never) and _has_enough(condition, progress_of(condition))


def _has_enough(leaf: Leaf, progress: Progress) -> bool:
    if isinstance(leaf, Total):
        return reaches(progress.have, leaf.at_least, progress.is_rough)
    return progress.have >= _needed(leaf)


def _needed(leaf: Seen | Reached) -> int:
    return leaf.times if isinstance(leaf, Seen) else leaf.by


def _missing(condition: Condition, progress_of: ProgressOf) -> tuple[str, bool]:
    """The text, and whether it needs brackets inside another one."""
    if isinstance(condition, Never):
        return str(condition), False
    if not isinstance(condition, Group):
        return _missing_from_leaf(condition, progress_of(condition).have), False
    lacking = [part for part in condition.parts if not _holds(part, progress_of)]
    texts = [_missing(part, progress_of) for part in lacking]
    if isinstance(condition, NOf):
        held = len(condition.parts) - len(lacking)
        return f"{condition.n - held} of ({', '.join(text for text, _ in texts)})", False
    if len(texts) == 1:
        return texts[0]
    word = " and " if isinstance(condition, AllOf) else " or "
    return word.join(f"({text})" if is_compound else text for text, is_compound in texts), True


def _missing_from_leaf(leaf: Leaf, have: int) -> str:
    if isinstance(leaf, Total):
        return f"{amount_text(threshold(leaf.at_least) - have)} of {leaf}"
    needed = _needed(leaf)
    return _what(leaf) if needed == 1 else f"{needed - have} of {needed} {_what(leaf)}"


def _what(leaf: Seen | Reached) -> str:
    if isinstance(leaf, Seen):
        return leaf.kind
    level = f"{leaf.kind} >= {number_text(leaf.at_least)}"
    return level if leaf.by == 1 else f"sources with {level}"


def _seen(leaf: Leaf, progress: Progress) -> str:
    have, has_enough = progress.have, _has_enough(leaf, progress)
    if isinstance(leaf, Total):
        needed_amount = threshold(leaf.at_least)
        missing = "" if has_enough else f", missing {amount_text(needed_amount - have)}"
        return f"seen {amount_text(needed_amount if has_enough else have)} of {leaf}{missing}"
    needed = _needed(leaf)
    if needed == 1:
        return f"seen {_what(leaf)}{_named(progress.sources)}" if has_enough else f"no {_what(leaf)}"
    plural = "" if isinstance(leaf, Reached) or leaf.kind.endswith("s") else "s"
    missing = "" if has_enough else f", missing {needed - have}"
    return f"seen {have} of {needed} {_what(leaf)}{plural}{_named(progress.sources)}{missing}"


def _named(sources: tuple[Source, ...]) -> str:
    names = [str(source) for source in sources if source is not None]
    if len(names) > SOURCES_NAMED:
        names[SOURCES_NAMED:] = [f"{len(names) - SOURCES_NAMED} more"]
    return f" ({', '.join(names)})" if names else ""
