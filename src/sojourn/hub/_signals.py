"""How waits begin, and signals reach them, in plain Python. `_core.pyx` is the same, in C.

Clocks are asked and keys are compared before the lock is taken; if others came or went meanwhile, it is done again.
"""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NoReturn

from ..clock import NS_PER_MS
from ..errors import HubFullError, RuleError
from ..purgatory._watchers import Place, Watchers, place_of
from ..rules import Event
from ..timer._lock import lock
from ..timer._task import TimerTask
from ..timer._timer import NO_LIMIT, Timer
from ._ending import tell_all
from ._ids import check_same
from ._law import last_instant
from ._plan import plain_event, refused
from ._wait import Wait

if TYPE_CHECKING:
    from ..purgatory._watchers import Look as KeysLook
    from ._ids import IdLook, Ids
    from ._memory import Kept, Memory
    from ._plan import WaitPlan
    from ._table import Look
    from ._waits import WaitsFace


class Signals(Watchers):
    """Watch lists that carry signals to waits."""

    _memory: Memory | None = None
    _limit = NO_LIMIT
    _ids: Ids
    _wait_type = Wait

    def __init__(self, timer: Timer, shards: int) -> None:
        super().__init__(timer, shards)
        self._epoch_ms = (timer.clock.wall_ns() - timer.clock.now_ns()) // NS_PER_MS
        self._last_number = 0

    @property
    def _lock(self) -> AbstractContextManager[object]:
        """Reentrant. Held while waits read, never while keys are compared or callbacks called."""
        return lock

    def now_ms(self) -> int:
        if not self._is_open:
            self._check_process()  # here, as whatever is done with a hub or a wait begins with the time
        return self.timer.clock.now_ns() // NS_PER_MS + self._epoch_ms

    # A signal

    def _spread(self, event: Event) -> int:
        """Let an event count for all who wait on its key; return how many that completed."""
        event = plain_event(event)
        hashed = hash(event.key)
        completed: list[Wait] = []
        try:
            while not self._try_to_spread(event, hashed, completed):
                pass  # others came or went while keys were compared
        except RuleError as refusal:
            raise refused(event, str(refusal)) from None
        finally:
            tell_all(iter(completed))
        return len(completed)

    def _try_to_spread(self, event: Event, hashed: int, completed: list[Wait]) -> bool:
        """Look for those who wait on the key, then let them hear; False if they may not be the ones any more."""
        places = self._places_at(hashed)
        place = place_of(event.key, places)
        early = None if self._memory is None else self._memory.look(event.key)
        with lock:
            if self._places_at(hashed) is not places or (early is not None and not self._remembers(early)):
                return False
            waits: list[Any] = [] if place is None else list(place.operations.values())
            waits = [wait for wait in waits if event.kind in wait._plan.kinds]
            for wait in waits:
                if (reason := wait._plan.refusal(event)) is not None:
                    raise RuleError(reason)  # before anybody has heard of it
            if self._memory is not None and early is not None:
                self._memory.keep(event, early)
            for wait in waits:
                if wait._hears(event):
                    completed.append(wait)
            return True

    def _remembers(self, *looks: Look[Kept]) -> bool:
        """Whether the memory is as it was when these keys were looked for."""
        return all(self._memory is not None and self._memory.stands(look) for look in looks)

    # A wait

    def _open(self, plan: WaitPlan, keys: tuple[Hashable, ...], wait_id: Hashable, callback: Any, now_ms: int) -> Wait:
        """A wait of that plan, on those keys, from then on; or the one that has this id, unless it is another one.

        If early signals have ended it, the caller lets it tell.
        """
        self._check_fits(plan.within_ms, now_ms)
        wait = self._new(plan, callback, now_ms)
        own = [Place(key) for key in keys]
        while True:
            of_id = None if wait_id is None else self._ids.look(wait_id)
            of_keys = self._look(own)
            early = [] if self._memory is None else [self._memory.look(key) for key in keys]
            with lock:
                if not self._remembers(*early) or (of_id is not None and not self._ids.stands(of_id)):
                    continue  # others came or went while keys were compared
                if of_id is not None and (known := self._ids.get(of_id, now_ms)) is not None:
                    break
                if self._begin(wait, of_id, keys, of_keys, early):
                    return wait
        check_same(known, known._keys, plan, keys)
        if callback is not None:
            known.add_done_callback(callback)
        return known

    def _new(self, plan: WaitPlan, callback: Any, now_ms: int) -> Wait:
        wait = self._wait_type.__new__(self._wait_type)
        wait._waits, wait._plan, wait._callbacks = self, plan, callback  # type: ignore[assignment]
        wait.at = wait._by = wait._id = wait._progress = wait._cancelled_at = None
        wait.opened_at, wait.deadline = now_ms, now_ms + plan.within_ms
        wait.delay_ms = plan.within_ms + 1
        return wait

    def _begin(
        self,
        wait: Wait,
        of_id: IdLook | None,
        keys: tuple[Hashable, ...],
        of_keys: KeysLook,
        early: list[Look[Kept]],
    ) -> bool:
        """Take it in, with the lock held, and let it hear the signals that came early.

        False if others came or went while keys were compared, or in a garbage collection since: none starts between
        the look at that and the lists.
        """
        if self._delayed >= self._limit:
            self._refuse_more()
        try:
            if of_id is not None:
                wait._id = self._ids.put(of_id, wait)
            if not self._stands(of_keys):
                self._forget_id(wait)
                return False
            self._admit(wait)
            self.timer._check_open()
            self._last_number += 1
            wait._number = self._last_number
            self._enter(wait, keys, of_keys.places, of_keys.after)
            recalled = [] if self._memory is None else self._memory.recall(early, wait.opened_at, wait)
            if not any(wait._hears(event) for event in recalled):
                self._arm(wait, last_instant(wait), wait.opened_at)
        except BaseException:
            self._forget_id(wait)
            self._abandon(wait)
            raise
        return True

    def _forget_id(self, wait: Wait) -> None:
        if wait._id is not None:
            self._ids.drop(wait._id)
            wait._id = None

    def _check_fits(self, delay_ms: int, now_ms: int) -> None:
        self.timer._check_fits(delay_ms, now_ms + 1 - self._epoch_ms)  # one more, as the timer comes when it is over

    def _has_timer(self) -> bool:
        """Whether the timer still comes; an error if it died."""
        return self.timer._is_open or self.timer._refuse_to_extend()

    def _arm(self, wait: Wait, until: int, now_ms: int) -> None:
        """Have the timer come when `until` is over, as a signal stamped like it still counts."""
        if self.timer._is_open:
            self.timer._add_all((wait,), (until + 1 - now_ms,), (now_ms - self._epoch_ms) * NS_PER_MS)
            if wait._outcome is not None:
                TimerTask.cancel(wait)  # a garbage collection in the midst of that has ended it

    # What `WaitsFace` says

    def _refuse_more(self) -> NoReturn:
        raise HubFullError("this hub is full")


class QuickVerbs:
    """The compiled build has quicker forms of `Hub.wait` and `Hub.signal` here; this one has none."""

    _waits: WaitsFace
