# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False, embedsignature=True
"""Waits and signals, compiled: what `_wait.py` and `_signals.py` say. Read those first.

* A wait for a single signal, the commonest, takes no lock: from the stamp on, all that a call does to it is one step in
  C, and the GIL is the lock. So `single` waits never meet the hub's lock, unless they have an id or the hub remembers.
* Conditions of several parts are read in Python, by `_law.py`. The hub's lock makes that one step, and whoever ends or
  extends such a wait takes it too. What the law says of a single signal stands here once more, in C: see `verdict`.
* `QuickVerbs` has the two verbs that are called most, `wait` and `signal`, as `hub.py` says, without a frame of Python.
"""

cimport cython
from cpython.object cimport PyObject_Hash
from cpython.pythread cimport PyThread_get_thread_ident
from cpython.ref cimport Py_INCREF, PyObject
from cpython.tuple cimport PyTuple_SET_ITEM
from libc.stdint cimport int64_t, uint8_t, uint64_t

from sojourn.purgatory._core cimport CANCELLED, COMPLETED, EXPIRED, DelayedOperation, Watchers

from threading import RLock

from ..errors import HubFullError, RuleError
from ..purgatory._keys import distinct
from ..rules import Event, Outcome
from ..timer._state import MAX_MS, whole_ms
from ._blocking import wait_for
from ._ending import (
    add_callback, await_outcome, call_all, check_callback, decided_by, explanation, not_by_hand, outcome_of,
    refuse_to_copy, settle, tell_all,
)
from ._ids import check_same
from ._law import count
from ._plan import plain_event, refused

cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        pass
    object PyType_GenericAlloc(PyTypeObject* cls, Py_ssize_t items)
    PyObject* PyThreadState_GetDict() noexcept

cdef extern from "../timer/_task_memory.h":
    void task_memory_serve(PyTypeObject* cls) noexcept

cdef enum:
    NS_PER_MS = 1_000_000

cdef enum:              # what can be asked of a wait
    NOTICE_THE_TIME     # the timer has come
    CANCEL
    COMPLETE
    EXTEND

cdef int64_t NOT_YET = -(2**62)     # no time of a wait: it has not ended, been met or been cancelled
cdef int64_t NO_LIMIT = 2**62
cdef int64_t TOO_LONG = MAX_MS      # and whatever is longer
cdef tuple ENDINGS = (None, "completed", "expired", "cancelled")

cdef object outcome_future = None   # the class of futures, and
cdef object running_loop = None     # asyncio's function, once somebody asks for a future: `import sojourn` stays quick without it
cdef object last_loop = None        # of the latest future
cdef unsigned long last_thread      # where that loop runs; to ask asyncio takes a system call
cdef object last_run = None         # what asyncio keeps in the dict of a thread for as long as a loop runs there


