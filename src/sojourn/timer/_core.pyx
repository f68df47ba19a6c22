# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False, embedsignature=True
"""The timer compiled: what `_wheel.py` and `_timer.py` say, as C lists that run through the task objects themselves.

Read those two first; this file keeps their names. What is different here:

* The GIL is the lock. A step is atomic as long as it runs no Python code, so whatever may run some (a clock, a
  callback, a finaliser set off by a garbage collection or by dropping a reference) runs before or after it, never within.
* A `TimerTask` is not tracked by the garbage collector, whose walks over a million pending tasks would cost more than
  the wheel does. So a finished task lets go of its callback, and a timer's reference to a task ends with its pending.
* A `TimerTask` is 64 bytes, one line of the processor's cache: far more than the instructions, it is the lines fetched
  from memory that a million pending tasks cost. So a task knows its timer by a number, and a call with arguments is one
  tuple.
* The tasks of one `schedule_many` are entries of 32 bytes in one array, until somebody asks for one of them.
* A cancelled task is unlinked some cancellations later: see `leave_later`.
"""

cimport cython
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDES, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from cpython.time cimport PyTime_MonotonicRaw, PyTime_TimeRaw

from collections.abc import Sequence

from .._arguments import not_to_be_copied
from ..clock import SystemClock
from ..errors import TimerClosedError
from ._state import (
    HISTOGRAM_SIZE, MAX_MS, WALL_ORIGIN_MS, LatenessHistogram, TaskState, TimerStats, check_bucket, check_each,
    check_levels, check_settings, delays_in, not_callable, too_far, wall_ms, whole_ms,
)

cdef extern from *:
    """
    #define count_trailing_zeros(bits) __builtin_ctzll(bits)
    #define bit_count(bits) __builtin_popcountll(bits)
    #define bit_length(bits) ((bits) ? 64 - __builtin_clzll(bits) : 0)
    #define fetch_ahead(entry) __builtin_prefetch((entry), 1)
    #define tuple_items(tuple) (((PyTupleObject *)(tuple))->ob_item)
    """
    int count_trailing_zeros(uint64_t bits) noexcept nogil
    int bit_count(uint64_t bits) noexcept nogil
    int bit_length(uint64_t bits) noexcept nogil
    void fetch_ahead(TimerTaskEntry* entry) noexcept nogil      # from memory, while there is something else to do
    PyObject** tuple_items(tuple items) noexcept

cdef extern from "Python.h":
    void Py_FatalError(const char* message) noexcept
    object PyObject_Vectorcall(PyObject* callable, PyObject** args, size_t count, PyObject* names)
    ctypedef struct PyTypeObject:
        pass

cdef extern from "_task_memory.h":
    void task_memory_serve(PyTypeObject* cls) noexcept

cdef enum:
    PROMOTED = 4        # an entry of a batch that has become a TimerTask: `next` points to that
    RUNNING = 5         # an entry of a batch whose callback is being called
    CHUNK = 4096        # steps taken before other threads get their turn

cdef enum:
    NS_PER_MS = 1_000_000
    AHEAD_BYTES = 4096  # 64 tasks: about as many as are cancelled while one comes from memory
    LEAVING = 32        # cancelled tasks that are still linked, at most

cdef int64_t LAST_MS = MAX_MS
cdef int64_t NEVER = 2**63 - 1
cdef int64_t NO_LIMIT = 2**62
cdef int64_t NO_NUMBER = -1
cdef int64_t LONGEST_BATCH = 2**32 - 1
cdef int64_t LATEST_MS = 10**12      # lateness beyond 30 years is not told apart
cdef Py_ssize_t ENTRY_OFFSET         # of the entry in a TimerTask
cdef int64_t WALL_ORIGIN = WALL_ORIGIN_MS
cdef tuple STATES = tuple(TaskState)
assert HISTOGRAM_SIZE == SLOTS


# The wheel ------------------------------------------------------------------------------------------------------------

cdef inline void list_init(TimerTaskList* bucket) noexcept:
    bucket.root.prev = bucket.root.next = &bucket.root
    bucket.root.kind = ROOT


cdef inline bint list_is_empty(TimerTaskList* bucket) noexcept:
    return bucket.root.next == &bucket.root


cdef inline void list_link(TimerTaskEntry* before, TimerTaskEntry* entry, TimerTaskEntry* after) noexcept:
    entry.prev = before
    entry.next = after
    before.next = entry
    after.prev = entry


cdef inline void list_emptied(TimerTaskList* bucket) noexcept:
    if bucket.occupied != NULL:
        bucket.occupied[bucket.root.index >> 6] &= ~(<uint64_t>1 << (bucket.root.index & 63))


cdef inline void list_remove(TimerTaskEntry* entry) noexcept:
    cdef TimerTaskEntry* before = entry.prev
    cdef TimerTaskEntry* after = entry.next
    before.next = after
    after.prev = before
    if before == after:         # only the root is left, and it is both its own neighbours
        list_emptied(<TimerTaskList*>before)


cdef inline void list_take_all(TimerTaskList* due, TimerTaskList* bucket) noexcept:
    cdef TimerTaskEntry* first = bucket.root.next
    cdef TimerTaskEntry* last = bucket.root.prev
    first.prev = due.root.prev
    due.root.prev.next = first
    last.next = &due.root
    due.root.prev = last
    list_init(bucket)
    list_emptied(bucket)


cdef inline int64_t saturated(int64_t turn, int64_t tick) noexcept:
    """turn * tick, or NEVER."""
    return turn * tick if turn <= NEVER / tick else NEVER


cdef inline void wheel_turn_to(TimingWheel* wheel, int64_t now, int64_t size) noexcept:
    wheel.position = now / wheel.tick
    wheel.turns_at = saturated(wheel.position + 1, wheel.tick)
    wheel.last = saturated(wheel.position + size, wheel.tick) - 1


cdef TimingWheel* wheel_new(int64_t tick, int64_t now, int64_t size, int64_t words) noexcept:
    """A wheel, or NULL where there is no memory."""
    cdef TimingWheel* wheel = <TimingWheel*>PyMem_Calloc(1, sizeof(TimingWheel))
    cdef int64_t i
    if wheel == NULL:
        return NULL
    wheel.buckets = <TimerTaskList*>PyMem_Calloc(size, sizeof(TimerTaskList))
    wheel.occupied = <uint64_t*>PyMem_Calloc(words, sizeof(uint64_t))
    if wheel.buckets == NULL or wheel.occupied == NULL:
        wheel_free(wheel)
        return NULL
    for i in range(size):
        list_init(&wheel.buckets[i])
        wheel.buckets[i].root.index = <uint32_t>i
        wheel.buckets[i].occupied = wheel.occupied
    wheel.tick = tick
    wheel_turn_to(wheel, now, size)
    return wheel


