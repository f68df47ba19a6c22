"""Looking at a data folder beside its owner: what is pending, and why. Nothing is written, nothing is locked."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator

from ..clock import NS_PER_MS, Clock, SystemClock
from .door import asked_id
from .hub import DurableStats, counted, explained, listed
from .index.cold import MOST
from .index.index import Index
from .log.files import Files
from .log.folder import opened
from .log.segments import Header, headers, layout
from .outcomes import check_cursor, read_outcomes
from .recovery.recovery import Recovered, recover, replay
from .state.state import State
from .state.wait import Told, Wait, publish


class Reader:
    """A hub's folder, read only. Each call first reads what the owner has written since the last one."""

    def __init__(self, data: str | os.PathLike[str] | Files, clock: Clock | None = None) -> None:
        self._files = opened(data)
        self._clock = SystemClock() if clock is None else clock
        self._index = Index("")
        self._recovered = self._recover()

    def __repr__(self) -> str:
        return f"<Reader of {self._files}, {self._recovered.state.pending} pending>"

    def get(self, id: str) -> Wait | None:
        """The wait of that id, pending or, while its id is remembered, ended; None if there is none."""
        return self._state().find(asked_id(id))

    def list(
        self, key: str | None = None, *, rule: str | None = None, due_before: int | None = None
    ) -> builtins.list[Wait]:
        """The pending waits, soonest deadline first: on a key, of a rule, due before a time (epoch milliseconds)."""
        return listed(self._state(), key, rule, due_before)

    def explain(self, id: str) -> str:
        """A sentence: how the wait ended, or what it still waits for."""
        state = self._state()
        return explained(state, id, max(state.last_stamp, self._clock.wall_ns() // NS_PER_MS))

    def stats(self) -> DurableStats:
        state = self._state()
        torn_bytes = self._recovered.tail.torn_bytes
        return DurableStats(*counted(state), None, state.next_number - 1, state.clock_steps, torn_bytes, False, 0)

    @property
    def pending(self) -> int:
        return self._state().pending

    def outcomes(self, after: int = 0) -> Iterator[Told]:
        """The outcomes after that number that have been told so far, in order and without gaps."""
        check_cursor(after)
        last = self._state().next_number - 1
        while after < last:
            for outcome in read_outcomes(self._files, after, last):
                yield outcome
                after = outcome.number

    def _recover(self) -> Recovered:
        return recover(self._files, index=self._index, most=MOST)

    def _state(self) -> State:
        """As of now. From the beginning, if the log no longer goes on from what has been read."""
        before = self._recovered
        try:
            found = headers(self._files, layout(self._files).segments)
            if not goes_on(found, before):
                raise FileNotFoundError
            tail, more = replay(self._files, found, before.position, before.state)
            publish(before.state._ended_ids)
            self._recovered = before._replace(tail=tail, records=before.records + more, last=found[-1])
        except FileNotFoundError:
            self._index.clear()
            self._recovered = self._recover()
        return self._recovered.state


def goes_on(found: list[Header], before: Recovered) -> bool:
    """Whether a log goes on from what was its end when it was read.

    Retention may have taken away what comes next. What an owner failed to write, but a reader has seen, is cut off by
    the next segment; and a segment that an owner failed to start is made anew.
    """
    segment, offset = before.position
    if before.last is None or before.last not in found:
        return False
    return all(header.segment != segment + 1 or header.previous_end >= offset for header in found)


def read(data: str | os.PathLike[str], *, clock: Clock | None = None) -> Reader:
    """Look at the folder of a durable hub, beside its owner if there is one: list, explain, stats, outcomes.

    `StorageError` if no hub was ever given that folder.
    """
    return Reader(data, clock)
