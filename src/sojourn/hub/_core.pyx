# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False, embedsignature=True
"""Waits and signals, compiled: what `_wait.py` says. Read that one first.

* A wait for a single signal, the commonest, takes no lock: from the stamp on, all that a call does to it is one step in
  C, and the GIL is the lock. So `single` waits never meet the hub's lock, unless the hub remembers.
* Conditions of several parts are read in Python. The hub's lock makes that one step, and whoever ends or extends such
  a wait takes it too.
"""

cimport cython
from cpython.object cimport PyObject_Hash
from cpython.pythread cimport PyThread_get_thread_ident
from cpython.ref cimport Py_INCREF, PyObject
from cpython.tuple cimport PyTuple_SET_ITEM
from libc.stdint cimport int64_t, uint8_t

from sojourn.purgatory._core cimport CANCELLED, COMPLETED, EXPIRED, DelayedOperation, Watchers

from threading import RLock

from ..errors import ConfigError, HubFullError
from ..purgatory._keys import distinct
from ..rules import Event, Outcome
from ..timer._state import MAX_MS, whole_ms
from ._ending import (
    add_callback, await_outcome, call_all, check_callback, decided_by, explanation, not_by_hand, outcome_of, settle, tell_all,
    wait_for,
)

cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        pass
    object PyType_GenericAlloc(PyTypeObject* cls, Py_ssize_t items)

cdef extern from "../timer/_task_memory.h":
    void task_memory_serve(PyTypeObject* cls) noexcept

cdef enum:
    NS_PER_MS = 1_000_000

cdef enum:              # what can be done to a wait
    COME                # the timer has
    CANCEL
    COMPLETE
    EXTEND

cdef int64_t NOT_YET = -(2**62)     # no time of a wait
cdef int64_t NO_LIMIT = 2**62
cdef int64_t TOO_LONG = MAX_MS      # and whatever is longer
cdef tuple ENDINGS = (None, "completed", "expired", "cancelled")

cdef object running_loop = None     # asyncio's, once somebody asks for a future: `import sojourn` stays quick without it
cdef PyObject* last_loop = NULL     # of the latest future: to be compared, no more
cdef unsigned long last_thread      # where that loop runs; to ask asyncio takes a system call


