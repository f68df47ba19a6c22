"""A plan: a rule, made ready for many waits of the same kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import RuleError
from ..rules import Event, Rule, Seen, Waiting, value_error

if TYPE_CHECKING:
    from ._wait import Wait


class Plan:
    """What every wait under one rule shares. `single` is the kind that decides alone, in the commonest case."""

    __slots__ = ("has_numbers", "kinds", "rule", "single", "within_ms")

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
        self.has_numbers = any(not isinstance(leaf, Seen) for leaf in rule.leaves)

    def takes(self, event: Event) -> bool:
        """Whether its waits read events of this kind; `RuleError` if they would, but cannot make sense of this one."""
        if event.kind not in self.kinds:
            return False
        if self.has_numbers and (reason := value_error(self.rule.until, event)) is not None:
            raise RuleError(f"signal {event.kind!r} to {event.key!r}: {reason}")
        return True

    def read(self, wait: Wait, event: Event) -> bool:
        """Let an event count for a wait; True if its condition holds now."""
        rule = self.rule
        if wait._progress is None:
            wait._progress = Waiting(rule, wait.key, wait.opened_at, wait.deadline, str(wait.id))  # type: ignore[arg-type]
        wait._progress.add(event)
        if wait._progress.met_at is not None:
            return True
        if event.kind == rule.keeps_alive:
            wait._keep_alive(event.at, self.within_ms)
        if event.kind == rule.cancels:
            wait._cancel_at(event)
        return False