cdef void wheel_free(TimingWheel* wheel) noexcept:
    cdef TimingWheel* overflow
    while wheel != NULL:
        overflow = wheel.overflow
        PyMem_Free(wheel.buckets)
        PyMem_Free(wheel.occupied)
        PyMem_Free(wheel)
        wheel = overflow


cdef inline int64_t wheel_next(TimingWheel* wheel, int64_t size, int64_t words) noexcept:
    """How many buckets ahead of the position the first non-empty one is; -1 if all are empty."""
    cdef int64_t at = wheel.position % size
    cdef int64_t word = at >> 6
    cdef int64_t seen
    cdef uint64_t bits = wheel.occupied[word] & (~<uint64_t>0 << (at & 63))
    for seen in range(words + 1):       # the first word twice: its upper bits first, its lower ones last
        if bits:
            at = (word << 6) + count_trailing_zeros(bits) - at
            return at if at >= 0 else at + size
        word = word + 1 if word + 1 < words else 0
        bits = wheel.occupied[word]
    return -1


cdef DelayQueue* queue_new(int64_t size, int64_t tick_ms, int64_t origin_ms) except NULL:
    cdef DelayQueue* queue = <DelayQueue*>PyMem_Calloc(1, sizeof(DelayQueue))
    if queue == NULL:
        raise MemoryError
    queue.size = size
    queue.words = (size + 63) >> 6
    queue.tick_ms = tick_ms
    queue.origin_ms = origin_ms
    queue.earliest = NEVER
    queue.wheel = wheel_new(1, 0, size, queue.words)
    if queue.wheel == NULL:
        PyMem_Free(queue)
        raise MemoryError
    return queue


cdef void queue_free(DelayQueue* queue) noexcept:
    if queue != NULL:
        wheel_free(queue.wheel)
        PyMem_Free(queue)


cdef inline void queue_move_to(DelayQueue* queue, int64_t now) noexcept:
    cdef TimingWheel* wheel = queue.wheel
    if now > queue.now:
        queue.now = now
        while wheel != NULL and now >= wheel.turns_at:
            wheel_turn_to(wheel, now, queue.size)
            wheel = wheel.overflow


cdef inline int64_t queue_tick(DelayQueue* queue, int64_t now_ns) noexcept:
    """The tick that is under way at a time of the clock."""
    cdef int64_t ms = floor_ms(now_ns) - queue.origin_ms
    return ms if queue.tick_ms == 1 else ms / queue.tick_ms


cdef inline int64_t queue_place(DelayQueue* queue, TimerTaskEntry* entry, bint sinking) noexcept:
    """Link the entry in the bucket of its deadline and return the tick at which that expires; -1 if there is no memory."""
    cdef TimingWheel* wheel = queue.wheel
    cdef TimerTaskList* bucket
    cdef int64_t due = entry.deadline_ms - queue.origin_ms
    cdef int64_t turn, index
    if queue.tick_ms != 1:
        due = (due + queue.tick_ms - 1) / queue.tick_ms     # the only rounding, up; the door keeps it from overflowing
    if due < queue.now:
        due = queue.now         # overdue already: the current bucket
    while due > wheel.last:
        if wheel.overflow == NULL:
            wheel.overflow = wheel_new(wheel.tick * queue.size, queue.now, queue.size, queue.words)
            if wheel.overflow == NULL:
                return -1
        wheel = wheel.overflow
    turn = due / wheel.tick
    index = turn % queue.size
    bucket = &wheel.buckets[index]
    if sinking:                 # armed before those already there: see TimingWheel.add in _wheel.py
        list_link(&bucket.root, entry, bucket.root.next)
    else:
        list_link(bucket.root.prev, entry, &bucket.root)
    wheel.occupied[index >> 6] |= <uint64_t>1 << (index & 63)
    return turn * wheel.tick


cdef inline int queue_add(DelayQueue* queue, TimerTaskEntry* entry, int64_t now) noexcept:
    """Put the entry in its bucket, after catching up with `now`; 1 if that is now the first to expire, -1 if no memory."""
    cdef int64_t expires
    if now >= queue.earliest and now != queue.looked_at:    # a cancellation may have emptied that bucket meanwhile
        queue.looked_at = now
        queue_peek(queue, &queue.earliest)
    queue_move_to(queue, now if now < queue.earliest else queue.earliest - 1)
    expires = queue_place(queue, entry, False)
    if expires < 0:
        return -1
    if expires >= queue.earliest:
        return 0
    queue.earliest = expires
    return 1


cdef TimerTaskList* queue_peek(DelayQueue* queue, int64_t* expires) noexcept:
    """The bucket that expires first, of several in the order of DelayQueue.peek in _wheel.py; NULL, and NEVER, if none."""
    cdef TimingWheel* wheel = queue.wheel
    cdef TimerTaskList* first = NULL
    cdef int64_t ahead, at
    expires[0] = NEVER
    while wheel != NULL:
        ahead = wheel_next(wheel, queue.size, queue.words)
        if ahead >= 0:
            at = (wheel.position + ahead) * wheel.tick
            if at < expires[0] or (at == expires[0] and first != NULL and first.occupied == queue.wheel.occupied):
                expires[0] = at
                first = &wheel.buckets[(wheel.position + ahead) % queue.size]
        wheel = wheel.overflow
    return first


cdef int64_t queue_sink(DelayQueue* queue, TimerTaskList* bucket, int64_t limit) noexcept:
    """Move up to `limit` tasks of an expired bucket to finer wheels, last first; return how many."""
    cdef int64_t moved = 0
    cdef TimerTaskEntry* entry
    cdef TimerTaskEntry* scout = bucket.root.next       # brings the other half from memory: they meet in the middle
    while moved < limit and not list_is_empty(bucket):
        entry = bucket.root.prev
        scout = scout.next
        fetch_ahead(scout)
        fetch_ahead(entry.prev.prev)
        list_remove(entry)
        queue_place(queue, entry, True)
        moved += 1
    queue.cascaded += moved
    return moved


