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


@cython.no_gc
cdef class DelayedOperation(TimerTask):
    cdef unsigned long owner        # the thread that is trying it; 0 for none
    cdef uint8_t ended
    cdef uint8_t again
    cdef uint8_t has_won
    cdef uint8_t has_told
    cdef uint8_t has_odd_key
    cdef uint8_t is_watched
    cdef uint8_t has_one_key        # then `keys` is that key, without a tuple around it
    cdef PyObject* watchers         # borrowed: they let go of their operations before they die
    cdef object keys                # stay when it leaves, for people to read

    cdef bint settle(self, uint8_t outcome) except -1
    cdef int leave_timer(self) except -1
    cdef int tell(self) except -1
    cdef bint try_it(self) except -1


cdef class Watchers:
    cdef readonly Timer timer
    cdef list shards
    cdef dict odd               # keys that are compared in Python
    cdef object lock            # for those
    cdef list spares            # empty dicts: making one may run a garbage collection, so that happens beforehand
    cdef public bint _is_open
    cdef int64_t _watched
    cdef int64_t _delayed
    cdef readonly int64_t _strays
    cdef int64_t completed
    cdef int64_t expired
    cdef int64_t cancelled

    cdef int admit(self, DelayedOperation operation) except -1
    cdef bint check(self, DelayedOperation operation) except -1
    cdef object watching(self, key)
    cdef dict shard(self, key)
    cdef dict table(self, key)
    cdef bint watch(self, DelayedOperation operation, keys, bint is_one) except -1
    cdef bint put_all(self, DelayedOperation operation, list spares) except -1
    cdef int leave(self, DelayedOperation operation) except -1
    cdef int unwatch(self, DelayedOperation operation) except -1
    cdef int remove_all(self, DelayedOperation operation) except -1
    cdef list entries(self)
