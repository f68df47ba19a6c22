"""What a wait heard, record by record: for the waits whose signals cannot be told by times alone.

Usually a wait hears the signals on its keys that are stamped at or after its opening, as the law has it. Not so if

* signals of its first instant came before it in the log, and were not remembered (for a level: any earlier signals);
* it was opened on signals that were remembered: they count as of the opening;
* it was cancelled by hand, and further signals of that instant came after the cancellation;
* signals came with times of their own, in a grace: they count for those who were waiting when they came;
* its deadline was moved by hand, and by signals that keep it alive as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...hub._plan import WaitPlan
from ...rules import Event, Waiting
from ...rules.law import verdict
from ..state.incidents import moved_to


class Heard(NamedTuple):
    """A signal, and where in the log it came to count."""

    position: int
    event: Event


class Move(NamedTuple):
    """Something done by hand to one wait: its deadline set or shifted; or, without either, it was cancelled."""

    position: int
    stamp: int
    deadline: int | None = None
    by_ms: int | None = None


class ToldEnd(NamedTuple):
    """Where in the log a wait was told to have ended, and when it had."""

    position: int
    at: int


class Hearing:
    """One wait, going through what the log has for it. Afterwards `deadline` and `events` are what the law is given."""

    def __init__(self, plan: WaitPlan, opened_at: int, within_ms: int, cancel_kind: str) -> None:
        self._plan = plan
        self._opened_at = opened_at
        self._cancel_kind = cancel_kind
        self._waiting = Waiting(plan.rule, "", opened_at, opened_at + within_ms, "")
        self._cancelled_at: int | None = None
        self._ended_at: int | None = None
        """Once it has ended, when."""
        self._is_moved = False
        self.deadline = opened_at + within_ms
        self.events: list[Event] = []

    def go_through(
        self, recalled: Iterable[Event], heard: Iterable[Heard], moves: Iterable[Move], told: ToldEnd
    ) -> None:
        for event in recalled:
            self._hear(event)
        steps: list[tuple[int, int, Heard | Move | ToldEnd]] = [(one.position, 0, one) for one in heard]
        steps += [(move.position, 1, move) for move in moves]  # what a grace has held counts first
        steps.append((told.position, 2, told))
        for _, _, step in sorted(steps, key=lambda step: step[:2]):
            if isinstance(step, Heard):
                self._hear(step.event)
            elif self._ended_at is None:
                self._end(step.at) if isinstance(step, ToldEnd) else self._move(step)
        self._settle_keep_alives()

    def _settle_keep_alives(self) -> None:
        """The law moves a deadline by keep-alives alone; if it was moved by hand too, what came of both is given."""
        kind = self._plan.rule.keeps_alive
        if kind is not None and self._is_moved:
            self.events = [event for event in self.events if event.kind != kind]
        elif kind is not None:
            self.deadline = self._opened_at + self._plan.within_ms

    @property
    def _last_instant(self) -> int:
        return verdict(None, self._cancelled_at, self.deadline)[1]

    def _hear(self, event: Event) -> None:
        rule = self._plan.rule
        if event.kind not in self._plan.kinds or self._plan.refusal(event) is not None:
            return
        event = event._replace(at=max(event.at, self._opened_at))
        last = self._last_instant if self._ended_at is None else self._ended_at
        if self._ended_at is not None or event.at > last:
            if rule.keeps_alive is None and event.at > last:
                self.events.append(event)  # too late for the wait; but when it would have been met is of interest
            return
        self.events.append(event)
        if event.kind in rule.places_by_kind:
            self._waiting.add(event)
            met_at = self._waiting.met_at
            if met_at is not None and verdict(met_at, self._cancelled_at, self.deadline)[0] == "completed":
                self._end(met_at)
        if event.kind == rule.keeps_alive:
            self.deadline = max(self.deadline, event.at + self._plan.within_ms)
        if event.kind == rule.cancels:
            self._cancelled_at = event.at if self._cancelled_at is None else min(event.at, self._cancelled_at)

    def _move(self, move: Move) -> None:
        if move.deadline is None and move.by_ms is None:
            if move.stamp <= self._last_instant:
                if self._cancelled_at is None:
                    self.events.append(Event("", self._cancel_kind, move.stamp))
                self._end(move.stamp)
        elif self._cancelled_at is None and move.stamp <= self.deadline:
            by_hand = move.deadline
            self.deadline = moved_to(self.deadline, move.by_ms or 0, move.stamp) if by_hand is None else by_hand
            self._is_moved = True

    def _end(self, at: int) -> None:
        self._ended_at = at
