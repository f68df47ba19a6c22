"""Counts by rule, kept up to date as waits open and end, so that no request has to walk over all of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ...rules.outcome import ENDED

if TYPE_CHECKING:
    from ...durable.state.state import State
    from ...durable.state.wait import Wait


class WaitsByRule:
    """Pending waits by rule, and how they ended since the service started. Counted by whoever writes the log."""

    def __init__(self) -> None:
        self._pending: Counter[str] = Counter()
        self._ended: dict[str, Counter[str]] = {ending: Counter() for ending in ENDED}

    def begin(self, state: State) -> None:
        """Count what is there."""
        stored = (*(there for _, there in state.waits.all_stored()), *state.untold.values())
        self._pending = Counter(there._plan.rule.name for there in stored)
        if state.cold is not None:
            for plan, count in state.cold.by_plan().items():
                self._pending[state.plans[plan].rule.name] += count

    def opened(self, rule: str, count: int) -> None:
        self._pending[rule] += count

    def told(self, waits: list[Wait]) -> None:
        for wait in waits:
            name = wait._plan.rule.name
            self._pending[name] -= 1
            self._ended[str(wait._ending)][name] += 1

    def by_rule(self, state: State) -> dict[str, Any]:
        """In the hub's turn. If a write failed meanwhile, some counts are wrong: then all are counted again."""
        if self._pending.total() != state.pending + len(state.untold) and not _is_on_disk(state):
            self.begin(state)
        names = {*state.rules, *+self._pending, *(name for ended in self._ended.values() for name in ended)}
        return {name: self._counts(name) for name in sorted(names)}

    def _counts(self, name: str) -> dict[str, int]:
        return {"pending": self._pending[name], **{ending: self._ended[ending][name] for ending in ENDED}}


def _is_on_disk(state: State) -> bool:
    """Whether there are so many that counting them takes a while; then a count that may be a little off has to do."""
    return state.pending > len(state.waits)
