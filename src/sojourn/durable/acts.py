"""Acts on many waits at once, as records: the clock of a rule stopped and resumed, a shift undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ConfigError, RuleError
from .engine import Engine
from .log import records as r
from .state.incidents import FAR, Incident
from .state.state import State


class Acts:
    """Makes the functions that an engine calls, as `Verbs` does."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def _state(self) -> State:
        return self._engine.state

    def deadline(self, rule: str, stamp: int, within_ms: int) -> int:
        """The deadline of a wait that has this much time from now on."""
        stop = self._state.stopped.get(rule)
        return stamp + within_ms if stop is None else stop.at + within_ms + FAR

    def hold(self, waits: list[Any], stamp: int) -> None:
        """While the clock of a rule is stopped, no time passes for waits opened under it either."""
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
            known = f"known are {min(acts)} and later" if acts else "there are none"
            raise ConfigError(f"there is no incident {number}, or no longer; {known}")
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
