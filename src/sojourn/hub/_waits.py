"""`Waits`: all that a hub holds, as its private purgatory, over either build. Here is what both builds share."""

from __future__ import annotations

from collections.abc import Hashable
from threading import get_ident
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import HubFullError, PurgatoryClosedError
from ..purgatory.purgatory import OnError, PurgatoryFace
from ._build import Signals, Wait
from ._coroutines import handle_returned
from ._ids import Ids
from ._memory import Memory
from ._plan import refused

if TYPE_CHECKING:
    from ..timer import Timer
    from ._coroutines import Coroutines
    from ._signals import Signals as Lists
else:
    Lists = object  # mixed in below, so that tests can put the same face on either build


class WaitsFace(PurgatoryFace, Lists):
    """Ids, memory, a limit, and who hears of errors."""

    _wait_type: type[Wait]
    _noun = "hub"

    def __init__(
        self,
        name: str,
        *,
        timer: Timer,
        shards: int,
        on_error: OnError,
        remember_ms: int | None,
        remember_most: int,
        max_pending: int | None,
    ) -> None:
        super().__init__(name, timer=timer, shards=shards, on_error=on_error)
        self._ids = Ids(remember_ms)
        self._made_in = get_ident()
        self._coroutines: Coroutines | None = None
        """Runs what async callbacks return; None for a hub without a loop."""
        if remember_ms is not None:
            self._memory = Memory(remember_ms, remember_most)
        if max_pending is not None:
            self._limit = max_pending

    def __repr__(self) -> str:
        return f"<waits of hub {self.name!r}, {self.delayed} pending>"

    def _by_id(self, wait_id: Hashable) -> Wait | None:
        """The wait that was given this id, if it is known."""
        now_ms = self.now_ms()
        while True:
            look = self._ids.look(wait_id)
            with self._lock:
                if self._ids.stands(look):
                    return self._ids.get(look, now_ms)

    def _has_ended(self, wait: Wait) -> None:
        """A wait that was given an id has ended."""
        assert wait._id is not None
        now_ms = self.now_ms()
        with self._lock:
            self._ids.has_ended(wait._id, now_ms)

    def _has_recalled(self) -> None:
        """Early signals have been read; report those that could not be used."""
        assert self._memory is not None
        for wait, event, reason in self._memory.passed_over():
            self._failed(wait, refused(event, reason))

    def _returned(self, wait: Wait, returned: Any) -> None:
        handle_returned(returned, wait, self._coroutines, self._failed)

    def _refuse_more(self) -> NoReturn:
        raise HubFullError(
            f"hub {self.name!r} holds {self.delayed:,} pending waits, as many as max_pending allows; "
            "let some end, or allow more"
        )

    def _refuse(self) -> NoReturn:
        self._check_process()
        raise PurgatoryClosedError(f"hub {self.name!r} is closed and would never end this; make a new one")


class Waits(WaitsFace, Signals):
    _wait_type = Wait
