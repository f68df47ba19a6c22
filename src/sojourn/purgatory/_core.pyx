# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False, embedsignature=True
"""Operations and who watches what, compiled: what `_operation.py` and `_watchers.py` say. Read those two first.

* The GIL is the lock. A step is atomic as long as it runs no Python code, so whatever may run some (the hash and the
  comparison of a key, a clock, a garbage collection) comes before it. An operation enters its lists, and leaves them,
  through links that run through the operation itself: without a look at its keys, and without any memory to be had.
* A key has no list of its own. The entries of those who watch it are a ring; the first of them stands for the key in a
  bucket of the table, and when it leaves, the next does.
* An operation is not tracked by the garbage collector, unless it is of a class made in Python.
"""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.object cimport Py_EQ, PyObject_Hash, PyObject_RichCompareBool
from cpython.pythread cimport PyThread_get_thread_ident
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject

from sojourn.timer._core cimport PENDING as TASK_PENDING, TimerTaskEntry, as_delay, leave_timer

from functools import partial

from ..errors import PurgatoryClosedError, SojournError
from ._failures import one_of
from ._keys import MIX as _MIX
from ._keys import distinct, not_an_operation

cdef extern from *:
    """
    #define fetch(address) __builtin_prefetch((address), 1)
    """
    void fetch(void* address) noexcept      # from memory, while there is something else to do

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(void* thing) noexcept
    ctypedef int (*visitproc)(PyObject*, void*) noexcept
    ctypedef struct PyTypeObject:
        int (*tp_traverse)(PyObject*, visitproc, void*) noexcept
        int (*tp_clear)(PyObject*) noexcept

cdef enum:
    FEW = 8             # buckets that a shard keeps when it is empty
    NEAR = 1 << 16      # bytes: so close together lie operations that came one after the other

cdef tuple NAMES = (None, "completed", "expired", "cancelled")
cdef uint64_t MIX = _MIX


# Operations -----------------------------------------------------------------------------------------------------------

@cython.no_gc
cdef class DelayedOperation(TimerTask):
    """Something that waits for its condition, at most `delay_ms`. Subclasses say for what, and what follows.

    `try_complete` returns whether the condition holds (or what `force_complete` returned, as in Kafka). It is called
    whenever one of the operation's keys is signalled, never in two threads at a time, and may be called in vain.
    """

    def __init__(self, delay_ms=0):
        self.delay = as_delay(delay_ms)         # what TimerTask.__init__ does, without a call

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
        """Complete it now. True exactly for the caller that ended it.

        `on_complete` has run by then, unless another thread is trying the operation: that one runs it after its try.
        """
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
        if self.watchers != NULL and not (<Watchers>self.watchers)._is_open:
            (<Watchers>self.watchers)._check_process()
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
        if leave_timer(self):
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
        """Try it once, and raise what that raises. True if this call completed it."""
        cdef bint completed = False
        if self.watchers == NULL:
            return False
        failure = self.attempt(self.watchers, 1, &completed)
        if failure is not None:
            raise failure
        return completed

    cdef object attempt(self, PyObject* watchers, int tries, bint* completed):
        """Try it, unless somebody is at it, and again if word is left meanwhile, in at most so many tries.

        What it raised, and whether this completed it. Word left during the last try stays: `again` says so.
        """
        cdef list earlier = None
        completed[0] = False
        if self.watchers != watchers:
            return None         # it has ended, or been handed back
        self.again = self.owner != 0
        if self.again:
            return None
        self.owner = PyThread_get_thread_ident()
        while True:
            failure = None
            tries -= 1
            try:
                if self.try_complete():
                    self.settle(COMPLETED)
            except BaseException as exception:
                failure = exception
            if self.ended or not self.again or tries == 0:
                break
            self.again = False  # somebody left word
            if failure is not None:
                earlier = (earlier or []) + [failure]
        self.owner = 0
        completed[0] = self.has_won and self.ended == COMPLETED
        if self.ended and not self.has_told:
            try:
                self.tell()     # somebody else ended it meanwhile
            except BaseException as exception:
                if failure is not None:
                    earlier = (earlier or []) + [failure]
                failure = exception
        return failure if earlier is None else one_of([*earlier, failure], partial((<object>watchers)._failed, self))


# A class made in Python is tracked by the garbage collector, which asks each of its bases what they refer to. So it sees
# the keys, one of which may refer to the operation. It never takes them from one that is watched, and so is held.

cdef int visit_keys(PyObject* operation, visitproc visit, void* arg) noexcept:
    return visit(<PyObject*>(<DelayedOperation>operation).keys, arg)


