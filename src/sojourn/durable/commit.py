"""Group commit: what several callers ask for while the disk is busy is written with one sync, then each is answered.

Whoever comes first leads: it takes all requests that are there, has them applied and written, and answers them. Those
that come while the disk is busy are the next group, led by one of them. No thread of its own: a single caller pays one
sync and no switch. Callbacks run after the lead has been handed on, so they may ask for more.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections import deque
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any, Generic, TypeVar

from ..errors import StorageError
from ._build import Gate, open_all

T = TypeVar("T")

GATHER_SHARE = 0.25
"""How long a leader waits for the callers of the last group to come again, as a share of what that group took."""


class Request(Generic[T]):
    """One call: what to do when its turn comes, and its answer. `stamp` is the time of the call.

    A thread waits for the answer; or `awaken`, if given, is called with all requests of a group that have the same one.
    """

    __slots__ = ("awaken", "error", "gate", "is_abandoned", "is_answered", "is_leader", "perform", "result", "stamp")

    def __init__(self, perform: Callable[[int], T], awaken: Callable[[list[Any]], object] | None = None) -> None:
        self.perform = perform
        self.result: T
        self.error: BaseException | None = None
        self.stamp = 0
        self.is_abandoned = self.is_answered = self.is_leader = False
        self.awaken = awaken
        self.gate = Gate() if awaken is None else None
        """Opened when the answer is there, or when it is this one's turn to lead."""

    @property
    def can_lead(self) -> bool:
        """Whether a thread waits for the answer, and could do the work."""
        return self.gate is not None and not self.is_abandoned

    def wait(self) -> None:
        assert self.gate is not None
        self.gate.wait()

    def answer(self) -> T:
        if self.error is not None:
            raise self.error
        if not hasattr(self, "result"):
            raise StorageError("the thread that was writing this, for several callers, was interrupted; ask again")
        return self.result


Commit = Callable[[list[Request[Any]], int], Callable[[], object]]
"""Carries a group out, knowing all requests up to a time; never raises, and returns what is to be called afterwards."""


class Committer:
    """Lets one group at a time be carried out. `now_ms` is asked for stamps, in the order of the queue."""

    def __init__(self, commit: Commit, now_ms: Callable[[], int], most: int, gathers: bool) -> None:
        self._commit = commit
        self._now_ms = now_ms
        self._most = most
        self._gathers = gathers
        self._mutex = allocate_lock()
        self._queue: deque[Request[Any]] = deque()
        self._is_led = False
        self._enough = allocate_lock()  # held, except for the moment in which a leader is told not to wait on
        self._enough.acquire()
        self._awaited = 0
        """How many the leader hopes for; 0 while it does not wait."""
        self._last_size = 0
        self._last_took_s = 0.0

    def submit(self, request: Request[T]) -> T:
        """Have a request carried out, and return its answer."""
        self.carry_out(request)
        return request.answer()

    def carry_out(self, request: Request[Any]) -> None:
        """Return once a request has its answer."""
        if self.enqueue(request):
            request.is_leader = True
        else:
            try:
                request.wait()
            except BaseException:  # Ctrl-C: others must not wait for one that has gone
                with self._mutex:
                    request.is_abandoned = True
                if request.is_leader:
                    self.lead(request)
                raise
        if request.is_leader:
            self.lead(request)

    def enqueue(self, request: Request[Any]) -> bool:
        """Put a request in the queue; True if the caller has to lead now."""
        with self._mutex:
            request.stamp = self._now_ms()
            self._queue.append(request)
            if 0 < self._awaited <= len(self._queue):
                self._awaited = 0
                self._enough.release()
            was_led, self._is_led = self._is_led, True
            return not was_led

    def lead(self, own: Request[Any] | None = None) -> None:
        """Carry out groups until the leader's own request is answered; without one, until none is left."""
        afterwards: list[Callable[[], object]] = []
        try:
            while (own is not None and not own.is_answered) or not self._hand_on():
                afterwards.append(self._carry_out_group(own))
        except BaseException:
            self._hand_on(is_leaving=True)
            raise
        finally:
            call_each(iter(afterwards))

    def _carry_out_group(self, own: Request[Any] | None) -> Callable[[], object]:
        """One group; what is to be called once the lead is given up."""
        self._gather()
        with self._mutex:
            group = [self._queue.popleft() for _ in range(min(self._most, len(self._queue)))]
            known_to = self._queue[0].stamp if self._queue else self._now_ms()  # of the rest, nobody knows yet
        began = perf_counter()
        try:
            return self._commit(group, known_to)
        finally:
            self._last_took_s, self._last_size = perf_counter() - began, len(group)
            self._answer(group, own)

    def _answer(self, group: list[Request[Any]], own: Request[Any] | None) -> None:
        """Let all know, at once: those who are back soon are the next group."""
        with self._mutex:
            for request in group:
                request.is_answered = True
        together: dict[Callable[[list[Any]], object], list[Request[Any]]] = {}
        for request in group:
            if request.awaken is not None:
                together.setdefault(request.awaken, []).append(request)
        for awaken, requests in together.items():
            awaken(requests)
        open_all([request.gate for request in group if request.gate is not None and request is not own])

    def _hand_on(self, *, is_leaving: bool = False) -> bool:
        """Give up the lead: to one that waits, or to nobody if nothing is left. False if there is still work to do.

        Who is leaving leaves that work, if nobody else can lead, to whoever asks next.
        """
        with self._mutex:
            successor = next((request for request in self._queue if request.can_lead), None)
            if successor is None:
                self._is_led = bool(self._queue) and not is_leaving
                return not self._is_led
            successor.is_leader = True
            gate = successor.gate
        assert gate is not None
        open_all([gate])
        return True

    def _gather(self) -> None:
        """Wait a little for those who were in the last group: they have just been answered, and often come again."""
        if not self._gathers or self._last_size < 2:
            return
        with self._mutex:
            if len(self._queue) >= self._last_size:
                return
            self._awaited = self._last_size
        if self._enough.acquire(timeout=min(0.002, self._last_took_s * GATHER_SHARE)):
            return
        with self._mutex:
            is_told = not self._awaited
            self._awaited = 0
        if is_told:
            self._enough.acquire()


def call_each(calls: Iterator[Callable[[], object]]) -> None:
    """Call each, even if one of them exits."""
    for call in calls:
        try:
            call()
        except BaseException:
            call_each(calls)
            raise
