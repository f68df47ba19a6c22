"""Signals that came before their wait: kept for a while, and only so many."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from ..rules import Event
from ._table import Entry, KeyTable, Look

if TYPE_CHECKING:
    from ._wait import Wait

Kept = deque[Event]


class Memory:
    """The signals of the last `keep_ms`, at most `most` of them; the oldest go first. keep: O(1) amortised.

    Not thread-safe: apart from `look`, which runs the keys' own code, the hub holds its lock.
    """

    def __init__(self, keep_ms: int, most: int) -> None:
        self.keep_ms = keep_ms
        self._most = most
        self._by_key: KeyTable[Kept] = KeyTable()
        self._entries: deque[Entry[Kept]] = deque()
        """Of every signal kept, the entry of its key; oldest first."""
        self._passed_over: deque[tuple[Wait, Event, str]] = deque()
        self.look, self.stands = self._by_key.look, self._by_key.stands

    def __len__(self) -> int:
        return len(self._entries)

    def keep(self, event: Event, look: Look[Kept]) -> None:
        """Keep a signal whose key was looked for. First in, then out: its key's entry must not go in between."""
        entry = look.entry or self._by_key.put(look, deque())
        entry.value.append(event)
        self._entries.append(entry)
        self._forget(event.at)
        if len(self._entries) > self._most:
            self._drop_oldest()

    def recall(self, looks: Iterable[Look[Kept]], now_ms: int, wait: Wait) -> list[Event]:
        """What a wait on these keys has missed, in the order of time. What its plan cannot use is passed over."""
        self._forget(now_ms)
        kept = [event for look in looks if look.entry is not None for event in look.entry.value]
        return [event for event in sorted(kept, key=lambda event: event.at) if self._is_for(wait, event)]

    def passed_over(self) -> Iterator[tuple[Wait, Event, str]]:
        """Signals that waits could not use, and why, each once. From any thread.

        Nobody waited when they came, so whoever signalled was not told.
        """
        with suppress(IndexError):
            while True:
                yield self._passed_over.popleft()

    def _is_for(self, wait: Wait, event: Event) -> bool:
        if event.kind not in wait._plan.kinds:
            return False
        reason = wait._plan.refusal(event)
        if reason is not None:
            self._passed_over.append((wait, event, reason))
        return reason is None

    def _forget(self, now_ms: int) -> None:
        while self._entries and self._entries[0].value[0].at < now_ms - self.keep_ms:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        entry = self._entries.popleft()
        entry.value.popleft()
        if not entry.value:
            self._by_key.drop(entry)
