"""One thread at a time inside the cluster, and what it leaves for the end of its turn.

Kafka's brokers must not check a purgatory while they hold a lock that some operation needs, so they keep such checks in
an action queue until the request at hand is done. So do we: whatever runs code that is not our own (a purgatory's
operations, a client's callback) is left for the end of the turn, when the lock has been released.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any


class Turns:
    """`with turns:` is a turn; turns nest. `later(action, *args)` runs when the outermost is over, in order."""

    def __init__(self, on_error: Callable[[BaseException], object]) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._actions: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._acting: set[int] = set()
        self._on_error = on_error

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1

    def __exit__(self, *exc_info: object) -> None:
        self._depth -= 1
        is_over = self._depth == 0
        self._lock.release()
        if is_over and self._actions:
            self._act()

    def later(self, action: Callable[..., object], *args: Any) -> None:
        """Run it at the end of the turn. To be called inside one."""
        self._actions.append((action, args))

    def _act(self) -> None:
        """Run what is queued. A turn taken by an action adds to the queue of the one that runs it: no recursion."""
        thread = threading.get_ident()
        if thread in self._acting:
            return
        self._acting.add(thread)
        try:
            while self._actions:
                self._act_once()
        finally:
            self._acting.discard(thread)

    def _act_once(self) -> None:
        try:
            action, args = self._actions.popleft()
        except IndexError:
            return  # another thread was quicker
        try:
            action(*args)
        except Exception as exception:
            self._on_error(exception)
