"""The C side of `_core`: what lies in memory, and what other compiled rooms may call."""

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    IDLE = 0
    PENDING = 1
    EXPIRED = 2
    CANCELLED = 3
    SLOTS = 40                  # HISTOGRAM_SIZE

cdef enum:                      # what an entry is
    ALONE = 0                   # part of a TimerTask
    ON_WALL = 1                 # the same, and its deadline one of the wall clock
    BATCHED = 2                 # in the array of a TaskBatch
    ROOT = 3                    # of a list


cdef struct TimerTaskEntry:
    TimerTaskEntry* prev
    TimerTaskEntry* next
    int64_t deadline_ms         # by its clock
    uint32_t index              # of a pending task: its timer's number; in a batch: its place there
    uint8_t state
    uint8_t kind
    unsigned short arming       # how often it has joined a timer


cdef struct TimerTaskList:
    TimerTaskEntry root         # first: a pointer to the root is a pointer to the list; root.index is the bucket's
    uint64_t* occupied          # the bits of the wheel this is a bucket of; NULL for the list of due tasks


cdef struct TimingWheel:
    int64_t tick
    int64_t position
    int64_t turns_at            # the tick at which the position moves on
    int64_t last
    TimerTaskList* buckets
    uint64_t* occupied
    TimingWheel* overflow


cdef struct DelayQueue:
    TimingWheel* wheel
    int64_t now
    int64_t earliest
    int64_t looked_at           # the tick at which `earliest` was last set right by adding
    int64_t cascaded
    int64_t size
    int64_t words               # of 64 occupancy bits
    int64_t tick_ms
    int64_t origin_ms


@cython.no_gc
cdef class TimerTask:
    cdef TimerTaskEntry entry
    cdef int64_t delay
    cdef object call            # the callback, or a tuple of it and its arguments; None once it has let go of them


cdef class TaskBatch:
    cdef PyObject** memory      # this object's address, then the entries
    cdef TimerTaskEntry* entries
    cdef PyObject* timer        # borrowed: a timer lets go of its tasks before it dies
    cdef Py_ssize_t length
    cdef Py_ssize_t linked      # entries in the wheel; while there are any it holds a reference to this batch
    cdef bint has_promoted
    cdef int64_t armed_ms
    cdef object callback
    cdef tuple args
    cdef object each

    cdef TimerTask task(self, Py_ssize_t i)
    cdef tuple arguments(self, Py_ssize_t i)
    cdef int left(self, Py_ssize_t entries) except -1


cdef class Timer:
    cdef DelayQueue* queue
    cdef DelayQueue* wall_queue
    cdef TimerTaskList due
    cdef int64_t number         # by which its tasks know it
    cdef readonly int64_t tick_ms
    cdef readonly int64_t wheel_size
    cdef readonly object clock
    cdef public object executor
    cdef bint is_system_clock
    cdef bint takes_results
    cdef public bint _is_open
    cdef public bint _is_napping
    cdef int64_t _size
    cdef int64_t scheduled
    cdef int64_t cancelled
    cdef int64_t extended
    cdef int64_t expired
    cdef int64_t undone
    cdef int64_t max_late_ns
    cdef int64_t[SLOTS] lateness

    cdef int64_t now_ns(self) except? -1
    cdef int64_t wall_ns(self) except? -1
    cdef int check_fits(self, int64_t delay, int64_t now_ms, name, given) except -1
    cdef TimerTask add_checked(self, TimerTask task)
    cdef int add_task(self, TimerTask task, int64_t delay, given) except -1
    cdef int64_t now_for(self, int64_t delay, given) except? -1
    cdef int put(self, TimerTask task, int64_t delay, int64_t now_ns) except -1
    cdef int add_batch(self, TaskBatch batch, int64_t now_tick) except -1
    cdef int join(self, TimerTask task) except -1
    cdef int arm(self, TimerTask task, int64_t now_ns) except -1
    cdef int wake(self) except -1
    cdef bint extend(self, TimerTask task, int64_t delay, given) except -1
    cdef bint has(self, TimerTask task) noexcept
    cdef void leave(self, TimerTaskEntry* entry, int state) noexcept
    cdef void count_out(self, TimerTaskEntry* entry, int state) noexcept
    cdef bint advance(self, int64_t now_ns, int64_t wall_ns) noexcept
    cdef DelayQueue* wall_at(self, int64_t wall_ns) noexcept
    cdef int fire(self, TimerTaskEntry* entry) except -1
    cdef int fire_batched(self, TaskBatch batch, Py_ssize_t i) except -1
    cdef int call_batched(self, TaskBatch batch, Py_ssize_t i) except -1
    cdef void note_lateness(self, int64_t now_ns, int64_t deadline_ms) noexcept
    cdef list snapshot(self)


cdef int64_t as_delay(object value, object name=*) except -1
cdef bint leave_timer(TimerTask task) noexcept