@cython.no_gc
cdef class Wait(DelayedOperation):
    """One wait: pending until its condition is met, its deadline passes or it is cancelled."""

    cdef readonly object _waits     # the hub's, of which this is one
    cdef readonly object _plan
    cdef object single              # the plan's
    cdef readonly object _id        # the entry of its id; None where the hub made one up: then it is the number
    cdef int64_t number
    cdef public object _progress    # the evidence for its condition, from the first signal on; none for a single signal
    cdef object callbacks           # None, a callback or a future, or several in a dict; TimerTask's own would go after a run
    cdef readonly int64_t opened_at
    cdef readonly int64_t deadline
    cdef int64_t ended_at
    cdef readonly object _by        # what ended it; None where that can be read from its progress
    cdef int64_t cancelled_at       # when a signal cancelled it: it ends when that instant is over, unless it completes

    def __init__(self, *args, **kwargs):
        raise not_by_hand()

    # What users call

    def result(self, timeout=None):
        """The outcome, once there is one; waits for it at most `timeout` seconds, then raises `TimeoutError`.

        Where waiting would be for ever (in a callback on the hub's own thread, on the loop of an `AsyncHub`) it raises
        `DeadlockError`. On a `ManualClock`, waiting in the thread that made the hub moves the clock.
        """
        if not self.ended:
            wait_for(self, timeout)
        return self.conclude()

    def done(self):
        return self.ended != 0

    def cancel(self):
        """End it as cancelled. True exactly for the caller that did; what is overdue expires instead."""
        is_cancelled = self.in_one_step(CANCEL, waits_of(self).now(), 0)
        self.tell()
        return is_cancelled

    def force_complete(self):
        """Complete it, whatever its condition says. True exactly for the caller that did."""
        is_completed = self.in_one_step(COMPLETE, waits_of(self).now(), 0)
        self.tell()
        return is_completed

    def extend(self, delay_ms):
        """Move the deadline to `delay_ms` from now, either way. False if it has ended, or is being cancelled."""
        cdef Signals waits = waits_of(self)
        cdef int64_t delay = min(whole_ms(delay_ms), TOO_LONG)
        cdef int64_t now = waits.now()
        waits.check_fits(delay, now, delay_ms)
        is_extended = (waits.timer._is_open or waits.timer._refuse_to_extend()) and self.in_one_step(EXTEND, now, now + delay)
        self.tell()
        return is_extended

    def explain(self):
        """A sentence: how it ended, or what it still waits for."""
        return explanation(self)

    def add_done_callback(self, callback):
        """Call `callback(wait)` when it has ended: at once, if it has. For an `AsyncHub` it may be `async`."""
        add_callback(self, callback)

    def future(self):
        """The outcome as a future of the running asyncio loop."""
        loop = current_loop()
        future = outcome_future(loop=loop)
        future._wait = self
        if not self.hang(future):
            resolve(future, self)
        return future

    def _plain_future(self):
        """The one that asyncio awaits quickest."""
        future = current_loop().create_future()
        if not self.hang(future):
            resolve(future, self)
        return future

    def __await__(self):
        return await_outcome(self)

    @property
    def id(self):
        return self.number if self._id is None else self._id.key

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

    def __reduce_ex__(self, protocol):
        refuse_to_copy(self)

    # What the timer calls

    def run(self):
        """The timer has come: too early if the deadline has just moved, and then it comes again."""
        self.in_one_step(NOTICE_THE_TIME, waits_of(self).now(), 0)
        self.tell()

    # Inside: one step in C or, where several parts are read, with the lock held

    cdef bint in_one_step(self, int asked, int64_t now, int64_t deadline) except -1:
        """Do what is asked, unless the wait is over; True if that was done."""
        if self.single is not None:
            return not self.is_over(now) and self.do(asked, now, deadline)
        lock = waits_of(self)._lock
        with lock:
            return not self.is_over(now) and self.do(asked, now, deadline)

    cdef bint do(self, int asked, int64_t now, int64_t deadline) except -1:
        if asked == NOTICE_THE_TIME:
            waits_of(self).arm(self, self.last_instant(), now)
        elif asked == COMPLETE:
            return self.end(COMPLETED, now, "force_complete")
        elif self.cancelled_at != NOT_YET:
            return asked == CANCEL and self.end_unmet()
        elif asked == CANCEL:
            return self.end(CANCELLED, now, "cancel")
        else:
            self.deadline = deadline
            waits_of(self).arm(self, deadline, now)
        return True

    # The law, as `_law.py` has it

    cdef inline int64_t last_instant(self) noexcept:
        """The last instant at which a signal counts: when that is over, so is the wait."""
        cdef int64_t at
        verdict(NOT_YET, self.cancelled_at, self.deadline, &at)
        return at

    cdef bint is_over(self, int64_t now) except -1:
        """Whether it has ended; what should have by now does so here, late or not."""
        if not self.ended and now > self.last_instant():
            self.end_unmet()
        return self.ended != 0

    cdef bint end_unmet(self) except -1:
        cdef int64_t at
        if verdict(NOT_YET, self.cancelled_at, self.deadline, &at) == EXPIRED:
            return self.end(EXPIRED, at, "deadline")
        return self.end(CANCELLED, at, self._plan.rule.cancels)

    cdef bint complete_single(self, int64_t at) except -1:
        """Its one signal came then, though not before the opening; True if that completed it, in time."""
        if at < self.opened_at:     # the signal was on its way already
            at = self.opened_at
        return verdict(at, self.cancelled_at, self.deadline, &at) == COMPLETED and self.end(COMPLETED, at, self.single)

    cdef bint hears(self, event) except -1:
        """Let an event of a kind that its plan reads count; True if that completed it."""
        cdef int64_t at = event.at
        if self.single is not None:
            return self.complete_single(at)
        if at < self.opened_at:
            at = self.opened_at
            event = event._replace(at=at)
        return not self.ended and at <= self.last_instant() and count(self, event)

    def _complete(self, int64_t at):
        return self.end(COMPLETED, at, None)

    def _extend_to(self, int64_t deadline, int64_t now):
        self.deadline = deadline
        waits_of(self).arm(self, self.last_instant(), now)

    def _cancel_after(self, int64_t at):
        """From now on only signals up to this very instant count: completed goes before cancelled."""
        self.cancelled_at = at
        waits_of(self).arm(self, at, at)

    @property
    def _cancelled_at(self):
        return None if self.cancelled_at == NOT_YET else self.cancelled_at

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

    # Inside

    def _cancel_untold(self, int64_t now):
        return self.in_one_step(CANCEL, now, 0)

    def _tell(self):
        self.tell()

    cdef int tell(self) except -1:
        """Call its callbacks, once it has ended, and once only. Its id is free by then."""
        if not self.ended or self.has_told:
            return 0
        held = self.callbacks
        self.has_told = True
        self.callbacks = None
        if self._id is not None:
            self._waits._has_ended(self)
        if held is None:
            return 0
        if type(held) is dict:
            call_all(self, iter((<dict>held).values()))
            return 0
        try:
            if not callable(held):
                resolve(held, self)
            else:
                returned = held(self)
                if returned is not None:
                    self._waits._returned(self, returned)
        except Exception as exception:
            self._waits._failed(self, exception)
        return 0

    def _conclude(self):
        return self.conclude()

    cdef object conclude(self):
        """What `outcome_of` says, and quickly where one signal decides alone."""
        cdef tuple texts
        if self.single is None or not self.ended:
            return outcome_of(self)
        ending = ENDINGS[self.ended]
        texts = self._plan.texts[ending, self._by]
        at = self.ended_at
        return as_outcome((
            str(self.number if self._id is None else self._id.key),
            texts[0],
            self.keys if self.has_one_key else self.keys[0],
            self.opened_at,
            self.deadline,
            ending,
            at,
            self.ended_at - self.opened_at,
            at if self.ended == COMPLETED else None,
            self._by,
            texts[1],
            texts[2],
        ))

    def _hang(self, callback):
        return self.hang(callback)

    cdef bint hang(self, callback) except -1:
        """Add a callback, or a future; False if it is too late for that."""
        if not waits_of(self)._is_open and not self.has_told:
            self._waits._check_process()
        cdef dict several = None if self.callbacks is None else {}      # beforehand: garbage may be collected
        if self.has_told:
            return False
        if self.callbacks is None:
            self.callbacks = callback
            return True
        if type(self.callbacks) is not dict:
            several[id(self.callbacks)] = self.callbacks
            self.callbacks = several
        several = <dict>self.callbacks
        several[object() if id(callback) in several else id(callback)] = callback   # the same one may come twice
        return True

    def _unhang(self, callback):
        """Take a callback off again, unless it has been called. O(1)."""
        if self.callbacks is callback:
            self.callbacks = None
        elif type(self.callbacks) is dict:
            (<dict>self.callbacks).pop(id(callback), None)