cdef bint queue_advance(DelayQueue* queue, int64_t target, TimerTaskList* due, int64_t limit) noexcept:
    """Move time towards `target`, appending to `due` what falls due, in at most `limit` steps. True when there."""
    cdef int64_t expires
    cdef TimerTaskList* bucket = queue_peek(queue, &expires)
    while bucket != NULL and expires <= target:
        if limit <= 0:
            queue.earliest = queue.now
            return False
        queue_move_to(queue, expires)
        if bucket.occupied == queue.wheel.occupied:
            list_take_all(due, bucket)
            limit -= 1
        else:
            limit -= queue_sink(queue, bucket, limit)
        bucket = queue_peek(queue, &expires)
    queue.earliest = expires
    queue_move_to(queue, target)
    return True


cdef void wheel_take_all(TimingWheel* wheel, int64_t size, TimerTaskList* out) noexcept:
    """Move every entry to `out`; those of equal deadlines in the order they were armed: coarser wheels came first."""
    cdef int64_t i
    if wheel.overflow != NULL:
        wheel_take_all(wheel.overflow, size, out)
    for i in range(size):
        if not list_is_empty(&wheel.buckets[i]):
            list_take_all(out, &wheel.buckets[i])


cdef void queue_rewind(DelayQueue* queue, int64_t now) noexcept:
    """Set time back, as the wall clock's can be: put every task in again as seen from `now`."""
    cdef TimerTaskList all_of_them
    cdef TimerTaskEntry* entry
    cdef TimingWheel* wheel = queue.wheel
    all_of_them.occupied = NULL
    list_init(&all_of_them)
    wheel_take_all(wheel, queue.size, &all_of_them)
    queue.now = now
    queue.earliest = NEVER
    while wheel != NULL:
        wheel_turn_to(wheel, now, queue.size)
        wheel = wheel.overflow
    while not list_is_empty(&all_of_them):
        entry = all_of_them.root.next
        list_remove(entry)
        if queue_add(queue, entry, now) < 0:
            Py_FatalError("sojourn: out of memory while the wall clock was set back")


cdef object queue_nap_ns(DelayQueue* queue, int64_t now_ns):
    """How long until the first bucket expires; None if there is none."""
    cdef TimerTaskList* bucket = queue_peek(queue, &queue.earliest)
    if bucket == NULL:
        return None
    return max(0, (<object>queue.earliest * queue.tick_ms + queue.origin_ms) * NS_PER_MS - now_ns)


cdef void queue_count(DelayQueue* queue, int64_t* levels, int64_t* queued) noexcept:
    cdef TimingWheel* wheel = queue.wheel
    cdef int64_t i
    while wheel != NULL:
        levels[0] += 1
        for i in range(queue.words):
            queued[0] += bit_count(wheel.occupied[i])
        wheel = wheel.overflow


cdef object list_length(TimerTaskList* bucket):
    cdef int64_t length = 0
    cdef TimerTaskEntry* entry = bucket.root.next
    while entry != &bucket.root:
        length += 1
        entry = entry.next
    return length


cdef TimerTaskEntry** list_copy(TimerTaskList* bucket, TimerTaskEntry** out, TimerTaskEntry** end) noexcept:
    """Write the entries from `out` on, never beyond `end`; return where it stopped."""
    cdef TimerTaskEntry* entry = bucket.root.next
    while entry != &bucket.root and out != end:
        out[0] = entry
        out += 1
        entry = entry.next
    return out


cdef TimerTaskEntry** wheel_copy(TimingWheel* wheel, int64_t size, TimerTaskEntry** out, TimerTaskEntry** end) noexcept:
    """The same for every entry of these wheels, in the order of `wheel_take_all`."""
    cdef int64_t i
    if wheel.overflow != NULL:
        out = wheel_copy(wheel.overflow, size, out, end)
    for i in range(size):
        out = list_copy(&wheel.buckets[i], out, end)
    return out


cdef TimerTaskEntry* leaving[LEAVING]         # the oldest at `leaving_first`
cdef unsigned int leaving_count = 0
cdef unsigned int leaving_first = 0
cdef char* last_cancelled = NULL


cdef inline void leave_later(TimerTaskEntry* entry) noexcept:
    """Unlink a cancelled task once its neighbours, whom that touches, have come from memory.

    With a million tasks pending, waiting for two neighbours would be most of the cost of a cancellation. So each task
    leaves when so many others have been cancelled, or when anybody is about to look at a list (`settle`). Nobody can
    tell: it counts no more, has let go of its callback, and subclasses, whose end may be seen, are not kept waiting.
    """
    global leaving_count, leaving_first
    fetch_ahead(entry.prev)
    fetch_ahead(entry.next)
    if leaving_count == LEAVING:
        leave_first()
    leaving[(leaving_first + leaving_count) % LEAVING] = entry
    leaving_count += 1


cdef inline void fetch_next_cancelled(char* entry) noexcept:
    """Who cancels many often does it in the order in which they were added, and so in that of their memory."""
    global last_cancelled
    if <size_t>(entry - last_cancelled) < AHEAD_BYTES:
        fetch_ahead(<TimerTaskEntry*>(entry + AHEAD_BYTES))
    last_cancelled = entry


cdef inline void leave_first() noexcept:
    global leaving_count, leaving_first
    cdef TimerTaskEntry* entry = leaving[leaving_first]
    leaving_first = (leaving_first + 1) % LEAVING
    leaving_count -= 1
    list_remove(entry)
    Py_DECREF(<object><PyObject*>(<char*>entry - ENTRY_OFFSET))


cdef inline void settle() noexcept:
    """From here on who is linked is pending."""
    while leaving_count:
        leave_first()


cdef inline int64_t floor_ms(int64_t ns) noexcept:
    return ns / NS_PER_MS - (ns % NS_PER_MS < 0)


cdef inline int64_t ceil_ms(int64_t ns) noexcept:
    return ns / NS_PER_MS + (ns % NS_PER_MS > 0)


# Tasks ----------------------------------------------------------------------------------------------------------------