cdef int forget_keys(PyObject* operation) noexcept:
    (<DelayedOperation>operation).keys = None
    return 0


(<PyTypeObject*>DelayedOperation).tp_traverse = visit_keys
(<PyTypeObject*>DelayedOperation).tp_clear = forget_keys


# The table ------------------------------------------------------------------------------------------------------------

cdef inline WatchEntry* entries_of(DelayedOperation operation) noexcept:
    return &operation.own if operation.has_one_key else operation.own.next


cdef inline Py_ssize_t key_count(DelayedOperation operation) noexcept:
    return 1 if operation.has_one_key else len(<tuple>operation.keys)


cdef inline object key_of(WatchEntry* entry):
    cdef DelayedOperation operation = <DelayedOperation>entry.operation
    return operation.keys if operation.has_one_key else (<tuple>operation.keys)[entry - operation.own.next]


cdef inline Shard* shard_of(Watchers watchers, Py_hash_t hash) noexcept:
    return &watchers.shards[(<uint64_t>hash * MIX >> 32) % watchers.shard_count]


cdef inline WatchEntry** bucket_of(Shard* shard, Py_hash_t hash) noexcept:
    """By other bits than the shard, and by the lowest as well: numbers in a row differ in these."""
    return &shard.buckets[(<uint64_t>hash ^ <uint64_t>hash * MIX >> 41) & shard.mask]


cdef void grow(Shard* shard) noexcept:
    """Twice the buckets; or as many as before, and longer ways, if there is no memory for that."""
    cdef uint64_t size = FEW if shard.mask == 0 else 2 * (shard.mask + 1)
    cdef WatchEntry** buckets = <WatchEntry**>PyMem_Calloc(size, sizeof(WatchEntry*))
    cdef WatchEntry** old = shard.buckets
    cdef uint64_t old_mask = shard.mask
    cdef uint64_t i
    cdef WatchEntry* entry
    if buckets == NULL:
        return
    shard.buckets = buckets
    shard.mask = size - 1
    for i in range(old_mask + 1):
        while old[i] != NULL:
            entry = old[i]
            old[i] = entry.below
            put_below(bucket_of(shard, entry.hash), entry)
    if old != &shard.bucket:
        PyMem_Free(old)


cdef inline void put_below(WatchEntry** bucket, WatchEntry* entry) noexcept:
    entry.below = bucket[0]
    bucket[0] = entry


cdef void forget_buckets(Shard* shard) noexcept:
    """Of a shard that has no keys any more."""
    if shard.buckets != &shard.bucket:
        PyMem_Free(shard.buckets)
    shard.buckets = &shard.bucket
    shard.bucket = NULL
    shard.mask = 0


cdef Shard* shards_new(uint64_t count) except NULL:
    cdef Shard* shards = <Shard*>PyMem_Calloc(count, sizeof(Shard))
    cdef uint64_t i
    if shards == NULL:
        raise MemoryError
    for i in range(count):
        shards[i].buckets = &shards[i].bucket
    return shards


cdef void shards_free(Shard* shards, uint64_t count) noexcept:
    cdef uint64_t i
    for i in range(count):
        forget_buckets(&shards[i])
    PyMem_Free(shards)


# Watchers -------------------------------------------------------------------------------------------------------------

