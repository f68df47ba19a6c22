"""Signals that came before their wait: kept for a while, and no more than so many."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from ..rules import Event

if TYPE_CHECKING:
    from ._plan import Plan


class Memory:
    """The signals of the last `keep_ms`, at most `most` of them, the oldest going first. keep: O(1) amortised."""

    def __init__(self, keep_ms: int, most: int) -> None:
        self.keep_ms = keep_ms
        self._most = most
        self._events: deque[Event] = deque()
        self._by_key: dict[Hashable, deque[Event]] = {}

    def __len__(self) -> int:
        return len(self._events)

    def keep(self, event: Event) -> None:
        self._forget(event.at)
        self._events.append(event)
        self._by_key.setdefault(event.key, deque()).append(event)
        if len(self._events) > self._most:
            self._drop_oldest()

    def recall(self, keys: Iterable[Hashable], opened_at: int, plan: Plan) -> list[Event]:
        """What a wait on these keys missed. It counts as if it came with the wait: it is stamped like its opening."""
        self._forget(opened_at)
        found = [event for key in keys for event in self._by_key.get(key, ()) if event.kind in plan.kinds]
        return [event._replace(at=opened_at) for event in sorted(found, key=lambda event: event.at)]

    def _forget(self, now_ms: int) -> None:
        while self._events and self._events[0].at < now_ms - self.keep_ms:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        key = self._events.popleft().key
        of_key = self._by_key[key]
        of_key.popleft()
        if not of_key:
            del self._by_key[key]