@cython.no_gc
cdef class TimerTask:
    """Something to run once a delay has passed. Made by `timer.schedule`, or subclassed (`delay_ms`, `run`) and added.

    A task made from a callback lets go of it once it has run or been cancelled. A subclass can be added again.
    """

    def __init__(self, delay_ms=0, callback=None, *args):
        self.delay = as_delay(delay_ms)
        if callback is not None and not callable(callback):
            raise not_callable(callback)
        self.call = call_of(callback, args)

    def run(self):
        """What to do when the deadline has come; subclasses say."""
        if self.call is None:
            raise TypeError(f"{self!r} has nothing to run: give it a callback, or a run() of its own in a subclass")
        return make_call(self.call)

    def cancel(self):
        """Prevent the run. True exactly for the caller that did."""
        if self.entry.state != PENDING:
            return False
        cdef Timer timer = timer_of(self)
        while not timer._is_open:
            timer._check_process()      # Python code: look again
            if timer.has(self):
                break
            if self.entry.state != PENDING:
                return False
            timer = timer_of(self)
        fetch_next_cancelled(<char*>&self.entry)
        timer.count_out(&self.entry, CANCELLED)
        leave_later(&self.entry)
        if timer._size == 0 or type(self) is not TimerTask:
            settle()
        self.call = None
        return True

    def extend(self, delay_ms):
        """Re-arm in place, to run `delay_ms` from now. False if it has run or been cancelled already."""
        cdef int64_t delay = as_delay(delay_ms)
        cdef Timer timer
        while self.entry.state == PENDING:
            timer = timer_of(self)
            if timer.extend(self, delay, delay_ms):
                return True
            if timer.has(self) and not timer._is_open:
                return False            # about to be handed back
        return False                    # it has ended; had it moved, the next turn would find it there

    @property
    def delay_ms(self):
        return self.delay

    @delay_ms.setter
    def delay_ms(self, value):
        self.delay = as_delay(value)

    @property
    def deadline_ms(self):
        """When it is or was due, in its clock's milliseconds (for `schedule_at`, the epoch's); None if never added."""
        return None if self.entry.prev == NULL else self.entry.deadline_ms

    @property
    def state(self):
        return STATES[self.entry.state]

    @property
    def is_pending(self):
        return self.entry.state == PENDING

    @property
    def is_cancelled(self):
        return self.entry.state == CANCELLED

    def __repr__(self):
        callback = (<tuple>self.call)[0] if type(self.call) is tuple else self.call
        what = getattr(callback, "__qualname__", None) or type(self).__qualname__
        state = self.state.name.lower()
        return f"<TimerTask {what} {state} delay_ms={self.delay_ms} deadline_ms={self.deadline_ms}>"

    def __reduce_ex__(self, protocol):
        raise not_to_be_copied(self)


task_memory_serve(<PyTypeObject*>TimerTask)

cdef TimerTask _sample = TimerTask.__new__(TimerTask)
ENTRY_OFFSET = <char*>&_sample.entry - <char*><PyObject*>_sample
_sample = None


cdef inline object call_of(callback, tuple args):
    """A callback and its arguments as one object: the callback itself if there are none, a tuple if there are."""
    return (callback, *args) if args else callback


cdef inline object make_call(call):
    if type(call) is not tuple:         # which is no callback
        return call()
    return PyObject_Vectorcall(tuple_items(call)[0], tuple_items(call) + 1, len(<tuple>call) - 1, NULL)


cdef inline TimerTask task_of(TimerTaskEntry* entry):
    return <TimerTask>(<PyObject*>(<char*>entry - ENTRY_OFFSET))


cdef inline TaskBatch batch_of(TimerTaskEntry* entry):
    """The batch whose array this entry is in: its address stands before the first entry."""
    return <TaskBatch>((<PyObject**>(entry - entry.index)) - 1)[0]


cdef int64_t as_delay(object value, object name="delay_ms") except -1:
    """A delay at the door: whole and not negative. One beyond 64 bits is as good as NEVER, and refused by all timers."""
    cdef int64_t delay
    cdef int overflows = 0
    if type(value) is int:
        delay = PyLong_AsLongLongAndOverflow(value, &overflows)
        if delay >= 0 and not overflows:
            return delay
    return min(whole_ms(value, name), NEVER)


cdef class TaskBatch:
    """The tasks of one `schedule_many`, in the order of their delays.

    They are entries in an array; one that is asked for becomes a `TimerTask` in its place, with the same standing.
    """

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.has_promoted:
            for i in range(self.length):
                if self.entries[i].state == PROMOTED:
                    Py_DECREF(<object><PyObject*>self.entries[i].next)
        PyMem_Free(self.memory)

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self.task(i) for i in range(*index.indices(self.length))]
        cdef Py_ssize_t i = index
        if i < 0:
            i += self.length
        if not 0 <= i < self.length:
            raise IndexError(f"task {index} of {self.length}")
        return self.task(i)

    def cancel(self):
        """Cancel every task that is still pending; return how many runs that prevented."""
        cdef Py_ssize_t i
        cdef Py_ssize_t prevented = 0
        cdef TimerTaskEntry* entry
        if self.timer != NULL and not (<Timer>self.timer)._is_open:
            (<Timer>self.timer)._check_process()
        for i in range(self.length):
            if i % CHUNK == CHUNK - 1:
                let_others_run()
            entry = &self.entries[i]
            if entry.state == PENDING:
                (<Timer>self.timer).leave(entry, CANCELLED)
                self.left(1)
                prevented += 1
            elif entry.state == PROMOTED:
                prevented += <bint>(<TimerTask><PyObject*>entry.next).cancel()
        return prevented

    def __repr__(self):
        return f"<TaskBatch of {self.length}>"

    def __reduce_ex__(self, protocol):
        raise not_to_be_copied(self)

    __reversed__ = Sequence.__reversed__
    __contains__ = Sequence.__contains__
    index = Sequence.index
    count = Sequence.count

    cdef TimerTask task(self, Py_ssize_t i):
        """Entry i as a task; from then on that task is the entry."""
        cdef TimerTask task = TimerTask.__new__(TimerTask)
        cdef TimerTaskEntry* entry = &self.entries[i]
        cdef bint is_pending
        call = call_of(self.callback, self.arguments(i))
        if entry.state == PROMOTED:
            return <TimerTask><PyObject*>entry.next
        is_pending = entry.state == PENDING
        task.delay = entry.deadline_ms - self.armed_ms
        task.entry = entry[0]
        task.entry.kind = ALONE
        if is_pending or entry.state == RUNNING:
            task.call = call
        if entry.state == RUNNING:
            task.entry.state = EXPIRED
        if is_pending:
            task.entry.index = (<Timer>self.timer).number
            entry.prev.next = entry.next.prev = &task.entry
            Py_INCREF(task)     # for the wheel
        entry.state = PROMOTED
        entry.next = <TimerTaskEntry*><PyObject*>task
        Py_INCREF(task)         # for this batch
        self.has_promoted = True
        if is_pending:
            self.left(1)
        return task

    cdef inline tuple arguments(self, Py_ssize_t i):
        return self.args if self.each is None else (*self.args, self.each[i])

    cdef inline int left(self, Py_ssize_t entries) except -1:
        """So many entries are out of the wheel. With the last, let go of the callback, and end the wheel's reference."""
        self.linked -= entries
        if self.linked == 0:
            self.timer = NULL
            self.callback = self.args = self.each = None
            Py_DECREF(self)
        return 0


