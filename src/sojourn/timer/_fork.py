"""What becomes of timers in a forked child.

A fork copies memory and one thread. A timer that a reaper thread or an event loop drives stands still in the child, for
ever and in silence, and so does whatever waits on it. So there it says so at once: every use is a `ForkedError`. One
that nothing drives yet, or that a clock moves by hand, is a copy like any other object, and works.
"""

from __future__ import annotations

import os
from typing import Any, NoReturn
from weakref import WeakSet

from ..errors import ForkedError

timers: WeakSet[Any] = WeakSet()
"""Every timer that can have a driver. What rests on timers comes after them."""
resting_on_timers: WeakSet[Any] = WeakSet()

_parents: list[int] = []
"""Of the process that is being forked, its own id."""


def refuse_in_child(what: str, parent_pid: int) -> NoReturn:
    raise ForkedError(
        f"{what} runs in process {parent_pid}, from which this one was forked, and not here: a fork copies no threads; "
        "make a new one in the child, after the fork"
    )


def _before() -> None:
    _parents[:] = [os.getpid()]


def _in_child() -> None:
    for left_behind in (*timers, *resting_on_timers):
        left_behind._leave_behind(*_parents)


if hasattr(os, "register_at_fork"):  # where processes can be forked at all
    os.register_at_fork(before=_before, after_in_child=_in_child)
