"""Who watches what, in plain Python. `_core.pyx` is the same, in C.

A key is hashed once, when an operation comes to watch it, and compared before anything is changed, with no lock held.
From then on an operation knows its places: whatever becomes of a key, leaving it needs none of the key's own code.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple, NoReturn

from ..errors import PurgatoryClosedError
from ..timer._state import whole_ms
from ..timer._timer import Timer, TimerTask, lock
from ._keys import MIX, distinct
from ._operation import DelayedOperation

Keys = tuple[Hashable, ...]
Places = tuple["Place", ...]


class Place:
    """A key that is watched, with the hash it had, and who watches it in the order they came."""

    __slots__ = ("hash", "key", "operations")

    def __init__(self, key: Hashable) -> None:
        self.key, self.hash = key, hash(key)
        self.operations: dict[int, DelayedOperation] = {}


class Look(NamedTuple):
    """Where an operation will be listed: the places of its keys, and those with the same hashes, before and after."""

    before: dict[int, Places]
    places: Places
    after: dict[int, Places]


def place_of(key: Hashable, places: Places) -> Place | None:
    """Which of these is the key's. Runs the keys' own code."""
    for place in places:
        if place.key is key or place.key == key:
            return place
    return None


class Watchers:
    """Which operations watch which key. watch, leave: O(1) a key. Sharded, so that no table grows to stall the rest."""

    def __init__(self, timer: Timer, shards: int) -> None:
        self.timer = timer
        self._shards: list[dict[int, Places]] = [{} for _ in range(shards)]  # by the keys' hashes
        self._is_open = True
        self._watched = self._listed = self._delayed = 0
        self._completed = self._expired = self._cancelled = 0

    def try_complete_else_watch(self, operation: DelayedOperation, keys: Iterable[Hashable]) -> bool:
        """Try the operation; if its condition does not hold yet, watch the keys, try once more, and start its timer.

        True if this call completed it. What it raises meanwhile comes to the caller, and nothing is watched then.
        """
        watched = distinct(keys)
        self._admit(operation)
        try:
            if operation._try():
                return True
            if self._watch(operation, watched):
                if operation._try():
                    return True
                self._start(operation)
        except BaseException:
            self._abandon(operation)
            raise
        return False

    def check_and_complete(self, key: Hashable) -> int:
        """Try every operation that watches the key, in the order they came; return how many this call completed."""
        return sum(self._check(operation) for operation in self._watching(key))

    def cancel_for_key(self, key: Hashable) -> list[DelayedOperation]:
        """End every operation that watches the key as cancelled; return those that this call ended."""
        return [operation for operation in self._watching(key) if self._cancel(operation)]

    @property
    def watched(self) -> int:
        """Operations on watch lists, counted once for each key. Exact, O(1)."""
        return self._watched

    @property
    def delayed(self) -> int:
        """Operations pending. Exact, O(1)."""
        return self._delayed

    # What the purgatory says for itself

    def _failed(self, operation: DelayedOperation, exception: BaseException) -> None:
        raise exception

    def _has_strays(self, strays: int) -> None:
        """So many entries belong to nobody."""

    def _refuse(self) -> NoReturn:
        raise PurgatoryClosedError("this purgatory is closed")

    # Inside

    def _check(self, operation: DelayedOperation) -> bool:
        completed, failure = operation._attempt(self)
        if failure is not None:
            if not isinstance(failure, Exception):
                raise failure
            self._failed(operation, failure)
        return completed

    def _cancel(self, operation: DelayedOperation) -> bool:
        try:
            return operation.cancel()
        except Exception as exception:
            self._failed(operation, exception)
            return True

    def _watching(self, key: Hashable) -> tuple[DelayedOperation, ...]:
        place = place_of(key, self._places_at(hash(key)))
        if place is None:
            return ()
        with lock:
            return tuple(place.operations.values())

    # How an operation comes, enters and leaves

    def _admit(self, operation: DelayedOperation) -> None:
        with lock:
            if not self._is_open:
                self._refuse()
            if operation._watchers is not None or operation._outcome is not None:
                raise ValueError(f"{operation!r} has been watched before; an operation waits once: make a new one")
            operation._watchers = self
            self._delayed += 1
            if self._listed > self._watched:
                self._has_strays(self._listed - self._watched)

    def _watch(self, operation: DelayedOperation, keys: Keys) -> bool:
        """Put it on all lists in one step; False if it has ended."""
        own = [Place(key) for key in keys]
        while True:
            look = self._look(own)
            with lock:
                if operation._watchers is not self:
                    return False
                if not self._is_open:
                    self._refuse()
                if self._stands(look):
                    self._enter(operation, keys, look.places, look.after)
                    return True
            # others came or went while the keys were compared: look again

    def _look(self, own: Iterable[Place]) -> Look:
        """Which places these keys have or would have. Runs the keys' own code."""
        before = {place.hash: self._places_at(place.hash) for place in own}
        places: Places = ()
        after = before.copy()
        for place in own:
            found = place_of(place.key, before[place.hash])
            places += (found or place,)
            if found is None:
                after[place.hash] += (place,)
        return Look(before, places, after)

    def _stands(self, look: Look) -> bool:
        """Whether no key has come or gone since, where these keys are."""
        return all(self._places_at(hashed) is seen for hashed, seen in look.before.items())

    def _enter(self, operation: DelayedOperation, keys: Keys, places: Places, after: dict[int, Places]) -> None:
        """The books first, then the lists: what comes between the two leaves an entry that a purge finds."""
        operation._keys, operation._places = keys, places
        self._watched += len(places)
        for hashed, sharing in after.items():
            self._shard(hashed)[hashed] = sharing
        for place in places:
            place.operations[id(operation)] = operation
            self._listed += 1

    def _start(self, operation: DelayedOperation) -> None:
        """Put it in the timer, unless it has left in the meantime."""
        delay_ms = whole_ms(operation.delay_ms)
        now_ns = self.timer._now_for(delay_ms)
        with lock:
            if operation._watchers is not self:
                return
            wake = self.timer._put_all((operation,), (delay_ms,), now_ns)
            if operation._watchers is not self:
                TimerTask.cancel(operation)  # a garbage collection in the midst of that has ended it
        if wake:
            self.timer._wake()

    def _leave(self, operation: DelayedOperation) -> None:
        """It has its outcome: count that, and take it off all its lists."""
        self._unwatch(operation)
        self._completed += operation._outcome == "completed"
        self._expired += operation._outcome == "expired"
        self._cancelled += operation._outcome == "cancelled"

    def _unwatch(self, operation: DelayedOperation) -> None:
        """It is no longer ours: off all its lists. As in `_enter`, the books first."""
        places, operation._places, operation._watchers = operation._places, (), None
        self._watched -= len(places)
        self._delayed -= 1
        for place in places:
            self._drop(place, operation)

    def _drop(self, place: Place, operation: DelayedOperation) -> None:
        if place.operations.pop(id(operation), None) is not None:
            self._listed -= 1
        sharing = self._places_at(place.hash)
        if place.operations or place not in sharing:
            return
        if len(sharing) == 1:
            del self._shard(place.hash)[place.hash]
        else:
            self._shard(place.hash)[place.hash] = tuple(other for other in sharing if other is not place)

    def _abandon(self, operation: DelayedOperation) -> None:
        """It failed on the way in: forget it, unless it has ended."""
        with lock:
            if operation._watchers is self:
                self._unwatch(operation)
                TimerTask.cancel(operation)

    def _take_all(self) -> list[DelayedOperation]:
        """Close the door, and hand out whatever is pending."""
        with lock:
            self._is_open = False
            left = []
            for operation in self._entries():
                if operation._watchers is self:
                    self._unwatch(operation)
                    TimerTask.cancel(operation)
                    left.append(operation)
            return left

    def _purge(self) -> int:
        """Drop the entries of operations that have left; return how many."""
        with lock:
            strays = [
                (place, operation)
                for place in self._all_places()
                for operation in place.operations.values()
                if operation._watchers is not self
            ]
            for place, operation in strays:
                self._drop(place, operation)
            return len(strays)

    def _ended_counts(self) -> tuple[int, int, int]:
        return self._completed, self._expired, self._cancelled

    def _entries(self) -> list[DelayedOperation]:
        with lock:
            return [operation for place in self._all_places() for operation in place.operations.values()]

    def _all_places(self) -> list[Place]:
        return [place for shard in self._shards for places in shard.values() for place in places]

    def _places_at(self, hashed: int) -> Places:
        """The places of the keys with this hash: nearly always one, or none."""
        return self._shard(hashed).get(hashed, ())

    def _shard(self, hashed: int) -> dict[int, Places]:
        # By the upper bits of a mixed hash: a shard's own table goes by the lower ones, and would fill unevenly.
        return self._shards[(hashed * MIX >> 32) % len(self._shards)]

    def _check_all(self) -> None:
        """Prove the invariants."""
        with lock:
            entries = self._entries()
            pending = [operation for operation in entries if operation._watchers is self]
            assert len(entries) == self._listed, "every entry is counted"
            assert len(pending) == self._watched, "watched is exact"
            assert len(set(map(id, pending))) <= self._delayed, "delayed counts them"
            assert all(operation._outcome is None for operation in pending), "none ended"
            for place in self._all_places():
                assert place.operations, "no key without a watcher"
                assert place in self._places_at(place.hash), "every key is where its hash says"
