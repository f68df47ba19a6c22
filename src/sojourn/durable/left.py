"""What is pending when a hub is closed: a list or, if that would be long, a sequence that reads it from the folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, overload

from ..errors import DamagedError, StorageError
from .index.cold import MOST
from .index.index import LAST, Index
from .index.rows import CHUNK, instant_of, loaded
from .log.files import Files
from .log.records import TOLD, read_body
from .log.segments import Header, Position, headers, layout, walk
from .recovery.recovery import bring_forward, recover
from .state.state import State
from .state.wait import Wait, publish


class Left(Sequence[Wait]):
    """The waits that had not been told to have ended at a place of the log. Nothing is left out of its length.

    `held` are those in memory: they are the objects that people have. Each pass over all of them reads the others from
    the folder, as the log was up to `end`, in bounded memory: first those that were told in between, in that order,
    then the pending ones, soonest first. `StorageError` if the folder was opened since, and has let go of that part.
    """

    def __init__(self, files: Files, owner: Any, state: State, place: Position) -> None:
        self._files, self._owner = files, owner
        self._count = count_of(state)
        self.held = {**state.waits.made(), **state.untold}
        self.place = self.end = place

    def __repr__(self) -> str:
        return f"<{self._count:,} waits left in {self._files}>"

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Wait: ...
    @overload
    def __getitem__(self, place: slice) -> list[Wait]: ...
    def __getitem__(self, place: int | slice) -> Wait | list[Wait]:
        """Reads as far as that: to go through many of them, iterate."""
        if isinstance(place, slice):
            numbers = range(*place.indices(self._count))
            chosen = set(numbers)
            waits = {i: wait for i, wait in enumerate(islice(self, max(chosen, default=-1) + 1)) if i in chosen}
            return [waits[i] for i in numbers]
        return next(islice(self, range(self._count)[place], None))

    def __iter__(self) -> Iterator[Wait]:
        if len(self.held) == self._count:
            return iter(self.listed())
        return self._read()

    def seen_at(self, end: Position) -> Left:
        """The same waits, at a later place of the log: some of them have been told by then."""
        self.end = end
        return self

    def listed(self) -> list[Wait]:
        """Those in memory, soonest deadline first."""
        return sorted(self.held.values(), key=lambda wait: (wait.deadline, wait.seq))

    def handed_out(self) -> Sequence[Wait]:
        """For whoever has closed the hub: a list, if all are in memory anyway."""
        return self.listed() if len(self.held) == self._count else self

    def _read(self) -> Iterator[Wait]:
        with closing(Index("")) as index:
            try:
                found = [h for h in headers(self._files, layout(self._files).segments) if h.segment <= self.end.segment]
                state = recover(self._files, self._owner, until=self.place, index=index, most=MOST).state
            except (FileNotFoundError, DamagedError) as error:
                raise self._gone() from error
            if count_of(state) != self._count or not found:
                raise self._gone()
            for wait in self._passed(state, found):
                yield self.held.get(wait.seq, wait)

    def _passed(self, state: State, found: list[Header]) -> Iterator[Wait]:
        first_new = state.next_seq
        for record in walk(self._files, found, self.place, self.end):
            told = state.apply(record.type, read_body(record.body))
            state.fresh.clear()
            if record.type == TOLD:
                publish(told)
                yield from (wait for wait in told if wait.seq < first_new)
        yield from [wait for wait in state.untold.values() if wait.seq < first_new]
        bring_forward(state, self.end, found[-1])
        assert state.cold is not None
        after = -1, LAST
        while rows := state.cold.index.due(after, LAST, CHUNK):
            yield from [loaded(state, row) for seq, _, row in rows if seq < first_new]
            state.ids.clear()  # nobody asks for one by its id, and they would pile up
            after = instant_of(rows[-1].row), rows[-1].seq

    def _gone(self) -> StorageError:
        return StorageError(
            f"the {self._count:,} waits that were pending when the hub was closed are not to be read from "
            f"{self._files} any more: it was opened since; ask who has it now, or sojourn.read"
        )


def count_of(state: State) -> int:
    """How many waits have not been told to have ended, wherever they are."""
    cold = state.cold
    swept = 0 if cold is None else sum(len(cold.counting(sweep.seqs)) for sweep in cold.cancels)
    return state.pending + len(state.untold) + swept
