"""Operations and who watches what, in plain Python. `_core.pyx` is the same, in C.

An operation ends once: `_settle` is the one place where its outcome is set, and in the same step it leaves all its
keys and its timer. No lock is held while `try_complete` or a callback runs. Instead an operation knows which thread is
trying it: whoever else comes along meanwhile leaves word (`_again`) and goes on, and the thread that is at it tries
once more. So no signal is lost, nobody waits for anybody, and an operation's own code never runs in two threads at a
time.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from threading import get_ident
from typing import Literal, NoReturn, Self

from ..errors import PurgatoryClosedError
from ..timer._timer import Timer, TimerTask, lock
from ._keys import MIX, distinct

OutcomeName = Literal["completed", "expired", "cancelled"]


class DelayedOperation(TimerTask):
    """Something that waits for its condition, at most `delay_ms`. Subclasses say for what, and what follows.

    `try_complete` returns whether the condition holds (or what `force_complete` returned, as in Kafka). It is called
    whenever one of the operation's keys is signalled, never in two threads at a time, and may be called in vain.
    """

    __slots__ = ("_again", "_has_told", "_has_won", "_is_watched", "_keys", "_outcome", "_owner", "_watchers")

    _outcome: OutcomeName | None
    _owner: int | None
    _again: bool
    _has_won: bool
    _has_told: bool
    _is_watched: bool
    _keys: tuple[Hashable, ...]
    """They stay when it leaves, for people to read."""
    _watchers: Watchers | None

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        self = super().__new__(cls)
        self._outcome = self._owner = self._watchers = None
        self._again = self._has_won = self._has_told = self._is_watched = False
        self._keys = ()
        return self

    def __init__(self, delay_ms: int = 0) -> None:
        super().__init__(delay_ms)

    # What subclasses say

    def try_complete(self) -> bool:
        """Whether the condition holds now."""
        return False

    def on_complete(self) -> None:
        """It ended, by its condition or by its deadline. Runs once."""

    def on_expiration(self) -> None:
        """It ended by its deadline. Runs once, after `on_complete`."""

    def on_cancellation(self) -> None:
        """It was cancelled. Runs once, and neither of the others does."""

    # What users call

    @property
    def outcome(self) -> OutcomeName | None:
        """None while it is pending."""
        return self._outcome

    @property
    def is_completed(self) -> bool:
        """It has an outcome, whichever."""
        return self._outcome is not None

    @property
    def is_cancelled(self) -> bool:
        return self._outcome == "cancelled"

    def force_complete(self) -> bool:
        """Complete it now. True exactly for the caller that ended it."""
        return self._settle("completed")

    def cancel(self) -> bool:
        """End it as cancelled. True exactly for the caller that ended it."""
        return self._settle("cancelled")

    def run(self) -> None:
        """The deadline has come."""
        watchers = self._watchers
        try:
            self._settle("expired")
        except Exception as exception:
            if watchers is None:
                raise
            watchers._failed(self, exception)

    def __repr__(self) -> str:
        return f"<{type(self).__qualname__} {self._outcome or 'pending'} delay_ms={self.delay_ms} keys={self._keys}>"

    # Inside

    def _settle(self, outcome: OutcomeName) -> bool:
        """Leave pending for `outcome`. True only for the caller that moved it."""
        with lock:
            if self._outcome is not None:
                return False
            self._outcome = outcome
            self._note_outcome()
            if self._watchers is not None:
                self._watchers._leave(self)
            super().cancel()  # out of the timer
            is_tried_elsewhere = self._owner not in (None, get_ident())
            self._has_won = self._owner == get_ident()
        if not is_tried_elsewhere:
            self._tell()
        return True  # where another thread is trying it just now, that one tells

    def _note_outcome(self) -> None:
        """What a subclass of ours writes down in the same step."""

    def _tell(self) -> None:
        """Run what follows from the outcome, once."""
        with lock:
            if self._has_told:
                return
            self._has_told = True
        if self._outcome == "cancelled":
            self.on_cancellation()
            return
        try:
            self.on_complete()
        finally:
            if self._outcome == "expired":
                self.on_expiration()

    def _try(self) -> bool:
        """Try it, unless somebody else is at it, who then tries again. True if this call completed it."""
        with lock:
            if self._outcome is not None:
                return False
            if self._owner is not None:
                self._again = True
                return False
            self._owner = get_ident()
            watchers = self._watchers
        while True:
            failure = None
            try:
                if self.try_complete():
                    self._settle("completed")
            except BaseException as exception:
                failure = exception
            if not self._stays():
                break
            if failure is not None and watchers is not None:
                watchers._failed(self, failure)
        if self._outcome is not None:
            self._tell()  # nothing new, unless somebody else ended it meanwhile
        if failure is not None:
            raise failure
        return self._has_won and self._outcome == "completed"

    def _stays(self) -> bool:
        """After a try: whether to try again, because somebody left word; otherwise it is free."""
        with lock:
            if self._outcome is None and self._again:
                self._again = False
                return True
            self._again, self._owner = False, None
            return False


class Watchers:
    """Which operations watch which key. watch, leave: O(1) a key. Sharded, so that no table grows to stall the rest."""

    def __init__(self, timer: Timer, shards: int) -> None:
        self.timer = timer
        self._shards: list[dict[Hashable, dict[int, DelayedOperation]]] = [{} for _ in range(shards)]
        self._is_open = True
        self._watched = self._delayed = self._strays = 0
        self._completed = self._expired = self._cancelled = 0

    def try_complete_else_watch(self, operation: DelayedOperation, keys: Iterable[Hashable]) -> bool:
        """Try the operation; if its condition does not hold yet, watch the keys, try once more, and start its timer.

        True if this call completed it. What it raises meanwhile comes to the caller, and nothing is watched then.
        """
        watched = distinct(keys)
        self._admit(operation)
        try:
            if operation._try() or not self._watch(operation, watched) or operation._try():
                return operation._has_won and operation._outcome == "completed"
            self.timer.add(operation)
        except BaseException:
            self._abandon(operation)
            raise
        if operation._outcome is not None:  # ended while it was being put in the timer
            TimerTask.cancel(operation)
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

    def _has_strays(self) -> None:
        """Another entry is out of reach."""

    def _refuse(self) -> NoReturn:
        raise PurgatoryClosedError("this purgatory is closed")

    # Inside

    def _check(self, operation: DelayedOperation) -> bool:
        try:
            return operation._try()
        except Exception as exception:
            self._failed(operation, exception)
            return operation._has_won

    def _cancel(self, operation: DelayedOperation) -> bool:
        try:
            return operation.cancel()
        except Exception as exception:
            self._failed(operation, exception)
            return True

    def _watching(self, key: Hashable) -> tuple[DelayedOperation, ...]:
        with lock:
            return tuple(self._shard(key).get(key, {}).values())

    def _admit(self, operation: DelayedOperation) -> None:
        with lock:
            if not self._is_open:
                self._refuse()
            if operation._watchers is not None or operation._outcome is not None:
                raise ValueError(f"{operation!r} has been watched before; an operation waits once: make a new one")
            operation._watchers = self
            self._delayed += 1

    def _watch(self, operation: DelayedOperation, keys: tuple[Hashable, ...]) -> bool:
        """Put it on all lists in one step; False if it has ended."""
        with lock:
            if operation._outcome is not None:
                return False
            for key in keys:
                self._shard(key).setdefault(key, {})[id(operation)] = operation
            operation._keys, operation._is_watched = keys, True
            self._watched += len(keys)
            return True

    def _leave(self, operation: DelayedOperation) -> None:
        """Take an operation that has its outcome off all its lists."""
        self._unwatch(operation)
        self._completed += operation._outcome == "completed"
        self._expired += operation._outcome == "expired"
        self._cancelled += operation._outcome == "cancelled"

    def _unwatch(self, operation: DelayedOperation) -> None:
        for key in operation._keys if operation._is_watched else ():
            shard = self._shard(key)
            watching = shard.get(key, {})
            if watching.pop(id(operation), None) is None:
                self._strays += 1  # the key has changed since: only a purge finds this entry
                self._has_strays()
            elif not watching:
                del shard[key]
            self._watched -= 1
        self._delayed -= 1
        operation._is_watched, operation._watchers = False, None

    def _purge(self) -> int:
        """Walk all lists for operations that have left; return how many entries that dropped."""
        with lock:
            dropped = 0
            for i, shard in enumerate(self._shards):
                for watching in shard.values():
                    gone = [place for place, operation in watching.items() if operation._watchers is not self]
                    dropped += len(gone)
                    for place in gone:
                        del watching[place]
                self._shards[i] = {key: watching for key, watching in shard.items() if watching}
            self._strays = 0
            return dropped

    def _abandon(self, operation: DelayedOperation) -> None:
        """Its own code failed on the way in: forget it, unless it has ended."""
        with lock:
            if operation._watchers is self:
                self._unwatch(operation)

    def _ended_counts(self) -> tuple[int, int, int]:
        return self._completed, self._expired, self._cancelled

    def _take_all(self) -> list[DelayedOperation]:
        """Close the door, and hand out whatever is pending."""
        with lock:
            self._is_open = False
            pending = {id(operation): operation for operation in self._entries() if operation._watchers is self}
            for operation in pending.values():
                self._unwatch(operation)
                TimerTask.cancel(operation)
            return list(pending.values())

    def _entries(self) -> list[DelayedOperation]:
        with lock:
            return [
                operation for shard in self._shards for watching in shard.values() for operation in watching.values()
            ]

    def _shard(self, key: Hashable) -> dict[Hashable, dict[int, DelayedOperation]]:
        # By the upper bits of a mixed hash: a shard's own table goes by the lower ones, and would fill unevenly.
        return self._shards[(hash(key) * MIX >> 32) % len(self._shards)]

    def _check_all(self) -> None:
        """Prove the invariants."""
        with lock:
            entries = self._entries()
            assert len(entries) == self._watched + self._strays, "watched is exact"
            assert sum(operation._watchers is not self for operation in entries) == self._strays, "none ended"
            assert len(set(map(id, entries))) <= self._delayed, "delayed counts them"
            assert all(watching for shard in self._shards for watching in shard.values()), "no key without a watcher"