task_memory_serve(<PyTypeObject*>Wait)  # pages of its own, as it is larger than the timer's tasks


cdef class Signals(Watchers):
    """Watch lists that carry signals to waits."""

    cdef readonly object _lock      # reentrant; held while several parts are read, never while keys are compared or waits tell
    cdef int64_t epoch_ms
    cdef public object _memory
    cdef public int64_t _limit
    cdef int64_t last_number

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
        return self.now()

    # A signal

    def _spread(self, event):
        """Let an event count for all who wait on its key; return how many that completed."""
        cdef list completed = []
        if not is_plain(event):
            event = plain_event(event)
        try:
            while not self.try_to_spread(event, completed):
                pass                # others came or went while keys were compared
        except RuleError as refusal:
            raise refused(event, str(refusal)) from None
        finally:
            tell_all(iter(completed))
        return len(completed)

    cdef bint try_to_spread(self, event, list completed) except -1:
        """Look for those who wait on the key, then let them hear; False if they may not be the ones any more.

        Without a memory that does not matter: who came meanwhile came after the signal.
        """
        cdef uint64_t changes = self.changes
        watching = self._watching(event.key)
        early = None if self._memory is None else self._memory.look(event.key)
        kind = event.kind
        with self._lock:
            if early is not None and (changes != self.changes or not self._memory.stands(early)):
                return False
            waits = [wait for wait in watching if kind in (<Wait?>wait)._plan.kinds]
            for wait in waits:
                reason = (<Wait>wait)._plan.refusal(event)
                if reason is not None:
                    raise RuleError(reason)     # before anybody has heard of it
            if early is not None:
                self._memory.keep(event, early)
            for wait in waits:
                if (<Wait>wait).hears(event):
                    completed.append(wait)
        return True

    # A wait

    def _open(self, plan, tuple keys, wait_id, callback, int64_t now):
        """A wait of that plan, on those keys, from then on; or the one that has this id, unless it is another one.

        If early signals have ended it, the caller lets it tell.
        """
        return self.open(plan, keys[0] if len(keys) == 1 else keys, len(keys) == 1, wait_id, callback, now)

    cdef Wait open(self, plan, keys, bint is_one, wait_id, callback, int64_t now):
        cdef Wait wait = Wait.__new__(Wait)
        cdef int64_t within = plan.within_ms
        wait._waits = self
        wait._plan = plan
        wait.single = plan.single
        wait.callbacks = callback
        wait.opened_at = now
        wait.deadline = now + within
        wait.delay = within + 1
        wait.ended_at = wait.cancelled_at = NOT_YET
        self.check_fits(within, now, within)
        if wait_id is not None or self._memory is not None:
            return self.open_or_find(wait, keys, is_one, wait_id)
        self.take_in(wait)
        try:
            self.watch(wait, keys, is_one)
            self.begin(wait)
        except BaseException:
            self.put_out(wait)
            raise
        return wait

    cdef Wait open_or_find(self, Wait wait, keys, bint is_one, wait_id):
        """The same where there is more to look for than keys: an id, or signals that came early."""
        cdef Wait found = None
        wait.watchers = <PyObject*>self         # it holds its keys from now on, though nobody counts it yet
        try:
            self.hold(wait, keys, is_one)
            while found is None:
                found = self.try_to_open(wait, (keys,) if is_one else keys, wait_id)
        except BaseException:
            self.put_out(wait)
            raise
        if found is not wait:
            callback = wait.callbacks
            self.put_out(wait)
            check_same(found, keys_of(found), wait._plan, (keys,) if is_one else keys)
            if callback is not None:
                found.add_done_callback(callback)
        return found

    cdef Wait try_to_open(self, Wait wait, tuple keys, wait_id):
        """It, the wait that has its id, or None if others came or went while keys were compared."""
        cdef uint64_t changes = self.changes
        of_id = None if wait_id is None else self._ids.look(wait_id)
        early = None if self._memory is None else [self._memory.look(key) for key in keys]
        self.look(wait)
        with self._lock:
            if not (self.remembers(early) and (of_id is None or self._ids.stands(of_id))):
                return None
            if of_id is not None:
                known = self._ids.get(of_id, wait.opened_at)
                if known is not None:
                    return <Wait?>known
                wait._id = self._ids.put(of_id, wait)
            if changes != self.changes:         # from here to `link_all` no Python code runs
                self.forget_id(wait)
                return None
            wait.watchers = NULL
            self.take_in(wait)
            self.link_all(wait)
            self.begin(wait)
            if early is not None:
                for event in self._memory.recall(early, wait.opened_at, wait):
                    if wait.hears(event):
                        break
        return wait

    cdef bint remembers(self, early) except -1:
        """Whether the memory is as it was when these keys were looked for."""
        if early is not None:
            for look in early:
                if not self._memory.stands(look):
                    return False
        return True

    cdef int take_in(self, Wait wait) except -1:
        if self._delayed >= self._limit:
            self._refuse_more()
        self.admit(wait)
        self.last_number += 1
        wait.number = self.last_number
        return 0

    cdef int put_out(self, Wait wait) except -1:
        """It was not opened after all: let go of its id, its keys and the timer."""
        self.forget_id(wait)
        if not wait.number:                     # it was not taken in, and so not counted
            wait.watchers = <PyObject*>self
            self._delayed += 1
        if wait.watchers != NULL:
            self.unwatch(wait)
        wait.leave_timer()
        return 0

    cdef int forget_id(self, Wait wait) except -1:
        if wait._id is not None:
            self._ids.drop(wait._id)
            wait._id = None
        return 0

    cdef int begin(self, Wait wait) except -1:
        if not self.timer._is_open:
            self.timer._refuse()
        if not wait.ended:
            self.arm(wait, wait.last_instant(), wait.opened_at)
        return 0

    cdef int check_fits(self, int64_t delay, int64_t now, given) except -1:
        self.timer.check_fits(delay, now + 1 - self.epoch_ms, "delay_ms", given)   # one more: the timer comes when it is over
        return 0

    cdef int arm(self, Wait wait, int64_t until, int64_t now) except -1:
        """Have the timer come when `until` is over, as a signal stamped like it still counts."""
        if self.timer._is_open:
            self.timer.put(wait, until + 1 - now, (now - self.epoch_ms) * NS_PER_MS)
        return 0

    # What `WaitsFace` says

    def _refuse_more(self):
        raise HubFullError("this hub is full")


