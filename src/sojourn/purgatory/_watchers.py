"""Who watches what, in plain Python. `_core.pyx` is the same, in C.

A key is hashed once, when an operation comes to watch it, and compared before anything is changed, with no lock held.
From then on an operation knows its places: whatever becomes of a key, leaving it needs none of the key's own code.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple, NoReturn

from ..errors import PurgatoryClosedError, SojournError
from ..timer._lock import lock
from ..timer._state import whole_ms
from ..timer._task import TimerTask
from ..timer._timer import Timer
from ._keys import MIX, distinct, not_an_operation
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
    """Which operations watch which key. watch, leave: O(1) per key. Sharded, so that no large table stalls the rest."""

    _timer_kind = Timer

    def __init__(self, timer: Timer, shards: int) -> None:
        self.timer = timer
        self._shards: list[dict[int, Places]] = [{} for _ in range(shards)]  # by the keys' hashes
        self._is_untimed = False
        self._is_open = True
        self._watched = self._delayed = 0
        self._completed = self._expired = self._cancelled = 0

    def try_complete_else_watch(self, operation: DelayedOperation, keys: Iterable[Hashable]) -> bool:
        """Try the operation; if its condition does not hold yet, watch the keys, try once more, and start its timer.

        True if this call completed it. What it raises meanwhile comes to the caller, and nothing is watched then. One
        that has ended before it came here is not watched.
        """
        if not isinstance(operation, DelayedOperation):
            raise not_an_operation(operation)
        watched = distinct(keys)
        if not self._admit(operation):
            return False
        try:
            if operation._try():
                return True
            if self._watch(operation, watched):
                if operation._try():
                    return True
                self._start(operation)
                if operation._again and operation._try():  # word came during the second try, and the timer runs by now
                    return True
        except BaseException:
            self._abandon(operation)
            raise
        if operation._again and not self._is_seen_to(operation):
            return self._check(operation)
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

    def _check_process(self) -> None:
        """Raise if this is a forked child, and whatever is here waits in its parent."""

    def _refuse(self) -> NoReturn:
        raise PurgatoryClosedError("this purgatory is closed")

    # Inside

    def _check(self, operation: DelayedOperation) -> bool:
        while True:
            completed, failure = operation._attempt(self, 2)
            is_done = not operation._again or self._is_seen_to(operation)
            if failure is not None:
                if not isinstance(failure, Exception):
                    raise failure
                self._failed(operation, failure)
            if is_done:
                return completed

    def _is_seen_to(self, operation: DelayedOperation) -> bool:
        """Word was left during our last try: whoever signals next tries it again, or else the timer does."""
        with lock:
            if not operation._again or operation._owner is not None or operation._watchers is not self:
                return True  # somebody has tried it since, or is at it
            if operation._is_owed and self.timer._is_open:
                return True
            operation._is_owed = True
        try:
            self.timer.schedule(0, self._try_owed, operation)
        except SojournError:  # it is closed, or dead
            operation._is_owed = False
            return False
        return True

    def _try_owed(self, operation: DelayedOperation) -> bool:
        """What the timer does about it; True if that completed it."""
        operation._is_owed = False
        return operation._again and self._check(operation)

    def _cancel(self, operation: DelayedOperation) -> bool:
        try:
            return operation.cancel()
        except Exception as exception:
            self._failed(operation, exception)
            return True

    def _watching(self, key: Hashable) -> tuple[DelayedOperation, ...]:
        if not self._is_open:
            self._check_process()
        place = place_of(key, self._places_at(hash(key)))
        if place is None:
            return ()
        with lock:
            return tuple(place.operations.values())

    # How an operation comes, enters and leaves

    def _admit(self, operation: DelayedOperation) -> bool:
        """Make it ours; False if it has ended already, as one may that somebody cancels before it comes."""
        with lock:
            if not self._is_open:
                self._refuse()
            if operation._watchers is not None or operation._has_waited:
                raise ValueError(f"{operation!r} has been watched before; an operation waits once: make a new one")
            if operation._outcome is not None:
                return False
            operation._watchers = self
            self._delayed += 1
            return True

    def _watch(self, operation: DelayedOperation, keys: Keys) -> bool:
        """Put it on all lists in one step; False if it has ended."""
        own = [Place(key) for key in keys]
        while True:
            look = self._look(own)
            with lock:
                stands = self._stands(look)  # first, as a garbage collection in there may end the operation
                if operation._watchers is not self:
                    return False
                if not self._is_open:
                    self._refuse()
                if stands:
                    return self._enter(operation, keys, look.places, look.after)
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

    def _enter(self, operation: DelayedOperation, keys: Keys, places: Places, after: dict[int, Places]) -> bool:
        """The books first, then the lists. False if a garbage collection in the midst of that has ended it."""
        operation._keys, operation._places = keys, places
        self._watched += len(places)
        for hashed, sharing in after.items():
            self._shard(hashed)[hashed] = sharing
        for place in places:
            place.operations[id(operation)] = operation
        if operation._watchers is not self:
            self._drop_all(places, operation)
            return False
        return True

    def _start(self, operation: DelayedOperation) -> None:
        """Put it in the timer, unless it has left in the meantime."""
        if self._is_untimed:
            return
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
        operation._has_waited = True
        self._unwatch(operation)
        self._completed += operation._outcome == "completed"
        self._expired += operation._outcome == "expired"
        self._cancelled += operation._outcome == "cancelled"

    def _unwatch(self, operation: DelayedOperation) -> None:
        """It is no longer ours: off all its lists. As in `_enter`, the books first."""
        places, operation._places, operation._watchers = operation._places, (), None
        self._watched -= len(places)
        self._delayed -= 1
        try:
            self._drop_all(places, operation)
        except BaseException:  # Ctrl-C: the lists first, or nobody would ever find what is left on them
            self._drop_all(places, operation)
            raise

    def _drop_all(self, places: Places, operation: DelayedOperation) -> None:
        for place in places:
            self._drop(place, operation)

    def _drop(self, place: Place, operation: DelayedOperation) -> None:
        """Idempotent: what an interrupt leaves half done is done again from the start."""
        place.operations.pop(id(operation), None)
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
            assert len(entries) == self._watched, "watched is exact"
            assert len(set(map(id, entries))) <= self._delayed, "delayed counts them"
            assert all(operation._watchers is self and operation._outcome is None for operation in entries), (
                "none ended"
            )
            for place in self._all_places():
                assert place.operations, "no key without a watcher"
                assert place in self._places_at(place.hash), "every key is where its hash says"
