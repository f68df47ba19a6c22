# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False, embedsignature=True
"""Waits and signals, compiled: what `_wait.py` says, with the GIL for a lock. Read that one first.

A wait for a single signal, the commonest, needs no inbox: the signal ends it on the spot.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t

from sojourn.purgatory._core cimport CANCELLED, COMPLETED, EXPIRED, DelayedOperation, Watchers

from threading import RLock

from ..errors import ConfigError, HubFullError
from ..purgatory._keys import distinct
from ..timer._state import whole_ms
from ..rules import Event
from ._ending import add_callback, await_outcome, explanation, future_of, outcome_of, wait_for

cdef enum:
    NS_PER_MS = 1_000_000

cdef int64_t NOT_YET = -(2**62)     # no time of a wait
cdef int64_t NO_LIMIT = 2**62


@cython.no_gc
cdef class Wait(DelayedOperation):
    """One wait: pending until its condition is met, its deadline passes or it is cancelled."""

    cdef readonly object _hub
    cdef readonly object _plan
    cdef object single              # the plan's
    cdef object _id                 # None until asked for, where the hub made it up
    cdef int64_t number
    cdef list inbox
    cdef public object _progress
    cdef readonly int64_t opened_at
    cdef readonly int64_t deadline
    cdef int64_t ended_at
    cdef readonly object decided_by
    cdef int64_t met_at             # when its condition was met: it completes, unless somebody ends it first
    cdef int64_t cancelled_at       # when a signal cancelled it: it ends when that instant is over, unless it completes
    cdef object met_by              # the kind that did either
    # `callback`, which a TimerTask of this kind has no other use for, holds None, one callback or a list of them.

    # What users call

    def result(self, timeout=None):
        """The outcome, once there is one; waits for it at most `timeout` seconds, then raises `TimeoutError`."""
        wait_for(self, timeout)
        return outcome_of(self)

    def done(self):
        return self.ended != 0

    def explain(self):
        """A sentence: how it ended, or what it still waits for."""
        return explanation(self)

    def add_done_callback(self, callback):
        """Call `callback(wait)` when it has ended: at once, if it has."""
        add_callback(self, callback)

    def future(self):
        """The outcome as a future of the running asyncio loop."""
        return future_of(self)

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
    def at(self):
        return None if self.ended_at == NOT_YET else self.ended_at

    # What the purgatory calls

    def try_complete(self):
        """Read the inbox; True once the condition is met."""
        while self.inbox:
            event = self.inbox.pop(0)
            if <int64_t>event.at <= self.until() and self.reads(event):
                self.met_at = event.at
                self.met_by = event.kind
                return True
        return False

    def run(self):
        """Its deadline has passed; or the instant of its cancellation, in which it could still complete."""
        self.settle(EXPIRED if self.cancelled_at == NOT_YET else CANCELLED)

    cdef bint settle(self, uint8_t outcome) except -1:
        """When and by what it ended, in one step with the outcome."""
        cdef int64_t now = (<Signals>self._hub).now() if self._hub is not None else 0
        if self.ended:
            return False
        if outcome == COMPLETED and self.met_at != NOT_YET:
            self.ended_at = self.met_at
            self.decided_by = self.met_by
        elif outcome == CANCELLED and self.cancelled_at != NOT_YET:
            self.ended_at = self.cancelled_at
            self.decided_by = self.met_by
        else:
            self.ended_at = self.deadline if outcome == EXPIRED else now
        return DelayedOperation.settle(self, outcome)

    cdef int tell(self) except -1:
        if self.has_told:
            return 0
        held = self._take_callbacks()
        if held is None:
            return 0
        for callback in held if type(held) is list else (held,):
            try:
                callback(self)
            except Exception as exception:
                self._hub._failed(self, exception)
        return 0

    # Inside

    cdef inline int64_t until(self) noexcept:
        """The last instant at which signals count."""
        return self.deadline if self.cancelled_at == NOT_YET else self.cancelled_at

    cdef bint reads(self, event) except -1:
        """Let the event count; True if the condition holds now."""
        return event.kind == self.single if self.single is not None else self._plan.read(self, event)

    def extend(self, delay_ms):
        """Move the deadline to `delay_ms` from now. False if it has ended, or is being cancelled."""
        delay = whole_ms(delay_ms)
        return self._postpone(self._hub.now_ms() + delay, delay)

    def _postpone(self, deadline, delay_ms):
        """Move the deadline; the timer comes one millisecond after it, as a signal stamped like it still counts."""
        if self.cancelled_at != NOT_YET or not DelayedOperation.extend(self, delay_ms + 1):
            return False
        self.deadline = deadline
        return True

    def _keep_alive(self, int64_t at, int64_t within_ms):
        """A sign of life moves the deadline; one of the instant of a cancellation, no more than that."""
        self.deadline = at + within_ms
        if self.cancelled_at == NOT_YET:
            DelayedOperation.extend(self, within_ms + 1)

    def _cancel_at(self, event):
        """From now on only signals of this very instant count: completed goes before cancelled."""
        self.met_by = event.kind
        self.cancelled_at = event.at
        DelayedOperation.extend(self, 1)

    def _hang(self, callback):
        """Add a callback; False if it is too late for that."""
        cdef list several = [None, callback]    # made beforehand: this may run a garbage collection
        if self.has_told:
            return False
        if self.callback is None:
            self.callback = callback
        elif type(self.callback) is list:
            (<list>self.callback).append(callback)
        else:
            several[0] = self.callback
            self.callback = several
        return True

    def _take_callbacks(self):
        held = self.callback
        self.has_told = True
        self.callback = None
        return held


cdef class Signals(Watchers):
    """Watch lists that carry signals to waits."""

    cdef int64_t epoch_ms
    cdef public object _memory
    cdef public int64_t _limit
    cdef object memory_lock
    cdef int64_t last_number
    cdef object last_until          # what `wait` was last asked for, and the plan for that
    cdef object last_within
    cdef object last_rule
    cdef object last_plan

    def __init__(self, timer, shards):
        Watchers.__init__(self, timer, shards)
        self.epoch_ms = (timer.clock.wall_ns() - timer.clock.now_ns()) // NS_PER_MS
        self._limit = NO_LIMIT
        self.memory_lock = RLock()

    cdef int64_t now(self) except? -1:
        return floor_ms(self.timer.now_ns()) + self.epoch_ms

    def now_ms(self):
        """The hub's time: milliseconds since the epoch, but running on the monotonic clock."""
        return self.now()

    def wait(self, key, until=None, within=None, *, rule=None, id=None, callback=None):
        """Wait on a key (or a list of keys) until a condition is met, at most `within`; or as a rule says.

        The wait's `result()` is its outcome, `await` works too, and `callback(wait)` is called when it has ended.
        Waiting twice with the same `id` is the same wait.
        """
        if until is self.last_until and within is self.last_within and rule is self.last_rule:
            plan = self.last_plan
        else:
            plan = None
        if plan is None:
            plan = self._plan(until, within, rule)
            self.last_until, self.last_within, self.last_rule, self.last_plan = until, within, rule, plan
        if id is not None:
            return self._open_once(plan, distinct(key) if isinstance(key, list) else (key,), id, callback)
        if isinstance(key, list):
            return self.open(plan, distinct(key), False, None, callback)
        return self.open(plan, key, True, None, callback)

    def signal(self, key, kind, source=None, value=None):
        """Tell every wait on the key that something of this kind has happened; return how many that completed."""
        cdef int64_t at
        cdef int64_t count = 0
        if self._memory is not None:
            return self.signal_and_keep(Event(key, kind, self.now(), source, value))
        watching = self.watching(key)
        if watching is None:
            return 0
        at = self.now()
        if isinstance(watching, Wait) and (<Wait>watching).single is not None:
            return int(self.end(<Wait>watching, kind, at))
        event = Event(key, kind, at, source, value)
        waits = [wait for wait in (watching if type(watching) is list else [watching]) if (<Wait>wait)._plan.takes(event)]
        for wait in waits:
            if (<Wait>wait).inbox is not None:
                (<Wait>wait).inbox.append(event)
        for wait in waits:
            count += self.end(<Wait>wait, kind, at) if (<Wait>wait).inbox is None else self.check(<Wait>wait)
        return count

    cdef bint end(self, Wait wait, kind, int64_t at) except -1:
        """A signal for a wait that one signal ends."""
        if wait.ended or kind != wait.single or at > wait.until():
            return False
        wait.met_at = at
        wait.met_by = kind
        return wait.settle(COMPLETED)

    cdef object signal_and_keep(self, event):
        cdef int64_t count = 0
        with self.memory_lock:
            waits = [wait for wait in self._watching(event.key) if (<Wait>wait)._plan.takes(event)]
            self._memory.keep(event)
            for wait in waits:
                (<Wait>wait).inbox.append(event)
        for wait in waits:
            count += self.check(<Wait>wait)
        return count

    def _open(self, plan, tuple keys, wait_id, callback):
        """A wait of that plan, on those keys, from now on."""
        return self.open(plan, keys[0] if len(keys) == 1 else keys, len(keys) == 1, wait_id, callback)

    cdef Wait open(self, plan, keys, bint is_one, wait_id, callback):
        cdef Wait wait = Wait.__new__(Wait)
        cdef int64_t within_ms = plan.within_ms
        wait._hub = self
        wait._plan = plan
        wait.single = plan.single
        wait._id = wait_id
        wait.callback = callback
        wait.ended_at = wait.met_at = wait.cancelled_at = NOT_YET
        if wait.single is None or self._memory is not None:
            wait.inbox = []
        if self._delayed >= self._limit:
            self._refuse_more()
        self.admit(wait)
        self.last_number += 1
        wait.number = self.last_number
        try:
            wait.opened_at = self.now()
            wait.deadline = wait.opened_at + within_ms
            self.begin(wait, keys, is_one)
        except BaseException:
            if wait.watchers != NULL:
                self.unwatch(wait)
            raise
        return wait

    cdef int begin(self, Wait wait, keys, bint is_one) except -1:
        if self._memory is None:
            self.watch(wait, keys, is_one)
        else:
            with self.memory_lock:
                wait.inbox = self._memory.recall((keys,) if is_one else keys, wait.opened_at, wait._plan)
                self.watch(wait, keys, is_one)
        if not wait.inbox or not wait.try_it():
            wait.delay = wait.until() - wait.opened_at + 1
            self.timer.add_task(wait, wait.delay, wait.delay)
        if wait.ended:              # while it was being put in the timer
            wait.leave_timer()
        return 0

    # What the hub says for itself

    def _plan(self, until, within, rule):
        """The plan for these arguments."""
        raise ConfigError("this hub has no plans")

    def _open_once(self, plan, keys, wait_id, callback):
        """The wait of that id, or a new one."""
        return self._open(plan, keys, wait_id, callback)

    def _refuse_more(self):
        raise HubFullError("this hub is full")


cdef inline int64_t floor_ms(int64_t ns) noexcept:
    return ns / NS_PER_MS - (ns % NS_PER_MS < 0)
