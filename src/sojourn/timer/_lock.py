"""The lock of all timers, purgatories and hubs, in plain Python. The compiled core has the GIL instead."""

from __future__ import annotations

import gc
import os
import sys
import threading
from functools import partial


class CollectorPausingLock:
    """A reentrant lock that keeps the garbage collector from starting while it is held."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._was_enabled: list[bool] = []

    def __enter__(self) -> None:
        self._lock.acquire()
        self._was_enabled.append(gc.isenabled())
        gc.disable()

    def __exit__(self, *exc_info: object) -> None:
        if self._was_enabled.pop():
            gc.enable()
        self._lock.release()


undisturbed = CollectorPausingLock()
"""Held, inside `lock`, where a task is out of its bucket for a moment: no finaliser may come across it there."""

lock = threading.RLock() if sys.version_info < (3, 12) else CollectorPausingLock()
"""One lock for all timers, so that a task can move from one timer to another. It is held for a few steps at a time.

Reentrant, because a garbage collection inside may run a finaliser that cancels a task. Up to Python 3.11 one starts
only where something is allocated, and nothing here allocates while a list is half changed; since 3.12 it may start at
any call. The handler of a signal may interrupt anywhere: let it set a flag, not call a timer of this build.

It is held across a fork, so that a child is never born with a list half changed, or a lock that nobody will let go of.
"""

if hasattr(os, "register_at_fork"):
    let_go = partial(lock.__exit__, None, None, None)
    os.register_at_fork(before=lock.__enter__, after_in_parent=let_go, after_in_child=let_go)