cdef class QuickVerbs:
    """`wait` and `signal`, as `hub.py` says."""

    cdef public Signals _waits
    cdef tuple last                 # what `wait` was last asked for, and the plan for that

    def wait(self, key, until=None, within=None, *, rule=None, id=None, callback=None):
        """Wait on a key (or a list of keys) until a condition is met, at most `within`; or as a rule says.

        The wait's `result()` is its outcome, `await` works too, and `callback(wait)` is called when it has ended.
        Waiting twice with the same `id` is the same wait; under the id of another wait it is an `IdTakenError`. A rule
        says itself until what and within what time: give either a rule or these.
        """
        cdef Signals waits = waits_in(self)
        cdef tuple last = self.last
        cdef Wait wait
        if type(key) is str:        # whose hash runs no code
            waits.fetch_bucket(PyObject_Hash(key))
        if callback is not None and not callable(callback):
            check_callback(callback)
        if last is not None and until is last[0] and within is last[1] and rule is last[2]:
            plan = last[3]
        else:
            plan = self._plan(until, within, rule)
            self.last = (until, within, rule, plan)
        if isinstance(key, list):
            wait = waits._open(plan, distinct(key), id, callback, waits.now())
        else:
            wait = waits.open(plan, key, True, id, callback, waits.now())
        if waits._memory is not None:
            waits._has_recalled()
            wait.tell()             # what was recalled may have ended it
        return wait

    def signal(self, key, kind, source=None, value=None):
        """Tell every wait on the key that something of this kind has happened; return how many that completed."""
        cdef Signals waits = waits_in(self)
        cdef int64_t at = waits.now()
        cdef Wait wait
        if waits._memory is None:
            watching = waits.watching(key)
            if watching is None:
                return 0
            if type(watching) is Wait and (<Wait>watching).single is not None:
                wait = <Wait>watching
                waits.fetch_next(wait)
                if kind != wait.single or not wait.complete_single(at):
                    return 0
                wait.tell()
                return 1
        return waits._spread(Event(key, kind, at, source, value))


