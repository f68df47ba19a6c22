# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False, embedsignature=True
"""Operations and who watches what, compiled: what `_operation.py` says, with the GIL for a lock. Read that one first.

* A step is atomic as long as it runs no Python code. Text, numbers, bytes and tuples of these are compared in C; any
  other key may bring a `__hash__` and `__eq__` of its own, so those are kept apart, behind a lock.
* A key that only one operation watches has no list: its place in the table holds the operation itself.
"""

cimport cython
from cpython.dict cimport PyDict_DelItem, PyDict_GetItemWithError, PyDict_SetItem
from cpython.object cimport PyObject_Hash
from cpython.pythread cimport PyThread_get_thread_ident
from cpython.ref cimport Py_DECREF, PyObject

from sojourn.timer._core cimport CANCELLED as TASK_CANCELLED

from threading import RLock

from ..errors import PurgatoryClosedError
from ._keys import MIX as _MIX
from ._keys import distinct

cdef tuple NAMES = (None, "completed", "expired", "cancelled")
cdef uint64_t MIX = _MIX


@cython.no_gc
cdef class DelayedOperation(TimerTask):
    """Something that waits for its condition, at most `delay_ms`. Subclasses say for what, and what follows.

    `try_complete` returns whether the condition holds (or what `force_complete` returned, as in Kafka). It is called
    whenever one of the operation's keys is signalled, never in two threads at a time, and may be called in vain.
    """

    def __init__(self, delay_ms=0):
        TimerTask.__init__(self, delay_ms)

    # What subclasses say

    def try_complete(self):
        """Whether the condition holds now."""
        return False

    def on_complete(self):
        """It ended, by its condition or by its deadline. Runs once."""

    def on_expiration(self):
        """It ended by its deadline. Runs once, after `on_complete`."""

    def on_cancellation(self):
        """It was cancelled. Runs once, and neither of the others does."""

    # What users call

    @property
    def outcome(self):
        """None while it is pending."""
        return NAMES[self.ended]

    @property
    def is_completed(self):
        """It has an outcome, whichever."""
        return self.ended != PENDING

    @property
    def is_cancelled(self):
        return self.ended == CANCELLED

    def force_complete(self):
        """Complete it now. True exactly for the caller that ended it."""
        return self.settle(COMPLETED)

    def cancel(self):
        """End it as cancelled. True exactly for the caller that ended it."""
        return self.settle(CANCELLED)

    def run(self):
        """The deadline has come."""
        watchers = <object>self.watchers if self.watchers != NULL else None
        try:
            self.settle(EXPIRED)
        except Exception as exception:
            if watchers is None:
                raise
            watchers._failed(self, exception)

    def __repr__(self):
        state = self.outcome or "pending"
        keys = (self.keys,) if self.has_one_key else self.keys or ()
        return f"<{type(self).__qualname__} {state} delay_ms={self.delay_ms} keys={keys}>"

    def _try(self):
        return self.try_it()

    # Inside

    cdef bint settle(self, uint8_t outcome) except -1:
        """Leave pending for `outcome`. True only for the caller that moved it."""
        cdef unsigned long me = PyThread_get_thread_ident()
        cdef bint is_tried_elsewhere
        if self.ended:
            return False
        self.ended = outcome
        if self.watchers != NULL:
            (<Watchers>self.watchers).leave(self)
        self.leave_timer()
        is_tried_elsewhere = self.owner != 0 and self.owner != me
        self.has_won = self.owner == me
        if not is_tried_elsewhere:
            self.tell()
        return True             # where another thread is trying it just now, that one tells

    cdef int leave_timer(self) except -1:
        if self.timer != NULL:
            (<Timer>self.timer).leave(&self.entry, TASK_CANCELLED)
            self.timer = NULL
            Py_DECREF(self)     # the timer's reference; the caller has its own
        return 0

    cdef int tell(self) except -1:
        """Run what follows from the outcome, once."""
        if self.has_told:
            return 0
        self.has_told = True
        if self.ended == CANCELLED:
            self.on_cancellation()
            return 0
        if self.ended == COMPLETED:
            self.on_complete()
            return 0
        try:
            self.on_complete()
        finally:
            self.on_expiration()
        return 0

    cdef bint try_it(self) except -1:
        """Try it, unless somebody else is at it, who then tries again. True if this call completed it."""
        if self.ended:
            return False
        if self.owner != 0:
            self.again = True
            return False
        self.owner = PyThread_get_thread_ident()
        watchers = <object>self.watchers if self.watchers != NULL else None
        while True:
            failure = None
            try:
                if self.try_complete():
                    self.settle(COMPLETED)
            except BaseException as exception:
                failure = exception
            if self.ended or not self.again:
                break
            self.again = False  # somebody left word
            if failure is not None and watchers is not None:
                watchers._failed(self, failure)
        self.again = False
        self.owner = 0
        if self.ended and not self.has_told:
            self.tell()         # somebody else ended it meanwhile
        if failure is not None:
            raise failure
        return self.has_won and self.ended == COMPLETED


