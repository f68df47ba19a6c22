"""The hub's own form of the law: what `rules.law` says, one event at a time.

The fold in `rules.law` judges an operation when all its events are known. A hub has to judge a wait whenever something
happens. What it keeps of a wait is its deadline, the time of the earliest cancelling signal, and the evidence for its
condition (a `Waiting`); the functions here are all that decides, and the ties are those of `rules.law.verdict`.

The hub is eager: a wait completes with the first event that meets its condition, without waiting for others of the
same instant. So `decided_by` may name another kind of that instant than the fold does. Outcome, time and deadline are
the same: tests/hub/test_hub_law.py proves these functions, and their form in C, against the fold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ..rules import Event, Waiting
from ..rules.law import decided_by, verdict

if TYPE_CHECKING:
    from ..rules.outcome import Ending
    from ._plan import WaitPlan


class Judged(Protocol):
    """What the law needs of a wait: what is kept of it, and three things that can happen to it."""

    _plan: WaitPlan
    _progress: Waiting | None

    @property
    def opened_at(self) -> int: ...
    @property
    def deadline(self) -> int: ...
    @property
    def _cancelled_at(self) -> int | None: ...

    def _complete(self, at: int) -> bool: ...
    def _extend_to(self, deadline: int, now_ms: int) -> None: ...
    def _cancel_after(self, at: int) -> None: ...


def hear(wait: Judged, event: Event) -> bool:
    """Let an event of a kind that the wait's plan reads count, if it is in time; True if that completed the wait."""
    if event.at < wait.opened_at:  # it was on its way already: it counts from the opening on
        event = event._replace(at=wait.opened_at)
    return event.at <= last_instant(wait) and count(wait, event)


def hear_single(wait: Judged, at: int) -> bool:
    """`hear`, for a wait on a single signal: of this only the time matters."""
    at = max(at, wait.opened_at)
    return at <= last_instant(wait) and wait._complete(at)


def count(wait: Judged, event: Event) -> bool:
    """Let an event that is in time count; True if that completed the wait."""
    rule = wait._plan.rule
    if event.kind in rule.places_by_kind and complete_if_met(wait, event):
        return True
    if event.kind == rule.keeps_alive:
        wait._extend_to(max(wait.deadline, event.at + wait._plan.within_ms), event.at)
    if event.kind == rule.cancels and (wait._cancelled_at is None or event.at < wait._cancelled_at):
        wait._cancel_after(event.at)
    return False


def complete_if_met(wait: Judged, event: Event) -> bool:
    """Add an event to the evidence; True if that completed the wait."""
    if wait._plan.single is not None:  # then it is all the evidence there need be
        return wait._complete(event.at)
    if wait._progress is None:
        # The key and the id are the wait's own business, and their text would be made with the lock held.
        wait._progress = Waiting(wait._plan.rule, "", wait.opened_at, wait.deadline, "")
    wait._progress.add(event)
    met_at = wait._progress.met_at
    if met_at is None or verdict(met_at, wait._cancelled_at, wait.deadline)[0] != "completed":
        return False
    return wait._complete(met_at)


def last_instant(wait: Judged) -> int:
    """The last instant at which an event counts: when that is over, so is the wait."""
    return verdict(None, wait._cancelled_at, wait.deadline)[1]


def unmet(wait: Judged) -> tuple[Ending, int, str]:
    """How, when and by what a wait ends that nothing has completed."""
    ending, at = verdict(None, wait._cancelled_at, wait.deadline)
    return ending, at, decided_by(wait._plan.rule, ending, lambda leaf: None)
