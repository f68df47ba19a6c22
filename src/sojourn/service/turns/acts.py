"""What the handlers have the hub do when their turn comes, and what they learn from it.

Each function makes one that the hub's engine calls, in order with everybody else's, with the time of the call. Reading
takes its turn too: so the loop never stands still while the disk is busy, and nobody sees what is not safe yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ...durable.state.wait import Wait
from ...rules import Rule
from ..api.problems import Problem
from ..api.shapes import Asked, Signal, outcome_shape, wait_shape

if TYPE_CHECKING:
    from ...durable.state.state import State
    from ...durable.verbs import Verbs
    from .waits_by_rule import WaitsByRule

T = TypeVar("T")
Act = Callable[[int], T]


class Opened(NamedTuple):
    """`shape` is the wait as it was in the hub's turn; None if it is new and has heard nothing, or ended at once."""

    wait: Wait
    is_new: bool
    shape: dict[str, Any] | None


def opening(verbs: Verbs, by_rule: WaitsByRule, asked: Sequence[Asked]) -> Act[list[Opened]]:
    """Open waits of the same condition or rule: all or none."""
    first = asked[0]
    perform = verbs.wait_many(
        [one.key for one in asked],
        first.until,
        first.within,
        first.rule,
        [one.id for one in asked],
        [one.payload for one in asked],
    )

    def act(stamp: int) -> list[Opened]:
        next_seq = verbs._state.next_seq
        opened: list[Opened] = []
        for wait in perform(stamp):
            seq = wait.seq
            is_new = seq >= next_seq
            is_plain = is_new and (wait._progress is None or wait._ending is not None)
            opened.append(Opened(wait, is_new, None if is_plain else wait_shape(wait)))
            if is_new:
                next_seq = seq + 1  # the same id twice in one call: the second is not new
        if count := sum(one.is_new for one in opened):
            by_rule.opened(opened[0].wait.rule, count)
        return opened

    return act


def registering(verbs: Verbs, rule: Rule, replace: bool = False) -> Act[bool]:
    """Make a rule known; whether it is new. Another one of the name is refused while waits have it."""
    perform, text = verbs.register(rule), rule.to_toml()

    def act(stamp: int) -> bool:
        state = verbs._state
        number = state.rules.get(rule.name)
        if number is not None and not replace and state.plan_numbers.get(text) != number:
            _refuse_to_replace(state, rule.name)
        perform(stamp)
        return number is None

    return act


def _refuse_to_replace(state: State, name: str) -> None:
    if state.has_matching(name, None):
        raise Problem(
            409,
            "rule in use",
            f"rule {name!r} is another one, and waits that have it are pending; let them end, use another name, or ask "
            "with PUT /v1/rules/{name}?replace=true: then it is for the waits that follow",
            "name",
        )


def extending(verbs: Verbs, wait_id: str, within_ms: int) -> Act[dict[str, Any]]:
    perform = verbs.extend(wait_id, within_ms)

    def act(stamp: int) -> dict[str, Any]:
        wait = found(verbs._state, wait_id)
        if not perform(stamp):
            raise ended(wait)
        return wait_shape(wait)

    return act


class Cancelled(NamedTuple):
    """`shape` is the wait as it was if it had ended before; whoever ended it now looks again once that is told."""

    ended_by_this: bool
    wait: Wait
    shape: dict[str, Any] | None


def cancelling(verbs: Verbs, wait_id: str) -> Act[Cancelled]:
    perform = verbs.cancel(wait_id)

    def act(stamp: int) -> Cancelled:
        wait = found(verbs._state, wait_id)
        ended_by_this = perform(stamp)
        return Cancelled(ended_by_this, wait, None if ended_by_this else wait_shape(wait))

    return act


def signalling(verbs: Verbs, signals: Sequence[Signal]) -> Act[int]:
    rows = [(one.key, one.kind, one.source, one.value) for one in signals]
    return verbs.signal_many(rows, [one.id for one in signals], [one.at for one in signals])


def reading(verbs: Verbs, at: Callable[[State], T]) -> Act[T]:
    return lambda stamp: at(verbs._state)


def found(state: State, wait_id: str) -> Wait:
    wait = state.find(wait_id)
    if wait is None:
        raise Problem(404, "no such wait", f"there is no wait {wait_id!r}, or no longer", "id")
    return wait


def ended(wait: Wait) -> Problem:
    return Problem(
        409,
        "it has ended",
        f"wait {wait.id!r} has ended, or is about to: its deadline cannot be moved",
        "id",
        more=lambda: {"outcome": outcome_shape(wait._conclude())} if wait.done() else {},
    )