@cython.no_gc_clear             # so that everything is in place until the last operation has left
cdef class Watchers:
    """Which operations watch which key. watch, leave: O(1) per key. Sharded, so that no large table stalls the rest."""

    _timer_kind = Timer

    def __cinit__(self):
        self.shard_count = 1
        self.shards = shards_new(1)         # for a subclass that forgets to call __init__: closed and empty, but sound

    def __init__(self, Timer timer not None, uint64_t shards):
        if self.timer is not None:
            raise TypeError("a purgatory is made once")
        cdef Shard* several = shards_new(shards)
        shards_free(self.shards, self.shard_count)
        self.shards, self.shard_count = several, shards
        self.timer = timer
        self._is_open = True

    def __dealloc__(self):
        cdef DelayedOperation operation
        if self.shards == NULL:
            return
        for operation in self.entries():    # held until all have left, and then whatever that sets off may happen
            if operation.watchers == <PyObject*>self:
                self.unwatch(operation)
        shards_free(self.shards, self.shard_count)

    def try_complete_else_watch(self, operation, keys):
        """Try the operation; if its condition does not hold yet, watch the keys, try once more, and start its timer.

        True if this call completed it. What it raises meanwhile comes to the caller, and nothing is watched then. One
        that has ended before it came here is not watched.
        """
        cdef DelayedOperation comer
        cdef bint is_one = (type(keys) is list or type(keys) is tuple) and len(keys) == 1
        if not isinstance(operation, DelayedOperation):
            raise not_an_operation(operation)
        comer = <DelayedOperation>operation
        watched = keys[0] if is_one else distinct(keys)
        if not self.admit(comer):
            return False
        try:
            self.hold(comer, watched, is_one)
            if comer.try_it():
                return True
            if self.enter(comer):
                if comer.try_it():
                    return True
                self.start(comer)
                if comer.again and comer.try_it():      # word came during the second try, and the timer runs by now
                    return True
        except BaseException:
            if comer.watchers == <PyObject*>self:
                self.unwatch(comer)
                comer.leave_timer()
            raise
        if comer.again and not self.is_seen_to(comer):
            return self.check(comer)
        return False

    def check_and_complete(self, key):
        """Try every operation that watches the key, in the order they came; return how many this call completed."""
        cdef int64_t count = 0
        watching = self.watching(key)
        if watching is None:
            return 0
        if type(watching) is not list:
            self.fetch_next(<DelayedOperation>watching)
            return int(self.check(<DelayedOperation>watching))
        for operation in <list>watching:
            count += self.check(<DelayedOperation>operation)
        return count

    def cancel_for_key(self, key):
        """End every operation that watches the key as cancelled; return those that this call ended."""
        return [operation for operation in self._watching(key) if self._cancel(operation)]

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

    def _check_process(self):
        """Raise if this is a forked child, and whatever is here waits in its parent."""

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
        return () if watching is None else tuple(watching) if type(watching) is list else (watching,)

    def _entries(self):
        return self.entries()

    def _ended_counts(self):
        return self.completed, self.expired, self.cancelled

    def _take_all(self):
        """Close the door, and hand out whatever is pending."""
        cdef DelayedOperation operation
        left = []
        self._is_open = False
        for operation in self.entries():    # from here on, in one step
            if operation.watchers == <PyObject*>self:
                self.unwatch(operation)
                operation.leave_timer()
                left.append(operation)
        return left

    def _check_all(self):
        """Prove the invariants."""
        cdef DelayedOperation operation
        cdef Shard* shard
        cdef uint64_t keys = 0
        cdef uint64_t i
        entries = self.entries()
        assert len(entries) == self._watched, "watched is exact"
        assert len(set(map(id, entries))) <= self._delayed, "delayed counts them"
        for operation in entries:
            assert operation.watchers == <PyObject*>self and not operation.ended, "none ended"
        for i in range(self.shard_count):
            keys += check_shard(&self.shards[i])
        assert keys <= <uint64_t>self._watched, "no key without a watcher"

    cdef bint check(self, DelayedOperation operation) except -1:
        cdef bint completed = False
        failure = operation.attempt(<PyObject*>self, 2, &completed)
        if failure is None and not operation.again:
            return completed
        return self.follow_up(operation, failure, completed)

    cdef bint follow_up(self, DelayedOperation operation, failure, bint completed) except -1:
        """It failed, or word was left during our last try."""
        cdef bint is_done
        while True:
            is_done = not operation.again or self.is_seen_to(operation)
            if failure is not None:
                if not isinstance(failure, Exception):
                    raise failure
                self._failed(operation, failure)
            if is_done:
                return completed
            failure = operation.attempt(<PyObject*>self, 2, &completed)

    cdef bint is_seen_to(self, DelayedOperation operation) except -1:
        """Word was left during our last try: whoever signals next tries it again, or else the timer does."""
        if operation.owner != 0 or operation.watchers != <PyObject*>self:
            return True             # somebody is at it, or it has ended
        if operation.is_owed and self.timer._is_open:
            return True
        operation.is_owed = True
        try:
            self.timer.schedule(0, self._try_owed, operation)
        except SojournError:        # it is closed, or dead
            operation.is_owed = False
            return False
        return True

    def _try_owed(self, DelayedOperation operation):
        """What the timer does about it; True if that completed it."""
        operation.is_owed = False
        return bool(operation.again and self.check(operation))

    cdef object watching(self, key):
        """Who watches the key: None, one operation, or a list of them."""
        cdef Py_hash_t hash
        cdef WatchEntry* first
        cdef WatchEntry* entry
        if not self._is_open:
            self._check_process()
        hash = PyObject_Hash(key)
        first = self.find(hash, key)
        if first == NULL:
            return None
        if first.next == first:
            return <object>first.operation
        found = []              # that may have collected garbage: look again
        entry = first = self.find(hash, key)
        while entry != NULL:
            found.append(<object>entry.operation)
            entry = entry.next if entry.next != first else NULL
        return found

    cdef list entries(self):
        """Every operation, once for each key."""
        cdef WatchEntry* first
        cdef WatchEntry* entry
        cdef uint64_t i, j
        found = []
        for i in range(self.shard_count):
            for j in range(self.shards[i].mask + 1):
                first = self.shards[i].buckets[j]
                while first != NULL:
                    entry = first
                    while entry != NULL:
                        found.append(<object>entry.operation)
                        entry = entry.next if entry.next != first else NULL
                    first = first.below
        return found

    # How an operation comes, enters and leaves

    cdef bint admit(self, DelayedOperation operation) except -1:
        """Make it ours; False if it has ended already, as one may that somebody cancels before it comes."""
        if not self._is_open:
            self._refuse()
        if operation.watchers != NULL or operation.has_waited:
            raise ValueError(f"{operation!r} has been watched before; an operation waits once: make a new one")
        if operation.ended:
            return False
        operation.watchers = <PyObject*>self
        self._delayed += 1
        return True

    cdef bint watch(self, DelayedOperation operation, keys, bint is_one) except -1:
        """Put it on all lists in one step; False if it has ended."""
        self.hold(operation, keys, is_one)
        return self.enter(operation)

    cdef int hold(self, DelayedOperation operation, keys, bint is_one) except -1:
        """Give it its keys, hashed once and for all."""
        cdef WatchEntry* several = NULL
        cdef Py_hash_t hash
        cdef Py_ssize_t i
        if is_one:
            hash = PyObject_Hash(keys)
            self.fetch_bucket(hash)         # while it is tried
            operation.own.hash = hash
            operation.own.operation = <PyObject*>operation
        else:
            several = <WatchEntry*>PyMem_Malloc(len(<tuple>keys) * sizeof(WatchEntry))
            if several == NULL:
                raise MemoryError
            try:
                for i in range(len(<tuple>keys)):
                    several[i].hash = PyObject_Hash((<tuple>keys)[i])
                    self.fetch_bucket(several[i].hash)
                    several[i].operation = <PyObject*>operation
            except BaseException:
                PyMem_Free(several)
                raise
            if operation.watchers != <PyObject*>self:
                PyMem_Free(several)         # it has ended meanwhile
                return 0
            operation.own.next = several
        operation.has_one_key = is_one
        operation.keys = keys
        return 0

    cdef bint enter(self, DelayedOperation operation) except -1:
        """Put it on all lists in one step; False if it has ended."""
        cdef uint64_t changes = self.changes - 1
        while changes != self.changes:      # others came or went while keys were compared: look again
            changes = self.changes
            if not self.look(operation):
                return False
        self.link_all(operation)
        return True

    cdef bint look(self, DelayedOperation operation) except -1:
        """Find whom it will stand behind on the list of each key, which runs the keys' own code; False if it has ended."""
        cdef WatchEntry* entries = entries_of(operation)
        cdef WatchEntry* first
        cdef Py_ssize_t i
        if operation.watchers != <PyObject*>self:
            return False
        for i in range(key_count(operation)):
            first = self.find(entries[i].hash, key_of(&entries[i]))
            if operation.watchers != <PyObject*>self:
                return False                # and its entries are no more
            entries[i].below = first
        return True

    cdef int link_all(self, DelayedOperation operation) except -1:
        """Put it on the lists that `look` found, if nothing has changed since."""
        cdef WatchEntry* entries = entries_of(operation)
        cdef Py_ssize_t i
        if not self._is_open:
            self._refuse()
        operation.is_watched = True
        self._watched += key_count(operation)
        for i in range(key_count(operation)):
            self.link(&entries[i], entries[i].below)
        return 0

    cdef int start(self, DelayedOperation operation) except -1:
        """Put it in the timer, unless it has left in the meantime."""
        if self._is_untimed:
            return 0
        delay_ms = operation.delay_ms
        cdef int64_t delay = as_delay(delay_ms)
        cdef int64_t now_ns = self.timer.now_for(delay, delay_ms)
        if operation.watchers == <PyObject*>self:
            self.timer.put(operation, delay, now_ns)
        return 0

    cdef void leave(self, DelayedOperation operation) noexcept:
        """It has its outcome: count that, and take it off all its lists."""
        operation.has_waited = True
        self.completed += operation.ended == COMPLETED
        self.expired += operation.ended == EXPIRED
        self.cancelled += operation.ended == CANCELLED
        self.unwatch(operation)

    cdef void unwatch(self, DelayedOperation operation) noexcept:
        """It is no longer ours: off all its lists."""
        cdef Py_ssize_t i
        operation.watchers = NULL
        self._delayed -= 1
        if operation.is_watched:
            operation.is_watched = False
            self._watched -= key_count(operation)
            for i in range(key_count(operation)):
                self.unlink(&entries_of(operation)[i])
        if not operation.has_one_key:
            PyMem_Free(operation.own.next)
            operation.own.next = NULL

    cdef WatchEntry* find(self, Py_hash_t hash, key) except? NULL:
        """The first of those who watch the key. Comparing keys may run Python code, and so change what is here."""
        cdef Shard* shard = shard_of(self, hash)
        cdef WatchEntry* entry = bucket_of(shard, hash)[0]
        cdef uint64_t changes
        cdef bint is_equal
        while entry != NULL:
            if entry.hash != hash:
                entry = entry.below
                continue
            changes = self.changes
            other = key_of(entry)
            is_equal = PyObject_RichCompareBool(other, key, Py_EQ)
            if changes != self.changes:
                other = None    # perhaps for good, which may run Python code too
                entry = bucket_of(shard, hash)[0]
            elif is_equal:
                return entry
            else:
                entry = entry.below
        return NULL

    cdef void fetch_next(self, DelayedOperation operation) noexcept:
        """Fetch the bucket of the one behind it in the timer, if they end about in the order they came."""
        cdef uint64_t here = <uint64_t><PyObject*>operation
        cdef bint is_near = here - self.last + NEAR < 2 * NEAR
        cdef TimerTaskEntry* behind = operation.entry.next
        cdef PyObject* other = <PyObject*>(<char*>behind - (<char*>&operation.entry - <char*><PyObject*>operation))
        self.last = here
        if not is_near or operation.entry.state != TASK_PENDING:
            return
        if behind.kind != operation.entry.kind or Py_TYPE(other) != Py_TYPE(<PyObject*>operation):
            return              # a bucket of the timer, an entry of a batch, or something else
        if (<DelayedOperation>other).has_one_key:
            self.fetch_bucket((<DelayedOperation>other).own.hash)

    cdef void fetch_bucket(self, Py_hash_t hash) noexcept:
        fetch(bucket_of(shard_of(self, hash), hash))

    cdef void link(self, WatchEntry* entry, WatchEntry* first) noexcept:
        """Put it last in the ring of the first, if there is one."""
        cdef Shard* shard
        self.changes += 1
        Py_INCREF(<object>entry.operation)
        if first != NULL:
            entry.prev = first.prev
            entry.next = first
            first.prev.next = entry
            first.prev = entry
            return
        shard = shard_of(self, entry.hash)
        shard.keys += 1
        if 2 * (shard.keys - 1) > shard.mask:   # half of them empty: another key is a way to memory, and a bucket 8 bytes
            grow(shard)
        entry.prev = entry.next = entry
        put_below(bucket_of(shard, entry.hash), entry)

    cdef void unlink(self, WatchEntry* entry) noexcept:
        cdef Shard* shard = shard_of(self, entry.hash)
        cdef WatchEntry** place = bucket_of(shard, entry.hash)
        self.changes += 1
        while place[0] != NULL and place[0] != entry:
            place = &place[0].below
        if place[0] == entry and entry.next == entry:
            place[0] = entry.below
            shard.keys -= 1
            if shard.keys == 0 and shard.mask >= FEW:
                forget_buckets(shard)
        elif place[0] == entry:
            place[0] = entry.next           # now the first in its ring
            entry.next.below = entry.below
        entry.prev.next = entry.next
        entry.next.prev = entry.prev
        Py_DECREF(<object>entry.operation)  # the caller has a reference of its own


cdef uint64_t check_shard(Shard* shard) except? 0:
    """Prove its invariants, and return how many keys it has."""
    cdef WatchEntry* first
    cdef WatchEntry* entry
    cdef uint64_t keys = 0
    cdef uint64_t i
    for i in range(shard.mask + 1):
        first = shard.buckets[i]
        while first != NULL:
            keys += 1
            assert bucket_of(shard, first.hash) == &shard.buckets[i], "every key is where its hash says"
            entry = first
            while True:
                assert entry.next.prev == entry and entry.hash == first.hash, "a ring is of one key, linked both ways"
                entry = entry.next
                if entry == first:
                    break
            first = first.below
    assert keys == shard.keys, "a shard counts its keys"
    return keys