Sequence.register(TaskBatch)


cdef TaskBatch batch_new(object delays_ms):
    """A batch with an entry a delay, not linked yet; `deadline_ms` holds the delay."""
    cdef Py_ssize_t length = len(delays_ms)
    cdef TaskBatch batch = TaskBatch.__new__(TaskBatch)
    batch.memory = <PyObject**>PyMem_Calloc(1, sizeof(PyObject*) + length * sizeof(TimerTaskEntry))
    if batch.memory == NULL or length > LONGEST_BATCH:
        raise MemoryError(f"{length} tasks are too many for one batch")
    batch.memory[0] = <PyObject*>batch
    batch.entries = <TimerTaskEntry*>(batch.memory + 1)
    batch.length = length
    if not batch_fill_from_array(batch, delays_ms):
        batch_fill(batch, delays_ms)
    return batch


cdef bint batch_fill_from_array(TaskBatch batch, object delays_ms) except -1:
    """Read a one-dimensional array of 64-bit integers as it lies in memory; False for anything else."""
    cdef Py_buffer view
    cdef Py_ssize_t i
    cdef bint is_plain
    if not PyObject_CheckBuffer(delays_ms):
        return False
    try:
        PyObject_GetBuffer(delays_ms, &view, PyBUF_FORMAT | PyBUF_STRIDES)
    except (BufferError, TypeError, ValueError):
        return False            # dates, say, which no buffer holds
    is_plain = (
        view.ndim == 1 and view.itemsize == 8 and view.shape[0] == batch.length
        and view.format != NULL and view.format[0] in (b"l", b"q") and view.format[1] == 0
    )
    try:
        for i in range(batch.length if is_plain else 0):
            batch.entries[i].index = <uint32_t>i
            batch.entries[i].kind = BATCHED
            batch.entries[i].deadline_ms = (<int64_t*>(<char*>view.buf + i * view.strides[0]))[0]
            if batch.entries[i].deadline_ms < 0:
                as_delay(batch.entries[i].deadline_ms, f"delays_ms[{i}]")
    finally:
        PyBuffer_Release(&view)
    return is_plain


cdef int batch_fill(TaskBatch batch, object delays_ms) except -1:
    cdef Py_ssize_t i = 0
    for delay_ms in delays_ms:
        if i == batch.length:
            raise RuntimeError("delays_ms has more items than its length says")
        batch.entries[i].index = <uint32_t>i
        batch.entries[i].kind = BATCHED
        try:
            batch.entries[i].deadline_ms = as_delay(delay_ms)
        except ValueError:
            as_delay(delay_ms, f"delays_ms[{i}]")
        i += 1
    if i < batch.length:
        raise RuntimeError("delays_ms has fewer items than its length says")
    return 0


cdef inline void let_others_run():
    """Hand over the GIL if another thread has asked for it."""
    with nogil:
        pass


# The timer ------------------------------------------------------------------------------------------------------------

cdef PyObject** timers = NULL        # by their numbers; a vacant place holds the number of the next vacant one
cdef uint32_t timer_places = 0
cdef uint32_t first_vacant = 0


cdef int64_t number_for(Timer timer) except -1:
    global timers, timer_places, first_vacant
    cdef uint32_t number = first_vacant
    cdef uint32_t places = max(16, 2 * timer_places)
    cdef uint32_t i
    cdef PyObject** larger
    if number == timer_places:
        larger = <PyObject**>PyMem_Realloc(timers, places * sizeof(PyObject*))
        if larger == NULL:
            raise MemoryError
        timers = larger
        for i in range(timer_places, places):
            timers[i] = <PyObject*><size_t>(i + 1)
        timer_places = places
    first_vacant = <uint32_t><size_t>timers[number]
    timers[number] = <PyObject*>timer
    return number


cdef void number_vacated(uint32_t number) noexcept:
    global first_vacant
    timers[number] = <PyObject*><size_t>first_vacant
    first_vacant = number


cdef inline Timer timer_of(TimerTask task):
    """The timer in which it is pending. The number says nothing otherwise."""
    return <Timer>timers[task.entry.index]


cdef bint leave_timer(TimerTask task) noexcept:
    """Cancel a task that is pending; the timer's reference to it is then the caller's to drop."""
    if task.entry.state != PENDING:
        return False
    timer_of(task).leave(&task.entry, CANCELLED)
    return True


