"""The ids that people gave their waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._wait import Wait


class Ids:
    """Waits by id: while they are pending and, if there is a `keep_ms`, for so long after their end.

    Not thread-safe: the hub holds its lock. get, put: O(1); what is forgotten goes when other waits end.
    """

    def __init__(self, keep_ms: int | None) -> None:
        self._keep_ms = keep_ms
        self._waits: dict[Hashable, Wait] = {}
        self._ended: deque[Wait] = deque()

    def __len__(self) -> int:
        return len(self._waits)

    def get(self, wait_id: Hashable, now_ms: int) -> Wait | None:
        wait = self._waits.get(wait_id)
        return None if wait is None or self._is_forgotten(wait, now_ms) else wait

    def put(self, wait: Wait) -> None:
        self._waits[wait.id] = wait

    def has_ended(self, wait: Wait, now_ms: int) -> None:
        """Called once for each wait; another one may have its id by now."""
        self._ended.append(wait)
        while self._ended and self._is_forgotten(self._ended[0], now_ms):
            gone = self._ended.popleft()
            if self._waits.get(gone.id) is gone:
                del self._waits[gone.id]

    def _is_forgotten(self, wait: Wait, now_ms: int) -> bool:
        if wait.at is None:
            return False
        return self._keep_ms is None or wait.at < now_ms - self._keep_ms
