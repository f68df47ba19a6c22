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

from typing import Any, NamedTuple

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