cdef class Timer:
    """Wheels on a clock. add, cancel, extend: O(1). Not moved by anything yet: see `SystemTimer` and `AsyncTimer`."""

    _takes_results = False

    def __cinit__(self):         # takes no argument, so that subclasses may take any
        list_init(&self.due)
        self.number = NO_NUMBER
        self.number = number_for(self)
        self.wheel_size = 2
        self.queue = queue_new(2, 1, 0)     # for a subclass that forgets to call __init__: closed and empty, but sound

    def __init__(self, *, tick_ms=1, wheel_size=20, clock=None, executor=None):
        cdef DelayQueue* queue
        clock = SystemClock() if clock is None else clock
        check_settings(tick_ms, wheel_size, clock, executor)
        if self.clock is not None:
            raise TypeError("a timer is made once")
        queue = queue_new(wheel_size, tick_ms, clock.now_ns() // NS_PER_MS)
        queue_free(self.queue)
        self.queue = queue
        self.tick_ms = tick_ms
        self.wheel_size = wheel_size
        self.clock = clock
        self.executor = executor
        self.is_system_clock = type(clock) is SystemClock
        self.takes_results = self._takes_results
        self._is_open = True

    def __dealloc__(self):
        cdef TimerTaskEntry* entry
        settle()
        for queue in range(2):
            if (self.wall_queue if queue else self.queue) != NULL:
                wheel_take_all((self.wall_queue if queue else self.queue).wheel, self.wheel_size, &self.due)
        entry = self.due.root.next
        while entry != &self.due.root:      # first nobody is pending here any more, then whatever that sets off may happen
            entry.state = IDLE
            entry = entry.next
        if self.number != NO_NUMBER:
            number_vacated(self.number)
        while not list_is_empty(&self.due):
            entry = self.due.root.next
            list_remove(entry)
            if entry.kind != BATCHED:
                Py_DECREF(task_of(entry))
            else:
                batch_of(entry).left(1)
        queue_free(self.queue)
        queue_free(self.wall_queue)

    # What users call

    def schedule(self, delay_ms, callback, *args):
        """Run `callback(*args)` once `delay_ms` milliseconds have passed on the monotonic clock, never earlier."""
        cdef int64_t delay = as_delay(delay_ms)
        cdef TimerTask task = TimerTask.__new__(TimerTask)
        if not callable(callback):
            raise not_callable(callback)
        task.delay = delay
        task.call = call_of(callback, args)
        self.add_task(task, delay, delay_ms)
        return task

    def add(self, task):
        """Arm a task for its `delay_ms` from now. One that is pending already, here or in another timer, moves."""
        if not isinstance(task, TimerTask):
            raise TypeError(f"add({task!r}): that is no TimerTask; schedule(delay_ms, callback) takes a function")
        return self.add_checked(task)

    cdef TimerTask add_checked(self, TimerTask task):
        if type(task) is TimerTask and task.call is None:
            raise TypeError(f"{task!r} has let go of its callback: schedule a new task, or subclass TimerTask to add again")
        delay_ms = task.delay_ms
        self.add_task(task, as_delay(delay_ms), delay_ms)
        return task

    def schedule_at(self, when, callback, *args):
        """Run `callback(*args)` once the wall clock shows `when`: an aware datetime, or epoch seconds."""
        cdef TimerTask task = TimerTask.__new__(TimerTask)
        cdef int64_t now_ns
        task.entry.deadline_ms = wall_ms(when)
        task.entry.kind = ON_WALL
        task.call = call_of(callback, args)
        now_ns = self.wall_ns()
        task.delay = max(0, task.entry.deadline_ms - floor_ms(now_ns))
        if self.wall_queue == NULL:
            self.wall_queue = queue_new(self.wheel_size, self.tick_ms, WALL_ORIGIN)
        if not callable(callback):
            raise not_callable(callback)
        self.join(task)
        self.arm(task, now_ns)
        return task

    def schedule_many(self, delays_ms, callback, *args, each=None):
        """Schedule a task for each delay, all or none; with `each`, every `callback(*args, item)` gets its own item."""
        cdef TaskBatch batch
        cdef Py_ssize_t i
        cdef int64_t longest = 0
        cdef int64_t now_ns
        if not hasattr(delays_ms, "__len__"):
            delays_ms = delays_in(delays_ms)
        batch = batch_new(delays_ms)
        if not callable(callback):
            raise not_callable(callback)
        batch.callback, batch.args, batch.each = callback, args, check_each(each, batch.length)
        for i in range(batch.length):
            longest = max(longest, batch.entries[i].deadline_ms)
        now_ns = self.now_ns()
        batch.armed_ms = ceil_ms(now_ns)
        self.check_fits(longest, batch.armed_ms, "max(delays_ms)", max(delays_ms) if longest == NEVER else longest)
        batch.timer = <PyObject*>self
        batch.linked = 1        # stands for this loop: the batch must not let go of its callback before all are in
        Py_INCREF(batch)
        try:
            self.add_batch(batch, queue_tick(self.queue, now_ns))
        finally:
            batch.left(1)
        return batch

    @property
    def size(self):
        """Tasks pending, exactly. O(1)."""
        return self._size

    @property
    def _watches_wall(self):
        """Whether a task waits for the wall clock, which may jump while a driver sleeps."""
        cdef int64_t expires
        settle()
        return self.wall_queue != NULL and queue_peek(self.wall_queue, &expires) != NULL

    def pending(self):
        """The pending tasks as of now, soonest first."""
        return iter(self.snapshot())

    def stats(self):
        cdef int64_t levels = 0
        cdef int64_t ignored = 0
        cdef int64_t queued = 0
        cdef int64_t cascaded = self.queue.cascaded
        settle()
        queue_count(self.queue, &levels, &queued)
        if self.wall_queue != NULL:
            queue_count(self.wall_queue, &ignored, &queued)
            cascaded += self.wall_queue.cascaded
        return TimerStats(
            pending=self._size, scheduled=self.scheduled, cancelled=self.cancelled, extended=self.extended,
            expired=self.expired, undone=self.undone, cascaded=cascaded, levels=levels, buckets_queued=queued,
            lateness=LatenessHistogram(tuple([self.lateness[i] for i in range(SLOTS)]), self.max_late_ns / 1e6),
        )

    def occupancy(self, levels=None):
        """How many tasks each bucket of each wheel holds, finest first, of all wheels or the finest few. O(tasks)."""
        cdef TimingWheel* wheel = self.queue.wheel
        counts = []
        check_levels(levels)
        settle()
        while wheel != NULL and (levels is None or len(counts) < levels):
            counts.append(tuple([list_length(&wheel.buckets[i]) for i in range(self.wheel_size)]))
            wheel = wheel.overflow
        return tuple(counts)

    def bucket_size(self, level, bucket):
        """How many tasks that bucket of that wheel holds, as `occupancy` says for all; O(tasks in it)."""
        cdef TimingWheel* wheel = self.queue.wheel
        cdef int64_t levels = 0
        cdef int64_t ignored = 0
        settle()
        queue_count(self.queue, &levels, &ignored)
        check_bucket(level, bucket, levels, self.wheel_size)
        for _ in range(level):
            wheel = wheel.overflow
        return list_length(&wheel.buckets[<int64_t>bucket])

    # What drivers call

    def nap_ns(self):
        """How long a driver may sleep; None for ever. From here on `_wake` tells when that gets shorter."""
        cdef int64_t now_ns = self.now_ns()
        cdef int64_t wall_ns = self.wall_ns() if self.wall_queue != NULL else 0
        self._is_napping = True
        settle()
        if not list_is_empty(&self.due):
            return 0
        nap = queue_nap_ns(self.queue, now_ns)
        if self.wall_queue == NULL:
            return nap
        wall_nap = queue_nap_ns(self.wall_at(wall_ns), wall_ns)
        return nap if wall_nap is None else wall_nap if nap is None else min(nap, wall_nap)

    def _run_due(self, int64_t limit=NO_LIMIT):
        """Run what is due by now, in the order of deadlines, at most `limit` tasks; return how many.

        What the tasks themselves arm for this same instant waits for the next call.
        """
        cdef int64_t now_ns = self.now_ns()
        cdef int64_t wall_ns = self.wall_ns() if self.wall_queue != NULL else 0
        cdef int64_t ran = 0
        cdef bint arrived = False
        while not arrived:
            arrived = self.advance(now_ns, wall_ns)
            while not list_is_empty(&self.due):
                ran += self.fire(self.due.root.next)
                if ran >= limit:
                    return ran
                if ran % 256 == 0:
                    let_others_run()    # callbacks written in C never do
            let_others_run()
        return ran

    def _run_task(self, TimerTask task):
        """Run one task that has been taken; whatever it raises goes to `_failed`."""
        cdef unsigned short arming = task.entry.arming
        call = task.call                # ours, whatever the task does to itself meanwhile
        try:
            result = make_call(call) if type(task) is TimerTask else task.run()
            if self.takes_results and result is not None:
                self._returned(task, result)
        except BaseException as exception:
            self._failed(task, exception)
        finally:
            if task.entry.state != PENDING and task.entry.arming == arming:      # not armed again meanwhile
                task.call = None

    def _take_all(self, state):
        """Close the door, and hand out whatever is pending, soonest first and from now on in `state`."""
        cdef TimerTask task
        cdef int to_state = state.value     # Python code: not between the question and the deed
        self._is_open = False
        tasks = self.snapshot()
        left = []
        for task in tasks:
            if self.has(task):
                self.leave(&task.entry, to_state)
                left.append(task)
                Py_DECREF(task)
        return left

    # What drivers say for themselves

    def _wake(self):
        """A bucket became due sooner than `nap_ns` last said."""

    def _submit(self, task):
        """Have `_run_task(task)` called by the executor."""
        raise TypeError(f"{type(self).__name__} has no use for an executor")

    def _returned(self, task, result):
        """A task returned something, and `_takes_results` is set."""

    def _failed(self, task, exception):
        raise exception

    def _refuse(self):
        raise TimerClosedError("this timer is closed")

    def _check_process(self):
        """Raise if this is a forked child, and the timer runs in its parent."""

    def _refuse_to_extend(self):
        """A pending task of a timer that is being closed: it is about to be handed back."""
        return False

    # Inside

    cdef inline int64_t now_ns(self) except? -1:
        return PyTime_MonotonicRaw() if self.is_system_clock else <int64_t>self.clock.now_ns()

    cdef inline int64_t wall_ns(self) except? -1:
        return PyTime_TimeRaw() if self.is_system_clock else <int64_t>self.clock.wall_ns()

    cdef inline int check_fits(self, int64_t delay, int64_t now_ms, name, given) except -1:
        cdef int64_t longest = LAST_MS - self.tick_ms - now_ms - max(0, -self.queue.origin_ms)
        if delay > longest:
            raise too_far(given, longest, name)
        return 0

    cdef inline int add_task(self, TimerTask task, int64_t delay, given) except -1:
        return self.put(task, delay, self.now_for(delay, given))

    cdef inline int64_t now_for(self, int64_t delay, given) except? -1:
        """The time, at which a task with this delay may be put in: refused here if that is too long."""
        cdef int64_t now_ns = self.now_ns()
        self.check_fits(delay, ceil_ms(now_ns), "delay_ms", given)
        return now_ns

    cdef inline int put(self, TimerTask task, int64_t delay, int64_t now_ns) except -1:
        """Arm the task, in one step; then wake the driver if need be."""
        self.join(task)
        task.entry.deadline_ms = ceil_ms(now_ns) + delay
        task.entry.kind = ALONE
        self.arm(task, now_ns)
        return 0

    cdef int add_batch(self, TaskBatch batch, int64_t now_tick) except -1:
        cdef TimerTaskEntry* entry
        cdef Py_ssize_t i
        cdef int is_first = 0
        if not self._is_open:
            self._refuse()
        for i in range(batch.length):       # in one step: all or none
            entry = &batch.entries[i]
            entry.deadline_ms += batch.armed_ms
            is_first |= queue_add(self.queue, entry, now_tick)
            if is_first < 0:
                raise MemoryError
            entry.state = PENDING
            batch.linked += 1
            self._size += 1
            self.scheduled += 1
        if is_first and self._is_napping:
            self.wake()
        return 0

    cdef inline int join(self, TimerTask task) except -1:
        """Make the task one of ours, and unlinked."""
        if not self._is_open:
            self._refuse()
        if self.has(task):
            list_remove(&task.entry)
            self.extended += 1
            return 0
        if not leave_timer(task):
            if task.entry.state == CANCELLED:
                settle()        # it may still be linked where it was
            Py_INCREF(task)
        task.entry.index = <uint32_t>self.number
        task.entry.state = PENDING
        task.entry.arming += 1
        self._size += 1
        self.scheduled += 1
        return 0

    cdef inline int arm(self, TimerTask task, int64_t now_ns) except -1:
        """Put the task in its queue for its deadline, and wake the driver if that comes first."""
        cdef DelayQueue* queue = self.wall_at(now_ns) if task.entry.kind == ON_WALL else self.queue
        cdef int is_first = queue_add(queue, &task.entry, queue_tick(queue, now_ns))
        if is_first < 0:
            list_link(&self.due.root, &task.entry, self.due.root.next)     # linked somewhere, so that leave() can unlink it
            self.leave(&task.entry, IDLE)
            Py_DECREF(task)
            raise MemoryError("no room for another overflow wheel")
        if is_first and self._is_napping:
            self.wake()
        return 0

    cdef int wake(self) except -1:
        self._is_napping = False
        self._wake()
        return 0

    cdef bint extend(self, TimerTask task, int64_t delay, given) except -1:
        cdef bint on_wall = task.entry.kind == ON_WALL
        cdef int64_t now_ns = self.wall_ns() if on_wall else self.now_ns()
        self.check_fits(delay, ceil_ms(now_ns), "delay_ms", given)
        if not self.has(task):
            return False        # it has moved, or ended: the clock was Python code
        if on_wall != (task.entry.kind == ON_WALL):
            return self.extend(task, delay, given)
        if not self._is_open:
            return self._refuse_to_extend()
        list_remove(&task.entry)
        self.extended += 1
        task.entry.deadline_ms = ceil_ms(now_ns) + delay
        self.arm(task, now_ns)
        return True

    cdef inline bint has(self, TimerTask task) noexcept:
        return task.entry.state == PENDING and task.entry.index == self.number

    cdef inline void leave(self, TimerTaskEntry* entry, int state) noexcept:
        """Take a pending entry out. What it refers to stays, for the caller to drop when all is in order."""
        list_remove(entry)
        self.count_out(entry, state)

    cdef inline void count_out(self, TimerTaskEntry* entry, int state) noexcept:
        entry.state = <uint8_t>state
        self._size -= 1
        self.cancelled += state == CANCELLED
        self.expired += state == EXPIRED
        self.undone += state == IDLE

    cdef bint advance(self, int64_t now_ns, int64_t wall_ns) noexcept:
        cdef bint arrived
        settle()
        arrived = queue_advance(self.queue, queue_tick(self.queue, now_ns), &self.due, CHUNK)
        cdef DelayQueue* queue
        if self.wall_queue != NULL:
            queue = self.wall_at(wall_ns)
            arrived &= queue_advance(queue, queue_tick(queue, wall_ns), &self.due, CHUNK)
        return arrived

    cdef DelayQueue* wall_at(self, int64_t wall_ns) noexcept:
        """The wall clock's queue, put right if that clock was set back."""
        cdef int64_t tick = max(0, queue_tick(self.wall_queue, wall_ns))
        if tick < self.wall_queue.now:
            settle()
            queue_rewind(self.wall_queue, tick)
        return self.wall_queue

    cdef int fire(self, TimerTaskEntry* entry) except -1:
        """Take the first due entry and run it; 1 if that happened."""
        cdef int64_t now_ns = self.wall_ns() if entry.kind == ON_WALL else self.now_ns()
        cdef TimerTask task
        settle()
        if entry != self.due.root.next:
            return 0            # cancelled by the task before, or by the clock, which may be Python code
        self.leave(entry, EXPIRED)
        fetch_ahead(self.due.root.next.next)
        self.note_lateness(now_ns, entry.deadline_ms)
        if entry.kind == BATCHED:
            self.fire_batched(batch_of(entry), entry.index)
            return 1
        task = task_of(entry)
        Py_DECREF(task)         # the wheel's reference; `task` holds our own
        if self.executor is None:
            self._run_task(task)
        else:
            self._submit(task)
        return 1

    cdef int fire_batched(self, TaskBatch batch, Py_ssize_t i) except -1:
        """Run an entry of a batch without making a task of it, unless somebody wants to see one."""
        cdef TimerTaskEntry* entry = &batch.entries[i]
        cdef TimerTask task
        entry.state = RUNNING
        try:
            if self.executor is not None:
                self._submit(batch.task(i))
            elif self.takes_results:
                self._run_task(batch.task(i))
            else:
                self.call_batched(batch, i)
        finally:
            if entry.state == RUNNING:
                entry.state = EXPIRED
            batch.left(1)
        return 1

    cdef int call_batched(self, TaskBatch batch, Py_ssize_t i) except -1:
        cdef TimerTask task
        callback, args = batch.callback, batch.arguments(i)
        try:
            callback(*args)
        except BaseException as exception:
            self._failed(batch.task(i), exception)
        finally:
            if batch.entries[i].state == PROMOTED:
                task = batch.task(i)
                if task.entry.state != PENDING:     # not armed again meanwhile
                    task.call = None
        return 0

    cdef inline void note_lateness(self, int64_t now_ns, int64_t deadline_ms) noexcept:
        cdef int64_t late_ns = floor_ms(now_ns) - deadline_ms
        late_ns = now_ns - deadline_ms * NS_PER_MS if late_ns < LATEST_MS else LATEST_MS * NS_PER_MS
        late_ns = max(0, late_ns)
        self.lateness[min(SLOTS - 1, bit_length(late_ns / 1000))] += 1
        self.max_late_ns = max(self.max_late_ns, late_ns)

    cdef list snapshot(self):
        """The pending tasks, soonest first. Found in one step; made tasks of afterwards, when anything may happen."""
        cdef Py_ssize_t length = self._size
        cdef Py_ssize_t i
        cdef list tasks = []
        cdef TimerTaskEntry** entries = <TimerTaskEntry**>PyMem_Malloc(max(1, length) * sizeof(TimerTaskEntry*))
        cdef TimerTaskEntry** end = entries + length
        if entries == NULL:
            raise MemoryError
        settle()
        end = wheel_copy(self.queue.wheel, self.wheel_size, list_copy(&self.due, entries, end), entries + length)
        if self.wall_queue != NULL:
            end = wheel_copy(self.wall_queue.wheel, self.wheel_size, end, entries + length)
        length = end - entries
        for i in range(length):
            Py_INCREF(owner_of(entries[i]))
        for i in range(length):
            owner = owner_of(entries[i])
            tasks.append((<TaskBatch>owner).task(entries[i].index) if entries[i].kind == BATCHED else owner)
            Py_DECREF(owner)
        PyMem_Free(entries)
        tasks.sort(key=_deadline_ms)
        return tasks

    def _check(self):
        """Prove the invariants that the docstrings promise."""
        assert self.scheduled == self._size + self.cancelled + self.expired + self.undone, "none lost, none twice"
        assert self.expired >= sum([self.lateness[i] for i in range(SLOTS)]), "none ran twice"
        settle()                # not before: a comprehension may set off a collection, and that cancel something
        count = list_check(self, &self.due) + queue_check(self, self.queue)
        if self.wall_queue != NULL:
            count += queue_check(self, self.wall_queue)
        assert count == self._size, "size is exact"


cdef inline object owner_of(TimerTaskEntry* entry):
    return batch_of(entry) if entry.kind == BATCHED else task_of(entry)


def _deadline_ms(TimerTask task):
    return task.entry.deadline_ms


cdef int64_t list_check(Timer timer, TimerTaskList* bucket) except -1:
    cdef TimerTaskEntry* entry = bucket.root.next
    cdef int64_t count = 0
    while entry != &bucket.root:
        assert entry.prev.next == entry == entry.next.prev, "the list is linked both ways"
        assert entry.state == PENDING, "who is linked is pending"
        if entry.kind != BATCHED:
            assert timer.has(task_of(entry)), "here"
        else:
            assert batch_of(entry).timer == <PyObject*>timer and batch_of(entry).linked > 0, "here"
        count += 1
        entry = entry.next
    return count


cdef int64_t queue_check(Timer timer, DelayQueue* queue) except -1:
    cdef TimingWheel* wheel = queue.wheel
    cdef TimerTaskEntry* entry
    cdef int64_t i, due, expires
    cdef int64_t count = 0
    while wheel != NULL:
        assert wheel.position == queue.now / wheel.tick, "all wheels show the same time"
        for i in range(queue.size):
            count += list_check(timer, &wheel.buckets[i])
            occupied = bool(wheel.occupied[i >> 6] >> (i & 63) & 1)
            assert occupied != list_is_empty(&wheel.buckets[i]), "a bucket is queued iff it is non-empty"
            entry = wheel.buckets[i].root.next
            while entry != &wheel.buckets[i].root:
                due = (entry.deadline_ms - queue.origin_ms + queue.tick_ms - 1) / queue.tick_ms
                assert due <= wheel.last and max(due / wheel.tick, wheel.position) % queue.size == i, "in its bucket"
                entry = entry.next
        wheel = wheel.overflow
    queue_peek(queue, &expires)
    assert expires >= queue.earliest, "nothing expires before earliest"
    return count
