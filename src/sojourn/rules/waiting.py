"""A waiting operation: the least that must be kept of its events to decide it as the law would, whatever else arrives.

Add events in any order and in any portions, merge what was gathered apart, store it and go on elsewhere: the outcome is
the one that `law.decide` gives for all the events together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import RuleError
from .account import Progress, conclude
from .alive import Alive
from .condition import Leaf
from .event import Event
from .law import decided_by, holds_at, standing, verdict
from .operation import Operation, opened
from .outcome import Ending, Outcome
from .rule import Rule
from .tally import LeafTally, tally_of


class Waiting:
    """One operation that has been opened, and what is known of its events.

    Give `add` every event of the operation's key: those from before the opening, for the sake of levels, and the
    opening event itself, which may be a signal too. What does not concern the operation is ignored.
    """

    __slots__ = ("_alive", "_is_stale", "_met_at", "_tallies", "cancelled_at", "operation")

    def __init__(self, rule: Rule, key: str, opened_at: int, deadline: int, operation_id: str) -> None:
        self.operation = Operation(rule, key, opened_at, deadline, operation_id)
        self.cancelled_at: int | None = None
        """The earliest cancellation since the opening, as far as known."""
        self._tallies: list[LeafTally] = [tally_of(leaf, opened_at) for leaf in rule.leaves]
        self._alive = Alive(deadline - opened_at, [opened_at]) if rule.keeps_alive is not None else None
        self._met_at: int | None = None
        self._is_stale = False

    @classmethod
    def open(cls, rule: Rule, opening: Event, ordinal: int = 1) -> Waiting:
        """The operation that an event opens. The event itself is not added yet."""
        return cls(*opened(rule, opening, ordinal))

    def __repr__(self) -> str:
        known = f"met_at={self.met_at}, cancelled_at={self.cancelled_at}, deadline={self.deadline}"
        return f"<Waiting {self.operation.operation_id!r} {known}>"

    @property
    def deadline(self) -> int:
        """The deadline, as far as known: a keep-alive event may still move it."""
        return self.operation.deadline if self._alive is None else self._alive.deadline

    @property
    def met_at(self) -> int | None:
        """When the condition comes to hold, as far as known: an event that arrives late may make it earlier."""
        if self._is_stale:
            self._met_at = holds_at(self.operation.rule.until, self._leaf_time)
            self._is_stale = False
        return self._met_at

    def add(self, event: Event) -> bool:
        """Take an event of the operation's key; True if it was news. `RuleError` if its value cannot be used.

        The condition as a whole is looked at again only when asked for, and only if the time of a leaf has changed.
        """
        kind, at = event.kind, event.at
        rule, _, opened_at, _, _ = self.operation
        is_news = False
        for place in rule.places_by_kind.get(kind, ()):
            tally = self._tallies[place]
            held_at = tally.at
            is_news |= tally.add(event)
            self._is_stale |= tally.at != held_at
        if at >= opened_at:
            if kind == rule.cancels and (self.cancelled_at is None or at < self.cancelled_at):
                self.cancelled_at = at
                is_news = True
            if self._alive is not None and kind == rule.keeps_alive:
                is_news |= self._alive.add(at)
        return is_news

    def merge(self, other: Waiting) -> None:
        """Take all that another `Waiting` of the same operation has taken; no event may have been added to both."""
        if self.operation != other.operation:
            raise RuleError(f"{other!r} is not the operation {self.operation.operation_id!r}; only the same one merges")
        for mine, theirs in zip(self._tallies, other._tallies, strict=True):
            mine.merge(theirs)
        self._is_stale = True
        if other.cancelled_at is not None and (self.cancelled_at is None or other.cancelled_at < self.cancelled_at):
            self.cancelled_at = other.cancelled_at
        if self._alive is not None and other._alive is not None:
            self._alive = self._alive.merged(other._alive)

    def outcome(self, watermark: int | None = None) -> Outcome | None:
        """The outcome, once no event stamped after the watermark can change it; None while one could.

        The watermark promises that no event stamped <= watermark is still to come. The outcome is that of the events up
        to it: so `met_at` is None on an operation that expired, if it is met only later. Without a watermark
        the events are taken to be complete.
        """
        judged = self._judged(watermark)
        return None if judged.outcome == "pending" else judged

    def as_of(self, as_of: int) -> Outcome | None:
        """What has become of it by a time up to which all events are there: an outcome, perhaps "pending".

        Events stamped later are not looked at. None if it was opened later.
        """
        return None if self.operation.opened_at > as_of else self._judged(as_of)

    def _judged(self, as_of: int | None) -> Outcome:
        met_at = self.met_at
        ended, at = standing(*verdict(met_at, self.cancelled_at, self.deadline), as_of)
        return conclude(
            self.operation,
            ended,
            at,
            deadline=self.operation.deadline if self._alive is None else self._alive.deadline_at(at),
            met_at=met_at if met_at is not None and (as_of is None or met_at <= as_of) else None,
            decided_by=None if ended == "pending" else self.decided_by(ended),
            progress_of=lambda leaf: self.progress(leaf, at),
        )

    def decided_by(self, ending: Ending) -> str:
        """What brought about this ending: the kind of a signal or cancellation, or "deadline"."""
        return decided_by(self.operation.rule, ending, self._leaf_time)

    def progress(self, leaf: Leaf, at: int) -> Progress:
        """How far a leaf of the condition had come by then."""
        return self._tally(leaf).progress(at)

    def forget(self, watermark: int) -> None:
        """Drop what only an event stamped <= watermark could ask for, while the operation is undecided.

        From then on neither such an event nor an earlier watermark is to be given.
        """
        if self._alive is not None and self.outcome(watermark) is None:
            self._alive.forget(watermark)

    def to_state(self) -> dict[str, Any]:
        """All that is known, as plain dicts, lists, texts and whole numbers: fit for JSON."""
        rule, key, opened_at, deadline, operation_id = self.operation
        return {
            "rule": rule.name,
            "key": key,
            "opened_at": opened_at,
            "deadline": deadline,
            "operation_id": operation_id,
            "cancelled_at": self.cancelled_at,
            "alive": None if self._alive is None else list(self._alive.times),
            "leaves": [[str(leaf), tally.to_state()] for leaf, tally in zip(rule.leaves, self._tallies, strict=True)],
        }

    @classmethod
    def from_state(cls, rule: Rule, state: Mapping[str, Any]) -> Waiting:
        """What `to_state` gave, under the same rule; `RuleError` if the rule waits for something else now."""
        ours = [rule.name, rule.keeps_alive is not None, [str(leaf) for leaf in rule.leaves]]
        theirs = [state["rule"], state["alive"] is not None, [leaf for leaf, _ in state["leaves"]]]
        if ours != theirs:
            raise RuleError(f"operation {state['operation_id']!r} was stored by another rule: {theirs}, not {ours}")
        waiting = cls(rule, state["key"], state["opened_at"], state["deadline"], state["operation_id"])
        waiting.cancelled_at = state["cancelled_at"]
        if waiting._alive is not None:
            waiting._alive = Alive(waiting.operation.within_ms, state["alive"])
        for tally, (_, entries) in zip(waiting._tallies, state["leaves"], strict=True):
            tally.load(entries)
        waiting._is_stale = True
        return waiting

    def _tally(self, leaf: Leaf) -> LeafTally:
        return self._tallies[self.operation.rule.places[leaf]]

    def _leaf_time(self, leaf: Leaf) -> int | None:
        return self._tally(leaf).at