cdef bint is_plain(event) except -1:
    """Whether nothing but the key could run other people's code when read."""
    source, value = event[3], event[4]
    return (
        type(event[1]) is str and event[5] is None
        and (source is None or type(source) is str or type(source) is int)
        and (value is None or type(value) is int or type(value) is float)
    )


cdef inline Signals waits_in(QuickVerbs hub):
    if hub._waits is None:
        raise TypeError("this hub was not made: call Hub.__init__ in that of a subclass")
    return hub._waits


cdef inline uint8_t verdict(int64_t met_at, int64_t cancelled_at, int64_t deadline, int64_t* at) noexcept:
    """How a wait ends, and when, as far as known: `rules.law.verdict` in C."""
    if met_at != NOT_YET and met_at <= deadline and (cancelled_at == NOT_YET or met_at <= cancelled_at):
        at[0] = met_at
        return COMPLETED
    if cancelled_at != NOT_YET and cancelled_at <= deadline:
        at[0] = cancelled_at
        return CANCELLED
    at[0] = deadline
    return EXPIRED


def _verdict(met_at, cancelled_at, deadline):
    """For the proof that it is the same."""
    cdef int64_t at
    cdef uint8_t ending = verdict(
        NOT_YET if met_at is None else met_at, NOT_YET if cancelled_at is None else cancelled_at, deadline, &at
    )
    return ENDINGS[ending], at


