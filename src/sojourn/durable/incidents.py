"""Incidents: the clock of a rule stopped and resumed, deadlines shifted and shifted back. Acts that are in the log.

Each is one record of a shift, with a word on what it was for:

    stop     every pending wait of the rule gets `FAR` more time
    resume   and loses it again, less the time that has passed: each has as much left as when the clock stopped
    shift    some waits get more time
    undo     those that had been opened by then lose it again

While the clock of a rule stands at `s`, a wait that is opened, or extended, by `w` has the deadline `s + w + FAR`: so
that the one record of the resumption is right for it as well. What was overdue when a clock was stopped is not moved:
it expires at its deadline. What the clock stopped at its last instant has that instant left when it goes on. And no
deadline is ever moved to before the time at which somebody moves it: what an undone shift leaves no time ends then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ConfigError, RuleError
from . import records as r

if TYPE_CHECKING:
    from .engine import Engine
    from .state import State

FAR = 36_525 * 86_400_000
"""A hundred years: nobody stops a clock for so long."""
MOST_KEPT = 1_000
"""Acts that are listed; those that still matter are kept beside them."""


class Incident(NamedTuple):
    """One act. `number` counts them, from 1 on."""

    number: int
    act: str
    """stop, resume, shift or undo."""
    rule: str | None
    key_prefix: str | None
    at: int
    by_ms: int
    """How far deadlines were moved; for a stop that is `FAR`."""
    waits: int
    """How many were moved."""
    before_seq: int
    """Of the first wait that came later."""
    of: int | None = None
    """The act that this one resumes or undoes."""
    note: str | None = None


class Incidents:
    """What a state knows of them, from its records."""

    def __init__(self, known: list[list[Any]] | None = None) -> None:
        self.acts: list[Incident] = [Incident(*row) for row in known or ()]

    @property
    def next_number(self) -> int:
        return self.acts[-1].number + 1 if self.acts else 1

    @property
    def stopped(self) -> dict[str, Incident]:
        """The rules whose clock stands, and since which act."""
        stops: dict[str, Incident] = {}
        for act in self.acts:
            if act.rule is not None and act.act == "stop":
                stops[act.rule] = act
            elif act.rule is not None and act.act == "resume":
                stops.pop(act.rule, None)
        return stops

    def undone(self) -> set[int]:
        """The numbers of the acts that have been resumed or undone."""
        return {act.of for act in self.acts if act.of is not None}

    def note(self, act: Incident) -> None:
        self.acts.append(act)
        if len(self.acts) > MOST_KEPT:
            standing = {stop.number for stop in self.stopped.values()}
            oldest = next(i for i, old in enumerate(self.acts) if old.number not in standing)
            del self.acts[oldest]

    def rows(self) -> list[list[Any]]:
        """As a snapshot has them."""
        return [list(act) for act in self.acts]


def moved_to(deadline: int, by_ms: int, stamp: int) -> int:
    """Where a shift, at that time, puts a deadline: later; or earlier, but not before that time."""
    return deadline + by_ms if by_ms >= 0 else max(deadline + by_ms, stamp)


class Acts:
    """Makes the functions that an engine calls, as `Verbs` does."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def _state(self) -> State:
        return self._engine.state

    def deadline(self, rule: str, stamp: int, within_ms: int) -> int:
        """The deadline of a wait that has so much time from now on."""
        stop = self._state.stopped.get(rule)
        return stamp + within_ms if stop is None else stop.at + within_ms + FAR

    def hold(self, waits: list[Any], stamp: int) -> None:
        """For waits that have just been opened time does not pass while the clock of their rule stands."""
        for wait in waits:
            if wait._ending is None and wait.rule in self._state.stopped:
                self._engine.record(r.EXTEND, [stamp, wait.seq, self.deadline(wait.rule, stamp, wait.within_ms)])

    def stop(self, rule: str, note: str | None) -> Callable[[int], Incident]:
        def perform(stamp: int) -> Incident:
            self._check_can_stop(rule)
            return self._record(stamp, rule, None, FAR, None, "stop", None, note)

        return perform

    def resume(self, rule: str, note: str | None) -> Callable[[int], Incident]:
        def perform(stamp: int) -> Incident:
            stop = self._state.stopped.get(rule)
            if stop is None:
                raise ConfigError(f"the clock of rule {rule!r} is not stopped; there is nothing to resume")
            return self._record(stamp, rule, None, stamp - stop.at - FAR, None, "resume", stop.number, note)

        return perform

    def undo(self, number: int, note: str | None) -> Callable[[int], Incident]:
        def perform(stamp: int) -> Incident:
            act = self._to_undo(number)
            where = act.rule, act.key_prefix
            return self._record(stamp, *where, -act.by_ms, act.before_seq, "undo", act.number, note)

        return perform

    def _record(
        self,
        stamp: int,
        rule: str | None,
        key_prefix: str | None,
        by_ms: int,
        before_seq: int | None,
        act: str,
        of: int | None,
        note: str | None,
    ) -> Incident:
        self._engine.record(r.SHIFT, [stamp, rule, key_prefix, by_ms, before_seq, [act, of, note]])
        return self._state.incidents.acts[-1]

    def _check_can_stop(self, rule: str) -> None:
        state = self._state
        if rule not in state.rules:
            known = ", ".join(state.rules) or "none"
            raise RuleError(f"rule {rule!r} is not registered; known are: {known}", "rule")
        if rule in state.stopped:
            raise ConfigError(f"the clock of rule {rule!r} is stopped already; resume it first")
        if any(plan.rule.keeps_alive and plan.rule.name == rule for plan in state.plans.values()):
            raise ConfigError(
                f"rule {rule!r} is kept alive by signals, which set its clock themselves: it cannot be stopped; "
                "shift its deadlines instead"
            )

    def _to_undo(self, number: int) -> Incident:
        acts = {act.number: act for act in self._state.incidents.acts}
        act = acts.get(number)
        if act is None:
            raise ConfigError(
                f"there is no incident {number}, or no longer; known are {min(acts, default=0)} and later"
            )
        if act.act == "stop":
            raise ConfigError(f"incident {number} has stopped the clock of {act.rule!r}: resume it instead")
        if act.act != "shift":
            raise ConfigError(f"incident {number} was itself the end of another one; only a shift can be undone")
        if number in self._state.incidents.undone():
            raise ConfigError(f"incident {number} has been undone already")
        return act


def check_note(note: object) -> str | None:
    if note is not None and (not isinstance(note, str) or len(note) > 1_000):
        raise ConfigError(f"note={note!r} must be a text of at most 1,000 characters")
    return note
