"""The engine of a durable hub: it carries out groups of requests on a folder that it owns, and tells outcomes.

A request is applied to the state and written as a record; what that ends is told by a record in the same group; then
the group is synced, the callers are answered and the outcomes published. If the disk fails, nothing of the group has
happened: the state is built anew from the log, and the next group tries to go on in a new segment.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import DiskError, PurgatoryClosedError, SojournError, StorageError
from ..hub._ending import call_all
from ..hub._plan import refused
from ..timer._fork import refuse_in_child, resting_on_timers
from .commit import Committer, Request, call_each
from .left import Left
from .log import records as r
from .log.files import Files
from .log.writer import Sync
from .nap import Nap
from .outcomes import Outcomes
from .owned_folder import OwnedFolder
from .recovery.recovery import recover
from .recovery.upkeep import SEGMENTS_MOST
from .state.state import Settings, State
from .state.wait import Wait, publish, row_of

if TYPE_CHECKING:
    from ..timer import SystemTimer

T = TypeVar("T")

GROUP_MOST = 10_000
"""Requests in one group."""
TELL_MOST = 500
"""Outcomes that nobody waits for, in one group: so a herd does not keep callers waiting."""
TELL_MOST_AT_ONCE = 20_000
"""Outcomes of one request that are told before it is answered."""
RETRY_MS = 1_000
"""How soon to try again what is due, when the disk has failed."""


class Engine(OwnedFolder):
    """Invariant: outside `_commit`, the state is what follows from the acknowledged records, and no others."""

    def __init__(
        self,
        name: str,
        files: Files,
        timer: SystemTimer,
        owner: Any,
        *,
        sync: Sync,
        settings: Settings,
        max_step_ms: int,
        gathers: bool,
        most_in_memory: int,
        upkeep: Mapping[str, Any],
    ) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._is_open = True
        self._is_shut = False
        self._is_stale = False
        """Whether the state has to be built anew: it may be ahead of the log."""
        self._group: list[tuple[int, bytes]] = []
        self._told: list[Wait] = []
        self._nap = Nap(timer, self.now_ms, owner._wake)
        self._revoked: dict[int, Wait] = {}
        """Waits that were to be told in a group that failed: they are still pending."""
        self._is_failing = False
        self._calls: deque[tuple[Any, Any]] = deque()
        """Callbacks of what has been told, to be called when the group is done."""
        upkeep = {**upkeep, "in_background": gathers}
        super().__init__(name, files, timer, owner, sync, max_step_ms, most_in_memory, upkeep)
        try:
            self.outcomes = Outcomes(files, self.state.next_number)
            self.committer = Committer(self._commit, self.now_ms, GROUP_MOST, gathers)
            self.submit(lambda stamp: self.record(r.START, [stamp, settings._asdict(), self.about]))
            self.wake()
            if self.log.position.segment - self.recovered_from > SEGMENTS_MOST:
                self._start_segment(self.now_ms())
        except BaseException:
            self._let_go()
            raise
        resting_on_timers.add(self)

    # What hubs call

    def submit(self, perform: Callable[[int], T]) -> T:
        """Queue a request with those of other callers, and return its result once it is on the disk."""
        self.check_open()
        return self.committer.submit(Request(perform))

    def check_open(self) -> None:
        self.check_process()
        if not self._is_open:
            raise self._closed()

    def _closed(self) -> PurgatoryClosedError:
        return PurgatoryClosedError(f"hub {self.name!r} is closed; its waits are in the folder: open it again")

    def check_process(self) -> None:
        if os.getpid() != self._pid:
            refuse_in_child(f"hub {self.name!r}", self._pid)

    def record(self, type_: int, body: Any) -> Any:
        """From inside a request: let a record happen. What cannot be written is refused before anything has changed."""
        data = r.json_bytes(body)
        was_stale, self._is_stale = self._is_stale, True  # half of it may have happened if there is an error, or Ctrl-C
        result = self.state.apply(type_, body)
        self._group.append((type_, data))
        self._is_stale = was_stale
        return result

    def look(self, at: Callable[[State], T]) -> T:
        """Read the state as it is on the disk."""
        self.check_process()  # first: in a forked child, whoever holds the lock may not be there
        with self._lock:
            if self._is_open and (self._is_stale or self.index.is_broken):
                self._rebuild()
            try:
                return at(self.state)
            except Exception:
                raise
            except BaseException:  # a wait may have come in from the index half-way
                self._is_stale = True
                raise

    def wake(self) -> None:
        """Something may be due."""
        self._nap.forget()
        try:
            if self._is_open:
                self.committer.submit(Request(self._end_grace))
        except (DiskError, PurgatoryClosedError):
            pass  # it has been reported, and is tried again; or there is nothing more to do

    def close(self) -> Left | None:
        """Stop; return what is pending, and stays so in the folder. None if this was closed before, or elsewhere."""
        if not self._is_open or os.getpid() != self._pid:
            return None
        is_closing_here = True
        try:
            self.committer.submit(Request(self._close))
            with self._lock:
                self.log.sync()
        except StorageError as error:
            self._report(error)
        except PurgatoryClosedError:
            is_closing_here = False  # another thread was quicker, and lets go of the folder
        finally:
            is_closing_here = is_closing_here and self._shut()
        return self._left() if is_closing_here else None

    def _shut(self) -> bool:
        """The last step of a close: end what runs beside the hub, and let go of the folder. False if that was done."""
        with self._lock:
            was_shut, self._is_shut = self._is_shut, True
        if was_shut:
            return False
        self._is_open = False
        self._upkeep.join()
        self.outcomes.close()
        with self._lock:
            if self._bring_in_all():
                self.state.cold = None  # so that pending waits can still be read after the close
            self._nap.end()
            self._let_go()
        return True

    def left(self) -> Left:
        """What is pending now."""

        def found(state: State) -> Left:
            self._bring_in_all()
            return self._left()

        return self.look(found)

    def _left(self) -> Left:
        return Left(self.files, self._owner, self.state, self.log.position)

    def tell_all(self) -> None:
        """Tell everything that has ended, however much; until the disk fails, if it does."""
        with suppress(DiskError):
            while self.look(lambda state: len(state.untold) + len(self._cold.cancels)):
                self.submit(self._end_grace)

    def _close(self, stamp: int) -> None:
        self.record(r.CLOSE, [stamp])
        self._is_open = False

    def _end_grace(self, stamp: int) -> None:
        grace_until = self.state.grace_until
        if grace_until is not None and stamp >= grace_until:
            self.record(r.GRACE_OVER, [stamp])

    # One group

    def _commit(self, group: list[Request[Any]], known_to: int) -> Callable[[], object]:
        """Carry a group out: each request is answered, with a result or an error. Returns the calls to make then."""
        with self._lock:
            if not self._is_open:
                for request in group:
                    request.error = self._closed()
                return _nothing
            self._group, self._told = [], []  # here, not when the last one was done: that may have been interrupted
            try:
                self._get_ready(known_to)
                self._perform_all(group)
                steps = self._record_steps(known_to)
                self._tell(known_to)
                if self._is_stale:
                    raise StorageError("a request failed half-way; nothing of its group has been written")
                if self._group:
                    self.log.commit(self._group)
                self._is_failing = False
                self.stamps.recorded(steps)
                self._publish(self._told)
            except Exception as error:
                self._give_up(group, error)
            except BaseException as interrupt:
                self._give_up(group, interrupt)
                return _each(self._afterwards(), _raising(interrupt))
            finally:
                if self._is_open:
                    self._nap.plan(self._next_due())
            return self._afterwards()

    def _get_ready(self, stamp: int) -> None:
        """Go on in a new segment if the last one failed, is full, or too much has changed."""
        if self._is_stale or self.index.is_broken:
            self._rebuild()
        self.state.fresh.clear()
        self._see_to_memory(stamp)
        if self.log.failure is not None:
            self.log.start_segment(stamp, self.state.next_number)
        elif self._upkeep.is_due(self._cold):
            self._start_segment(stamp)

    def _record_steps(self, stamp: int) -> int:
        """Record how the wall clock was set since the last group; return how often."""
        steps = self.stamps.steps()
        for step in steps:
            self.record(r.CLOCK, [stamp, *step])
            self._nap.forget()  # it was planned by the clock as it was
        return len(steps)

    def _perform_all(self, group: list[Request[Any]]) -> None:
        """Carry out requests in their order: as one, where they are alike."""
        for alike, run in groupby(group, likeness):
            requests = list(run)
            if alike is None or len(requests) == 1 or not self._perform_together(requests):
                for request in requests:
                    self._perform(request)

    def _perform_together(self, requests: list[Request[Any]]) -> bool:
        """Whether that was possible: if one of them is refused, it is not, and nothing has happened."""
        if not self._is_open:
            return False
        next_seq, perform, stamp = self.state.next_seq, requests[0].perform, requests[0].stamp
        try:
            results = perform.together([request.perform for request in requests], stamp)  # type: ignore[attr-defined]
        except Exception:
            self._is_stale |= self.state.next_seq != next_seq
            return False
        for request, result in zip(requests, results, strict=True):
            request.result = result
        self._take_fresh()
        return True

    def _perform(self, request: Request[Any]) -> None:
        try:
            if not self._is_open:
                raise self._closed()
            request.result = request.perform(request.stamp)
        except Exception as error:
            request.error = error
        self._take_fresh()

    def _take_fresh(self) -> None:
        """Tell what a request has ended in the same group; if it ended very many, only some of them."""
        self._told += self.state.fresh[:TELL_MOST_AT_ONCE]
        self.state.fresh.clear()

    def _tell(self, known_to: int) -> None:
        """Tell what has ended; and what is over by now, since all requests up to then have been carried out."""
        state = self.state
        room = TELL_MOST - len(self._told)
        if room > 0 and len(state.untold) - len(self._told) < room:
            self._cold.untold(room)
        if room > 0 and len(state.untold) > len(self._told):
            chosen = {wait.seq for wait in self._told}
            self._told += [wait for seq, wait in _first(state.untold, TELL_MOST) if seq not in chosen]
        if room > 0:
            self._told += state.expire(known_to, room)
        if self._told:
            rows = [row_of(wait) for wait in self._told]
            self.record(r.TOLD, [known_to, state.next_number, rows])

    def _publish(self, told: list[Wait]) -> None:
        """These are on the disk, with their numbers."""
        if told:
            self.outcomes.add(told)
            self._calls += publish(told)

    def _afterwards(self) -> Callable[[], object]:
        """What is to be called now."""
        passed_over = [] if self.state.memory is None else list(self.state.memory.passed_over())
        if not self._calls and not passed_over:
            return _nothing

        def tell() -> None:
            for early, event, reason in passed_over:
                self._owner._failed(early, refused(event, reason))
            call_each(self._take_calls())

        return lambda: self._owner._call(tell)

    def _take_calls(self) -> Iterator[Callable[[], object]]:
        """One by one, so that each is called once even if several threads do this, or one is interrupted."""
        with suppress(IndexError):
            while True:
                wait, held = self._calls.popleft()
                yield partial(call_all, wait, iter(held if type(held) is list else (held,)))

    # When the disk fails

    def _give_up(self, group: list[Request[Any]], error: BaseException) -> None:
        """Nothing of this group has happened; what was written of it is left in the file and does not count."""
        if not isinstance(error, Exception):
            self.log.failure = self.log.failure or OSError("a write was interrupted")
            self._is_stale = True
        for request in group:
            if request.error is None:
                request.error = _copy(error)
        if not self._is_failing:
            self._is_failing = True
            self._report(error)
        self._is_stale = self._is_stale or bool(self._group)
        self._revoked.update({wait.seq: wait for wait in self._told})
        if self._is_stale:
            try:
                self._rebuild()
            except (OSError, StorageError) as unreadable:
                self._report(unreadable)

    def _rebuild(self) -> None:
        """Build the state anew from what is acknowledged. Waits that people hold stay the same objects."""
        known = {**self.state.waits.made(), **self.state.untold, **self._revoked}
        self._upkeep.join()
        self.state = recover(self.files, self._owner, known, self.log.position, self.index, self._most).state
        self._revoked = {}
        self._is_stale = False
        self._publish(self._told_meanwhile(known))

    def _told_meanwhile(self, known: dict[int, Wait]) -> list[Wait]:
        """Outcomes that are in the log but were not published: the thread that wrote them was interrupted."""
        told = [wait for wait in known.values() if wait._state is self.state and wait._row is not None]
        return sorted(told, key=lambda wait: wait._number)

    def _next_due(self) -> int | None:
        """When there is something to do that nobody asks for; not at once, if the disk is failing."""
        due = self._due()
        return max(due, self.now_ms() + RETRY_MS) if due is not None and self._is_failing else due


def likeness(request: Request[Any]) -> tuple[int, Any] | None:
    """Requests with the same likeness can be carried out as one; None for a request that must be carried out alone."""
    alike = getattr(request.perform, "likeness", None)
    return None if alike is None else (request.stamp, alike)


def _first(untold: dict[int, Wait], most: int) -> list[tuple[int, Wait]]:
    return [item for item, _ in zip(untold.items(), range(most), strict=False)]


def _copy(error: BaseException) -> BaseException:
    """For each caller an error of its own: a traceback belongs to one thread."""
    if isinstance(error, SojournError):
        return type(error)(*error.args)
    return StorageError(f"nothing of this was written: {error!r}")


def _nothing() -> None:
    """There are no callbacks to call."""


def _each(*calls: Callable[[], object]) -> Callable[[], object]:
    return lambda: call_each(iter(calls))


def _raising(error: BaseException) -> Callable[[], object]:
    def call() -> None:
        raise error

    return call
