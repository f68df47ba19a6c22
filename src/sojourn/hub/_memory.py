"""Signals that came before their wait: kept for a while, and no more than so many."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from ..errors import RuleError
from ..rules import Event

if TYPE_CHECKING:
    from ._wait import Wait


class Memory:
    """The signals of the last `keep_ms`, at most `most` of them, the oldest going first. keep: O(1) amortised.

    Not thread-safe: the hub holds its lock.
    """

    def __init__(self, keep_ms: int, most: int) -> None:
        self.keep_ms = keep_ms
        self._most = most
        self._events: deque[Event] = deque()
        self._by_key: dict[Hashable, deque[Event]] = {}
        self._passed_over: deque[tuple[Wait, RuleError]] = deque()

    def __len__(self) -> int:
        return len(self._events)

    def keep(self, event: Event) -> None:
        self._forget(event.at)
        self._by_key.setdefault(event.key, deque()).append(event)
        self._events.append(event)
        if len(self._events) > self._most:
            self._drop_oldest()

    def recall(self, keys: Iterable[Hashable], now_ms: int, wait: Wait) -> list[Event]:
        """What a wait on these keys has missed, in the order of time. What its plan cannot use is passed over."""
        self._forget(now_ms)
        kept = [event for key in keys for event in self._by_key.get(key, ())]
        return [event for event in sorted(kept, key=lambda event: event.at) if self._is_for(wait, event)]

    def passed_over(self) -> Iterator[tuple[Wait, RuleError]]:
        """Signals that waits could not use, each once: it is too late to tell those who signalled. From any thread."""
        with suppress(IndexError):
            while True:
                yield self._passed_over.popleft()

    def _is_for(self, wait: Wait, event: Event) -> bool:
        try:
            return wait._plan.takes(event)
        except RuleError as error:
            self._passed_over.append((wait, error))
            return False

    def _forget(self, now_ms: int) -> None:
        while self._events and self._events[0].at < now_ms - self.keep_ms:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        key = self._events.popleft().key
        of_key = self._by_key[key]
        of_key.popleft()
        if not of_key:
            del self._by_key[key]