cdef class Watchers:
    """Which operations watch which key. watch, leave: O(1) a key. Sharded, so that no table grows to stall the rest."""

    def __init__(self, Timer timer not None, shards):
        self.timer = timer
        self.shards = [{} for _ in range(shards)]
        self.odd = {}
        self.lock = RLock()
        self.spares = []
        self._is_open = True

    def __dealloc__(self):
        cdef DelayedOperation operation
        if self.shards is not None:
            for operation in self.entries():
                operation.watchers = NULL
                operation.is_watched = False

    def try_complete_else_watch(self, DelayedOperation operation not None, keys):
        """Try the operation; if its condition does not hold yet, watch the keys, try once more, and start its timer.

        True if this call completed it. What it raises meanwhile comes to the caller, and nothing is watched then.
        """
        cdef bint is_one = (type(keys) is list or type(keys) is tuple) and len(keys) == 1
        watched = keys[0] if is_one else distinct(keys)
        self.admit(operation)
        try:
            if operation.try_it() or not self.watch(operation, watched, is_one) or operation.try_it():
                return operation.has_won and operation.ended == COMPLETED
            self.timer.add(operation)
        except BaseException:
            if operation.watchers == <PyObject*>self:
                self.unwatch(operation)
            raise
        if operation.ended:     # while it was being put in the timer
            operation.leave_timer()
        return False

    def check_and_complete(self, key):
        """Try every operation that watches the key, in the order they came; return how many this call completed."""
        cdef int64_t count = 0
        watching = self.watching(key)
        if watching is None:
            return 0
        if isinstance(watching, DelayedOperation):
            return int(self.check(<DelayedOperation>watching))
        for operation in <list>watching:
            count += self.check(<DelayedOperation>operation)
        return count

    def cancel_for_key(self, key):
        """End every operation that watches the key as cancelled; return those that this call ended."""
        watching = self.watching(key)
        if watching is None:
            return []
        operations = [watching] if isinstance(watching, DelayedOperation) else watching
        return [operation for operation in operations if self._cancel(operation)]

    @property
    def watched(self):
        """Operations on watch lists, counted once for each key. Exact, O(1)."""
        return self._watched

    @property
    def delayed(self):
        """Operations pending. Exact, O(1)."""
        return self._delayed

    # What the purgatory says for itself

    def _failed(self, operation, exception):
        raise exception

    def _has_strays(self):
        """Another entry is out of reach."""

    def _refuse(self):
        raise PurgatoryClosedError("this purgatory is closed")

    # Inside

    def _cancel(self, operation):
        try:
            return operation.cancel()
        except Exception as exception:
            self._failed(operation, exception)
            return True

    def _watching(self, key):
        watching = self.watching(key)
        return () if watching is None else tuple(watching) if isinstance(watching, list) else (watching,)

    def _entries(self):
        return self.entries()

    def _ended_counts(self):
        return self.completed, self.expired, self.cancelled

    def _purge(self):
        """Look for operations that have left; return how many entries that dropped. Plain keys cannot have changed."""
        cdef int64_t dropped = 0
        with self.lock:
            kept = {}
            for key, watching in self.odd.items():
                for operation in list((<dict>watching).values()) if type(watching) is dict else [watching]:
                    if (<DelayedOperation>operation).watchers == <PyObject*>self:
                        put(kept, key, <DelayedOperation>operation, [{}])
                    else:
                        dropped += 1
            self.odd = kept
            self._strays = 0
        return dropped

    def _take_all(self):
        """Close the door, and hand out whatever is pending."""
        cdef DelayedOperation operation
        self._is_open = False
        left = []
        for operation in self.entries():
            if operation.watchers == <PyObject*>self:
                self.unwatch(operation)
                operation.leave_timer()
                left.append(operation)
        return left

    def _check_all(self):
        """Prove the invariants."""
        cdef DelayedOperation operation
        entries = self.entries()
        strays = 0
        for operation in entries:
            strays += operation.watchers != <PyObject*>self
        assert len(entries) == self._watched + self._strays, "watched is exact"
        assert strays == self._strays, "none ended"
        assert len(set(map(id, entries))) <= self._delayed, "delayed counts them"
        assert all([watching for shard in (*self.shards, self.odd) for watching in shard.values()
                    if type(watching) is dict]), "no key without a watcher"

    cdef int admit(self, DelayedOperation operation) except -1:
        if not self._is_open:
            self._refuse()
        if operation.watchers != NULL or operation.ended:
            raise ValueError(f"{operation!r} has been watched before; an operation waits once: make a new one")
        operation.watchers = <PyObject*>self
        self._delayed += 1
        return 0

    cdef bint check(self, DelayedOperation operation) except -1:
        try:
            return operation.try_it()
        except Exception as exception:
            self._failed(operation, exception)
            return operation.has_won

    cdef object watching(self, key):
        """Who watches the key: None, one operation, or a list of them."""
        cdef PyObject* found
        if not is_plain(key):
            with self.lock:
                watching = self.odd.get(key)
                return list((<dict>watching).values()) if type(watching) is dict else watching
        found = PyDict_GetItemWithError(self.shard(key), key)
        if found == NULL:
            return None
        watching = <object>found
        return list((<dict>watching).values()) if type(watching) is dict else watching

    cdef dict shard(self, key):
        # By the upper bits of a mixed hash: a shard's own table goes by the lower ones, and would fill unevenly.
        cdef uint64_t mixed = <uint64_t>PyObject_Hash(key) * MIX
        return <dict>self.shards[<Py_ssize_t>((mixed >> 32) % <uint64_t>len(self.shards))]

    cdef bint watch(self, DelayedOperation operation, keys, bint is_one) except -1:
        """Put it on all lists in one step; False if it has ended."""
        cdef Py_ssize_t needed = 1 if is_one else len(<tuple>keys)
        operation.has_odd_key = not is_plain(keys) if is_one else not are_plain(<tuple>keys)
        operation.has_one_key = is_one
        operation.keys = keys
        if operation.has_odd_key:
            spares = [{} for _ in range(needed)]
            with self.lock:
                return self.put_all(operation, spares)
        while len(self.spares) < needed:
            self.spares.append({})
        return self.put_all(operation, self.spares)

    cdef bint put_all(self, DelayedOperation operation, list spares) except -1:
        if operation.ended:
            return False
        operation.is_watched = True
        if operation.has_one_key:
            self._watched += 1
            put(self.table(operation.keys), operation.keys, operation, spares)
            return True
        self._watched += len(<tuple>operation.keys)
        for key in <tuple>operation.keys:
            put(self.table(key), key, operation, spares)
        return True

    cdef int leave(self, DelayedOperation operation) except -1:
        """Take an operation that has its outcome off all its lists."""
        self.completed += operation.ended == COMPLETED
        self.expired += operation.ended == EXPIRED
        self.cancelled += operation.ended == CANCELLED
        return self.unwatch(operation)

    cdef int unwatch(self, DelayedOperation operation) except -1:
        operation.watchers = NULL
        self._delayed -= 1
        if operation.has_odd_key:
            with self.lock:
                return self.remove_all(operation)
        return self.remove_all(operation)

    cdef int remove_all(self, DelayedOperation operation) except -1:
        cdef int64_t strays = 0
        if not operation.is_watched:
            return 0
        operation.is_watched = False
        if operation.has_one_key:
            self._watched -= 1
            strays += not remove(self.table(operation.keys), operation.keys, operation)
        else:
            self._watched -= len(<tuple>operation.keys)
            for key in <tuple>operation.keys:
                strays += not remove(self.table(key), key, operation)
        if strays:
            self._strays += strays
            self._has_strays()
        return 0

    cdef dict table(self, key):
        return self.shard(key) if is_plain(key) else self.odd

    cdef list entries(self):
        found = []
        for shard in (*self.shards, self.odd):
            for watching in list((<dict>shard).values()):
                found.extend(list((<dict>watching).values()) if type(watching) is dict else [watching])
        return found


