"""Pending waits, some at a time: a page looks at a bounded number of waits, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .state import State
    from .wait import Wait
    from .where import Where

LOOK_MOST = 20_000
"""Waits looked at for one page: a hub stands still meanwhile."""


class Page(NamedTuple):
    """Waits in the order of opening; `next` is where the following page begins, None after the last."""

    waits: list[Wait]
    next: int | None


def page(
    state: State,
    *,
    key: str | None = None,
    key_prefix: str | None = None,
    rule: str | None = None,
    due_before: int | None = None,
    after: int = 0,
    limit: int = 100,
) -> Page:
    """The pending waits opened after the one of that number, at most `limit`.

    A page may have less than that, even none, before the last: then too many were looked at in vain.
    """

    def is_asked_for(wait: Wait) -> bool:
        return (
            (rule is None or wait.rule == rule)
            and (due_before is None or wait.deadline < due_before)
            and (key_prefix is None or any(key.startswith(key_prefix) for key in wait.keys))
        )

    if key is not None:
        return _page_of(sorted(state.watching(key), key=lambda wait: wait.seq), is_asked_for, after, limit)
    last = _bring_in(state, state._where(rule, key_prefix)._replace(due_before=due_before), after, limit)
    return _page_by_number(state, is_asked_for, after, last, limit)


def _bring_in(state: State, where: Where, after: int, limit: int) -> int:
    """Have those in memory that a page may have of the index; up to which number it can be made then."""
    last = min(after + LOOK_MOST, state.next_seq - 1)
    if state.cold is None or state.pending == len(state.waits):
        return last
    found = state.cold.index.seqs_after(where, after, last, limit + 1)
    state.cold.of_seqs(found)
    return found[-1] if len(found) > limit else last


def _page_of(waits: Iterable[Wait], is_asked_for: Callable[[Wait], bool], after: int, limit: int) -> Page:
    following = (wait for wait in waits if wait.seq > after and is_asked_for(wait))
    chosen = list(islice(following, limit))
    return Page(chosen, chosen[-1].seq if len(chosen) == limit and next(following, None) is not None else None)


def _page_by_number(state: State, is_asked_for: Callable[[Wait], bool], after: int, last: int, limit: int) -> Page:
    chosen: list[Wait] = []
    for seq in range(after + 1, last + 1):
        wait = state.waits.get(seq)
        if wait is not None and is_asked_for(wait):
            chosen.append(wait)
            if len(chosen) == limit:
                last = seq
                break
    return Page(chosen, last if last < state.next_seq - 1 else None)