@cython.no_gc
cdef class Wait(DelayedOperation):
    """One wait: pending until its condition is met, its deadline passes or it is cancelled."""

    cdef readonly object _hub
    cdef readonly object _plan
    cdef object single              # the plan's
    cdef object _id                 # None where the hub made one up: then it is the number
    cdef int64_t number
    cdef public object _progress
    cdef object callbacks           # None, one or a list of callbacks and futures; TimerTask's own would go after a run
    cdef readonly int64_t opened_at
    cdef readonly int64_t deadline
    cdef int64_t ended_at
    cdef readonly object _by        # what ended it; None where that can be read from its progress
    cdef int64_t cancelled_at       # when a signal cancelled it: it ends when that instant is over, unless it completes

    def __init__(self, *args, **kwargs):
        raise not_by_hand()

    # What users call

    def result(self, timeout=None):
        """The outcome, once there is one; waits for it at most `timeout` seconds, then raises `TimeoutError`."""
        wait_for(self, timeout)
        return self.conclude()

    def done(self):
        return self.ended != 0

    def cancel(self):
        """End it as cancelled. True exactly for the caller that did; what is overdue expires instead."""
        is_cancelled = self.in_one_step(CANCEL, hub_of(self).now(), 0)
        self.tell()
        return is_cancelled

    def force_complete(self):
        """Complete it, whatever its condition says. True exactly for the caller that did."""
        is_completed = self.in_one_step(COMPLETE, hub_of(self).now(), 0)
        self.tell()
        return is_completed

    def extend(self, delay_ms):
        """Move the deadline to `delay_ms` from now, either way. False if it has ended, or is being cancelled."""
        cdef Signals hub = hub_of(self)
        cdef int64_t delay = min(whole_ms(delay_ms), TOO_LONG)
        cdef int64_t now = hub.now()
        hub.check_fits(delay, now, delay_ms)
        is_extended = (hub.timer._is_open or hub.timer._refuse_to_extend()) and self.in_one_step(EXTEND, now, now + delay)
        self.tell()
        return is_extended

    def explain(self):
        """A sentence: how it ended, or what it still waits for."""
        return explanation(self)

    def add_done_callback(self, callback):
        """Call `callback(wait)` when it has ended: at once, if it has."""
        add_callback(self, callback)

    def future(self):
        """The outcome as a future of the running asyncio loop."""
        future = current_loop().create_future()
        if not self.hang(future):
            resolve(future, self)
        return future

    def __await__(self):
        return await_outcome(self)

    @property
    def id(self):
        return self.number if self._id is None else self._id

    @property
    def key(self):
        """Its key, or the first of several."""
        return self.keys if self.has_one_key else self.keys[0]

    @property
    def rule(self):
        """The name of its rule."""
        return self._plan.rule.name

    @property
    def decided_by(self):
        """What ended it: the kind of a signal, "deadline", "cancel" or "force_complete"; None while it is pending."""
        return decided_by(self)

    @property
    def at(self):
        return None if self.ended_at == NOT_YET else self.ended_at

    # What the timer calls

    def run(self):
        """The timer has come: too early if the deadline has just moved, and then it comes again."""
        self.in_one_step(COME, hub_of(self).now(), 0)
        self.tell()

    # Inside: one step in C or, where several parts are read, with the lock held

    cdef bint in_one_step(self, int deed, int64_t now, int64_t deadline) except -1:
        """Do it, unless it is over; True if that was done."""
        if self.single is not None:
            return not self.is_over(now) and self.do(deed, now, deadline)
        lock = hub_of(self)._lock
        with lock:
            return not self.is_over(now) and self.do(deed, now, deadline)

    cdef bint do(self, int deed, int64_t now, int64_t deadline) except -1:
        if deed == COME:
            hub_of(self).arm(self, self.until(), now)
        elif deed == COMPLETE:
            return self.end(COMPLETED, now, "force_complete")
        elif self.cancelled_at != NOT_YET:
            return deed == CANCEL and self.end(CANCELLED, self.cancelled_at, self._plan.rule.cancels)
        elif deed == CANCEL:
            return self.end(CANCELLED, now, "cancel")
        else:
            self.deadline = deadline
            hub_of(self).arm(self, deadline, now)
        return True

    cdef inline int64_t until(self) noexcept:
        """The last instant at which signals count."""
        return self.deadline if self.cancelled_at == NOT_YET else self.cancelled_at

    cdef bint is_over(self, int64_t now) except -1:
        """Whether it has ended; what should have by now does so here, late or not."""
        if not self.ended and now > self.until():
            if self.cancelled_at == NOT_YET:
                self.end(EXPIRED, self.deadline, "deadline")
            else:
                self.end(CANCELLED, self.cancelled_at, self._plan.rule.cancels)
        return self.ended != 0

    cdef bint end(self, uint8_t outcome, int64_t at, by) except -1:
        """Leave pending for `outcome`, its keys and the timer. True only for the caller that moved it, who tells."""
        if self.ended:
            return False
        self.ended = outcome
        self.ended_at = at
        self._by = by
        if self.watchers != NULL:
            (<Watchers>self.watchers).leave(self)
        self.leave_timer()
        return True

    cdef bint complete(self, int64_t at, by) except -1:
        """Its condition was met then; True if that is in time."""
        if at < self.opened_at:     # the signal was on its way already
            at = self.opened_at
        return at <= self.until() and self.end(COMPLETED, at, by)

    cdef bint hears(self, event) except -1:
        """Let an event that its plan takes count, from the opening to the last instant; True if that completed it."""
        cdef int64_t at = event.at
        if self.single is not None:
            return self.complete(at, self.single)
        if at < self.opened_at:
            at = self.opened_at
            event = event._replace(at=at)
        return not self.ended and at <= self.until() and self._plan.read(self, event)

    def _complete(self, int64_t at):
        return self.complete(at, None)

    def _keep_alive(self, int64_t at):
        """A sign of life moves the deadline, never back; once it is being cancelled, the timer comes all the same."""
        cdef int64_t deadline = at + <int64_t>self._plan.within_ms
        if deadline > self.deadline:
            self.deadline = deadline
            hub_of(self).arm(self, self.until(), at)

    def _cancel_at(self, int64_t at, by):
        """From now on only signals up to this very instant count: completed goes before cancelled."""
        if self.cancelled_at == NOT_YET or at < self.cancelled_at:
            self.cancelled_at = at
            hub_of(self).arm(self, at, at)

    # Inside

    def _cancel_untold(self, int64_t now):
        return self.in_one_step(CANCEL, now, 0)

    def _tell(self):
        self.tell()

    cdef int tell(self) except -1:
        """Call what was hung on it, once it has ended, and once only. Its id is free by then."""
        if not self.ended or self.has_told:
            return 0
        held = self.callbacks
        self.has_told = True
        self.callbacks = None
        if self._id is not None:
            self._hub._has_ended(self)
        if held is None:
            return 0
        if type(held) is list:
            call_all(self, iter(held))
            return 0
        try:
            if callable(held):
                held(self)
            else:
                resolve(held, self)
        except Exception as exception:
            self._hub._failed(self, exception)
        return 0

    def _conclude(self):
        return self.conclude()

    cdef object conclude(self):
        """What `outcome_of` says, and quickly where one signal decides alone."""
        cdef tuple said
        if self.single is None or not self.ended:
            return outcome_of(self)
        ending = ENDINGS[self.ended]
        said = self._plan.words[ending, self._by]
        at = self.ended_at
        return as_outcome((
            str(self.number if self._id is None else self._id),
            said[0],
            self.keys if self.has_one_key else self.keys[0],
            self.opened_at,
            self.deadline,
            ending,
            at,
            self.ended_at - self.opened_at,
            at if self.ended == COMPLETED else None,
            self._by,
            said[1],
            said[2],
        ))

    def _hang(self, callback):
        return self.hang(callback)

    cdef bint hang(self, callback) except -1:
        """Add a callback, or a future; False if it is too late for that."""
        cdef list several = None if self.callbacks is None else [None, callback]    # beforehand: garbage may be collected
        if not hub_of(self)._is_open and not self.has_told:
            self._hub._check_process()
        if self.has_told:
            return False
        if self.callbacks is None:
            self.callbacks = callback
        elif type(self.callbacks) is list:
            (<list>self.callbacks).append(callback)
        else:
            several[0] = self.callbacks
            self.callbacks = several
        return True

    def _unhang(self, callback):
        """Take a callback off again, unless it has been called."""
        cdef Py_ssize_t i
        if self.callbacks is callback:
            self.callbacks = None
        elif type(self.callbacks) is list:
            for i in range(len(<list>self.callbacks)):
                if (<list>self.callbacks)[i] is callback:
                    del (<list>self.callbacks)[i]
                    break


