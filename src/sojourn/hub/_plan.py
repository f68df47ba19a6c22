"""A plan: a rule, made ready for many waits of the same kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import RuleError
from ..rules import Event, Leaf, Reached, Rule, Seen, Waiting, source_error, value_error
from ..rules.account import Progress, words

if TYPE_CHECKING:
    from ..rules.outcome import Ending
    from ._wait import Wait


class Words(dict[tuple["Ending", str], tuple[str, str | None, str]]):
    """The rule's name, what was missing and what was seen, where one signal decides alone.

    It is the same for all that ended alike, by the same.
    """

    def __init__(self, rule: Rule) -> None:
        self._rule = rule

    def __missing__(self, ended: tuple[Ending, str]) -> tuple[str, str | None, str]:
        ending, decided_by = ended
        seen = Progress(int(decided_by in self._rule.places_by_kind))
        self[ended] = found = (self._rule.name, *words(self._rule, ending, 0, lambda leaf: seen))
        return found


class Plan:
    """What every wait under one rule shares. `single` is the kind that decides alone, in the commonest case."""

    __slots__ = ("_counts_only", "_kinds_by_source", "kinds", "rule", "single", "within_ms", "words")

    def __init__(self, rule: Rule) -> None:
        if not isinstance(rule.within, int):
            raise RuleError(
                f"rule {rule.name!r}: a wait has no opening event to read {rule.within} from; give a duration"
            )
        self.rule = rule
        self.within_ms = rule.within
        others = [kind for kind in (rule.cancels, rule.keeps_alive) if kind is not None]
        self.kinds = frozenset([*rule.places_by_kind, *others])
        is_single = isinstance(rule.until, Seen) and rule.until == Seen(rule.until.kind) and not others
        self.single = rule.until.kind if is_single and isinstance(rule.until, Seen) else None
        self._kinds_by_source = frozenset(leaf.kind for leaf in rule.leaves if _is_by_source(leaf))
        self._counts_only = all(isinstance(leaf, Seen) for leaf in rule.leaves) and not self._kinds_by_source
        self.words = Words(rule)

    def takes(self, event: Event) -> bool:
        """Whether its waits read events of this kind; `RuleError` if they would, but cannot make sense of this one."""
        if event.kind not in self.kinds:
            return False
        if not self._counts_only and (reason := self._error(event)) is not None:
            raise RuleError(f"signal {event.kind!r} to {event.key!r}: {reason}")
        return True

    def read(self, wait: Wait, event: Event) -> bool:
        """Let an event count for a wait that is pending, with the hub's lock held; True if that completed it."""
        rule = self.rule
        if event.kind in rule.places_by_kind and self._count(wait, event):
            return True
        if event.kind == rule.keeps_alive:
            wait._keep_alive(event.at)
        if event.kind == rule.cancels:
            wait._cancel_at(event.at, event.kind)
        return False

    def _count(self, wait: Wait, event: Event) -> bool:
        waiting = wait._progress
        if waiting is None:
            waiting = wait._progress = Waiting(self.rule, wait.key, wait.opened_at, wait.deadline, str(wait.id))  # type: ignore[arg-type]
        waiting.add(event)
        met_at = waiting.met_at
        return met_at is not None and wait._complete(met_at)

    def _error(self, event: Event) -> str | None:
        by_source = source_error(event.source) if event.kind in self._kinds_by_source else None
        return by_source or value_error(self.rule.until, event)


def _is_by_source(leaf: Leaf) -> bool:
    return isinstance(leaf, Reached) or (isinstance(leaf, Seen) and leaf.distinct is not None)