cdef bint is_plain(key):
    """Whether comparing this key runs no Python code."""
    cdef type kind = type(key)
    if kind is str or kind is int or kind is bytes:
        return True
    if kind is not tuple:
        return False
    for part in <tuple>key:
        kind = type(part)
        if not (kind is str or kind is int or kind is bytes):
            return False
    return True


cdef bint are_plain(tuple keys):
    for key in keys:
        if not is_plain(key):
            return False
    return True


cdef int put(dict shard, key, DelayedOperation operation, list spares) except -1:
    cdef PyObject* found = PyDict_GetItemWithError(shard, key)
    if found == NULL:
        PyDict_SetItem(shard, key, operation)
        return 0
    watching = <object>found
    if type(watching) is not dict:
        several = <dict>spares.pop()
        several[id(watching)] = watching
        PyDict_SetItem(shard, key, several)
        watching = several
    (<dict>watching)[id(operation)] = operation
    return 0


cdef bint remove(dict shard, key, DelayedOperation operation) except -1:
    """False if the operation is not where its key says."""
    cdef PyObject* found = PyDict_GetItemWithError(shard, key)
    if found == NULL:
        return False
    watching = <object>found
    if type(watching) is dict:
        if (<dict>watching).pop(id(operation), None) is None:
            return False
        if not <dict>watching:
            PyDict_DelItem(shard, key)
        return True
    if watching is not operation:
        return False
    PyDict_DelItem(shard, key)
    return True