task_memory_serve(<PyTypeObject*>Wait)  # pages of its own, as it is larger than the timer's tasks


cdef class Signals(Watchers):
    """Watch lists that carry signals to waits."""

    cdef readonly object _lock      # reentrant; held while several parts are read, never while waits tell
    cdef int64_t epoch_ms
    cdef public object _memory
    cdef public int64_t _limit
    cdef int64_t last_number
    cdef tuple last                 # what `wait` was last asked for, and the plan for that

    def __init__(self, timer, shards):
        Watchers.__init__(self, timer, shards)
        self._lock = RLock()
        self.epoch_ms = (timer.clock.wall_ns() - timer.clock.now_ns()) // NS_PER_MS
        self._limit = NO_LIMIT

    cdef int64_t now(self) except? -1:
        if not self._is_open:
            self._check_process()   # here, as whatever is done with a hub or a wait begins with the time
        return floor_ms(self.timer.now_ns()) + self.epoch_ms

    def now_ms(self):
        """The hub's time: milliseconds since the epoch, but running on the monotonic clock."""
        return self.now()

    def wait(self, key, until=None, within=None, *, rule=None, id=None, callback=None):
        """Wait on a key (or a list of keys) until a condition is met, at most `within`; or as a rule says.

        The wait's `result()` is its outcome, `await` works too, and `callback(wait)` is called when it has ended.
        Waiting twice with the same `id` is the same wait.
        """
        cdef tuple last = self.last
        cdef Wait wait
        if type(key) is str:        # whose hash runs no code
            self.fetch_bucket(PyObject_Hash(key))
        if callback is not None and not callable(callback):
            check_callback(callback)
        if last is not None and until is last[0] and within is last[1] and rule is last[2]:
            plan = last[3]
        else:
            plan = self._plan(until, within, rule)
            self.last = (until, within, rule, plan)
        if id is not None:
            wait = self._open_once(plan, distinct(key) if isinstance(key, list) else (key,), id, callback, self.now())
        elif isinstance(key, list):
            wait = self.open(plan, distinct(key), False, None, callback, self.now())
        else:
            wait = self.open(plan, key, True, None, callback, self.now())
        if self._memory is not None:
            self._has_recalled()
            wait.tell()             # what was recalled may have ended it
        return wait

    def signal(self, key, kind, source=None, value=None):
        """Tell every wait on the key that something of this kind has happened; return how many that completed."""
        cdef int64_t at = self.now()
        cdef Wait wait
        if self._memory is None:
            watching = self.watching(key)
            if watching is None:
                return 0
            if type(watching) is Wait and (<Wait>watching).single is not None:
                wait = <Wait>watching
                self.fetch_next(wait)
                if kind != wait.single or not wait.complete(at, wait.single):
                    return 0
                wait.tell()
                return 1
        return self._spread(Event(key, kind, at, source, value))

    def _spread(self, event):
        """Let an event count for all who wait on its key; return how many that completed."""
        completed = []
        try:
            with self._lock:
                waits = [wait for wait in self._watching(event.key) if (<Wait?>wait)._plan.takes(event)]
                if self._memory is not None:
                    self._memory.keep(event)
                for wait in waits:
                    if (<Wait>wait).hears(event):
                        completed.append(wait)
        finally:
            tell_all(iter(completed))
        return len(completed)

    def _open(self, plan, tuple keys, wait_id, callback, int64_t now):
        """A wait of that plan, on those keys, from then on. If it has ended already, the caller lets it tell."""
        return self.open(plan, keys[0] if len(keys) == 1 else keys, len(keys) == 1, wait_id, callback, now)

    cdef Wait open(self, plan, keys, bint is_one, wait_id, callback, int64_t now):
        cdef Wait wait = Wait.__new__(Wait)
        cdef int64_t within = plan.within_ms
        wait._hub = self
        wait._plan = plan
        wait.single = plan.single
        wait._id = wait_id
        wait.callbacks = callback
        wait.opened_at = now
        wait.deadline = now + within
        wait.delay = within + 1
        wait.ended_at = wait.cancelled_at = NOT_YET
        self.check_fits(within, now, within)
        if self._delayed >= self._limit:
            self._refuse_more()
        self.admit(wait)
        self.last_number += 1
        wait.number = self.last_number
        try:
            if self._memory is None:
                self.begin(wait, keys, is_one)
            else:
                with self._lock:
                    recalled = self._memory.recall((keys,) if is_one else keys, now, wait)
                    self.begin(wait, keys, is_one)
                    for event in recalled:
                        if wait.hears(event):
                            break
        except BaseException:
            if wait.watchers != NULL:
                self.unwatch(wait)
            wait.leave_timer()
            raise
        return wait

    cdef int begin(self, Wait wait, keys, bint is_one) except -1:
        self.watch(wait, keys, is_one)
        if not self.timer._is_open:
            self.timer._refuse()
        if not wait.ended:
            self.arm(wait, wait.until(), wait.opened_at)
        return 0

    cdef int check_fits(self, int64_t delay, int64_t now, given) except -1:
        self.timer.check_fits(delay, now + 1 - self.epoch_ms, "delay_ms", given)   # one more: the timer comes when it is over
        return 0

    cdef int arm(self, Wait wait, int64_t until, int64_t now) except -1:
        """Have the timer come when `until` is over, as a signal stamped like it still counts."""
        if self.timer._is_open:
            self.timer.put(wait, until + 1 - now, (now - self.epoch_ms) * NS_PER_MS)
        return 0

    # What the hub says for itself

    def _plan(self, until, within, rule):
        """The plan for these arguments."""
        raise ConfigError("this hub has no plans")

    def _open_once(self, plan, keys, wait_id, callback, now):
        """The wait of that id, or a new one."""
        return self._open(plan, keys, wait_id, callback, now)

    def _has_recalled(self):
        """Early signals have been read, or passed over."""

    def _has_ended(self, wait):
        """A wait that was given an id has ended."""

    def _refuse_more(self):
        raise HubFullError("this hub is full")


