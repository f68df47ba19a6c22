"""A table of keys that people chose, whose own code must not run while a lock is held."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Entry(Generic[T]):
    """A key with the hash that it had when it came, and what belongs to it."""

    __slots__ = ("hash", "key", "value")

    def __init__(self, key: Hashable, hashed: int, value: T) -> None:
        self.key, self.hash, self.value = key, hashed, value


class Look(NamedTuple, Generic[T]):
    """What was found when somebody looked for a key: its entry, and all entries of keys with the same hash."""

    key: Hashable
    hash: int
    entries: tuple[Entry[T], ...]
    entry: Entry[T] | None


class KeyTable(Generic[T]):
    """Values by key, like a dict, except that looking for a key and using what was found are two steps.

    `look` hashes and compares keys, which may run anybody's code, so no lock is held then. The other methods run none:
    call them with the lock held, and only if the look still `stands`; otherwise look again. O(1) each.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[Entry[T], ...]] = {}  # by hash: nearly always one key

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def entries(self) -> list[Entry[T]]:
        return [entry for entries in self._entries.values() for entry in entries]

    def look(self, key: Hashable) -> Look[T]:
        hashed = hash(key)
        entries = self._entries.get(hashed, ())
        for entry in entries:
            if entry.key is key or entry.key == key:
                return Look(key, hashed, entries, entry)
        return Look(key, hashed, entries, None)

    def stands(self, look: Look[T]) -> bool:
        """Whether no key with that hash has come or gone since."""
        return self._entries.get(look.hash, ()) is look.entries

    def put(self, look: Look[T], value: T) -> Entry[T]:
        """The key has this value from now on, in an entry of its own."""
        entry = Entry(look.key, look.hash, value)
        self._entries[look.hash] = (*without(look.entry, look.entries), entry)
        return entry

    def drop(self, entry: Entry[T]) -> None:
        """Forget an entry, unless another one has taken its place already."""
        entries = self._entries.get(entry.hash, ())
        left = without(entry, entries)
        if left:
            self._entries[entry.hash] = left
        elif entries:
            del self._entries[entry.hash]


def without(entry: Entry[T] | None, entries: tuple[Entry[T], ...]) -> tuple[Entry[T], ...]:
    if entries == () or (len(entries) == 1 and entries[0] is entry):  # nearly always
        return ()
    return tuple(other for other in entries if other is not entry)