cdef object as_outcome(tuple fields):
    """Outcome(*fields), at a third of the price."""
    cdef Py_ssize_t i
    outcome = PyType_GenericAlloc(<PyTypeObject*>Outcome, len(fields))
    for i in range(len(fields)):
        Py_INCREF(fields[i])
        PyTuple_SET_ITEM(outcome, i, fields[i])
    return outcome


cdef object current_loop():
    """asyncio's loop in this thread; an error if none is running.

    asyncio's function makes a system call on Python 3.11, which costs more than all the rest of a future. So it is asked
    only if the thread has another mark of a running loop than the last time. A Python that has no such mark is asked always.
    """
    global outcome_future, running_loop, last_loop, last_thread, last_run
    cdef PyObject* of_thread = PyThreadState_GetDict()
    run = None if of_thread == NULL else (<dict>of_thread).get("__asyncio_running_event_loop__")
    if run is not None and run is last_run:
        return last_loop
    if running_loop is None:
        import os
        from asyncio import _get_running_loop
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=forget_run)      # no loop runs in a child
        from ._future import OutcomeFuture
        outcome_future = OutcomeFuture
        running_loop = _get_running_loop
    loop = running_loop()
    if loop is None:
        raise RuntimeError("no running event loop")
    last_loop, last_thread, last_run = loop, PyThread_get_thread_ident(), run
    return loop


def forget_run():
    """Ask asyncio again."""
    global last_run
    last_run = None


cdef inline bint is_here(loop) except -1:
    """Whether the loop of a future runs in this thread."""
    return loop is last_loop and PyThread_get_thread_ident() == last_thread or running_loop() is loop


cdef int resolve(future, Wait wait) except -1:
    """Give a future its outcome: here, if its loop is running here, and otherwise by asking its loop to."""
    loop = future.get_loop()
    if not is_here(loop):
        loop.call_soon_threadsafe(settle, future, wait)
    elif not future.done():         # it may have been cancelled
        future.set_result(wait.conclude())
    return 0


cdef inline tuple keys_of(Wait wait):
    return (wait.keys,) if wait.has_one_key else wait.keys


cdef inline Signals waits_of(Wait wait):
    if wait._waits is None:
        raise not_by_hand()
    return <Signals>wait._waits


cdef inline int64_t floor_ms(int64_t ns) noexcept:
    return ns / NS_PER_MS - (ns % NS_PER_MS < 0)