cdef object as_outcome(tuple fields):
    """Outcome(*fields), at a third of the price."""
    cdef Py_ssize_t i
    outcome = PyType_GenericAlloc(<PyTypeObject*>Outcome, len(fields))
    for i in range(len(fields)):
        Py_INCREF(fields[i])
        PyTuple_SET_ITEM(outcome, i, fields[i])
    return outcome


cdef object current_loop():
    """asyncio's loop in this thread; an error if none is running."""
    global running_loop, last_loop, last_thread
    if running_loop is None:
        from asyncio import _get_running_loop
        running_loop = _get_running_loop
    loop = running_loop()
    if loop is None:
        raise RuntimeError("no running event loop")
    last_loop, last_thread = <PyObject*>loop, PyThread_get_thread_ident()
    return loop


cdef inline bint is_here(loop) except -1:
    """Whether the loop of a future runs in this thread."""
    return <PyObject*>loop == last_loop and PyThread_get_thread_ident() == last_thread or running_loop() is loop


cdef int resolve(future, Wait wait) except -1:
    """Give a future its outcome; where its loop is not the one running here, let that do so when it comes to it."""
    loop = future.get_loop()
    if not is_here(loop):
        loop.call_soon_threadsafe(settle, future, wait)
    elif not future.done():         # its own awaiter may have been cancelled
        future.set_result(wait.conclude())
    return 0


cdef inline Signals hub_of(Wait wait):
    if wait._hub is None:
        raise not_by_hand()
    return <Signals>wait._hub


cdef inline int64_t floor_ms(int64_t ns) noexcept:
    return ns / NS_PER_MS - (ns % NS_PER_MS < 0)
