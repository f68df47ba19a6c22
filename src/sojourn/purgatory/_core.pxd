"""The C side of `_core`: what lies in memory, and what other compiled rooms may call."""

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t

from sojourn.timer._core cimport Timer, TimerTask

cdef enum:
    PENDING = 0
    COMPLETED = 1
    EXPIRED = 2
    CANCELLED = 3


cdef struct WatchEntry:
    WatchEntry* prev            # among those who watch the same key: a ring, in the order they came
    WatchEntry* next
    WatchEntry* below           # of the first in a ring: the first in another, in the same bucket
    PyObject* operation         # a reference of its own while it is on a list
    Py_hash_t hash              # which the key had when the operation came


cdef struct Shard:
    WatchEntry** buckets
    WatchEntry* bucket          # as long as one is enough
    uint64_t mask               # how many buckets, less one
    uint64_t keys


@cython.no_gc
cdef class DelayedOperation(TimerTask):
    cdef unsigned long owner        # the thread that is trying it; 0 for none
    cdef uint8_t ended
    cdef uint8_t again              # somebody left word: it must be tried again
    cdef uint8_t is_owed            # the timer has been told to do that, and has not come yet
    cdef uint8_t has_waited         # it ended in a purgatory, so it is not watched another time
    cdef uint8_t has_won
    cdef uint8_t has_told
    cdef uint8_t is_watched
    cdef uint8_t has_one_key        # then `keys` is that key, without a tuple around it
    cdef PyObject* watchers         # whose it is; borrowed: they let go of their operations before they die
    cdef object keys                # stay when it leaves, for people to read
    cdef WatchEntry own             # its entry for its one key; with several keys, `next` points to an array of entries

    cdef bint settle(self, uint8_t outcome) except -1
    cdef int leave_timer(self) except -1
    cdef int tell(self) except -1
    cdef bint try_it(self) except -1
    cdef object attempt(self, PyObject* watchers, int tries, bint* completed)


cdef class Watchers:
    cdef readonly Timer timer
    cdef Shard* shards
    cdef uint64_t shard_count
    cdef uint64_t changes           # how often an entry came or went
    cdef uint64_t last              # where the operation lies that was signalled last
    cdef public bint _is_open
    cdef public bint _is_untimed    # its operations have no deadlines
    cdef int64_t _watched
    cdef int64_t _delayed
    cdef int64_t completed
    cdef int64_t expired
    cdef int64_t cancelled

    cdef bint check(self, DelayedOperation operation) except -1
    cdef bint follow_up(self, DelayedOperation operation, failure, bint completed) except -1
    cdef bint is_seen_to(self, DelayedOperation operation) except -1
    cdef object watching(self, key)
    cdef bint admit(self, DelayedOperation operation) except -1
    cdef int hold(self, DelayedOperation operation, keys, bint is_one) except -1
    cdef bint watch(self, DelayedOperation operation, keys, bint is_one) except -1
    cdef bint enter(self, DelayedOperation operation) except -1
    cdef bint look(self, DelayedOperation operation) except -1
    cdef int link_all(self, DelayedOperation operation) except -1
    cdef int start(self, DelayedOperation operation) except -1
    cdef void leave(self, DelayedOperation operation) noexcept
    cdef void unwatch(self, DelayedOperation operation) noexcept
    cdef WatchEntry* find(self, Py_hash_t hash, key) except? NULL
    cdef void fetch_next(self, DelayedOperation operation) noexcept
    cdef void fetch_bucket(self, Py_hash_t hash) noexcept
    cdef void link(self, WatchEntry* entry, WatchEntry* first) noexcept
    cdef void unlink(self, WatchEntry* entry) noexcept
    cdef list entries(self)
