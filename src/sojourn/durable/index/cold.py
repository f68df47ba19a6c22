"""More than memory: the waits of a state that are in the index, and which of them are in memory too.

The index is the state at an earlier place of the log, whole. Since then some waits have come, changed or gone; these
are `changed`, and in memory if they are pending. So a row of the index counts iff its wait is neither in memory nor
changed. When the index is brought forward, what had changed by then is `frozen` until that is done: rows of these do
not count either, old or new. That is why it does no harm to see the index half-way.

A wait comes into memory when somebody asks for it, when a signal reaches it, and before it is due. It leaves when it
is not among the soonest, the index has it as it is, and nobody holds it.
"""

from __future__ import annotations

import json
import weakref
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..log.records import json_text
from ..state.where import Where
from .index import LAST, Index, Mark
from .rows import ID, Found, chunks, instant_of, loaded, row_in

if TYPE_CHECKING:
    from ..log.segments import Header, Position
    from ..state.state import State
    from ..state.wait import Wait

WAIT_BYTES = 1_024
"""About what a wait takes in memory, with everything that leads to it."""
MEMORY = 2**30
"""What all may take, if nobody says otherwise."""
MOST = MEMORY // WAIT_BYTES
HASTE = 5
NEW_AT_ONCE = 50_000
"""Rows that are written together: enough that those of neighbouring keys meet, few enough for memory."""
CROWD = 2
"""How many times more than planned may have changed since the index."""


class Sweep:
    """Waits in the index that one record has cancelled, or moved. It is carried out on each when it comes in."""

    def __init__(self, seqs: array[int], stamp: int, number: int = 0, by_ms: int = 0) -> None:
        self.seqs = seqs
        self.stamp = stamp
        self.number, self.by_ms = number, by_ms
        self.reached = 0
        """How many of `seqs`, from the front, have come in."""

    def __contains__(self, seq: int) -> bool:
        place = bisect_left(self.seqs, seq)
        return place < len(self.seqs) and self.seqs[place] == seq


class Cold:
    """`most` is how many waits may be in memory, apart from those that are held or have changed.

    Invariants (`check`): every pending wait due by `near`, an instant and a number, is in memory; if a key has waits in
    memory and is not `partial`, then all its waits are.
    """

    def __init__(self, state: State, index: Index, most: int) -> None:
        self._state, self.index = state, index
        self.most, self.most_changed = most, max(1, most // 4)
        self.changed: set[int] = set()
        self.frozen: set[int] = set()
        self.partial: set[str] = set()
        self.cancels: list[Sweep] = []
        self.shifts: list[Sweep] = []
        self.near = (-1, LAST)
        self._first_due: int | None = -1
        """The next in the index after `near`; -1 if that has to be looked up."""
        self._guests: set[int] = set()
        """Came in because somebody asked, and may leave again."""
        self._leaving: list[int] = []
        self._frozen_shifts = 0
        self.next_seq = state.next_seq
        """The first that the index, once it is brought forward, cannot have."""

    @property
    def is_full(self) -> bool:
        """Whether the index should be brought forward, so that waits can leave memory."""
        return len(self._state.waits) >= self.most and len(self.changed) >= self._changed_allowed

    @property
    def is_crowded(self) -> bool:
        """Whether the index is too far behind."""
        return len(self.changed) > CROWD * self._changed_allowed

    @property
    def _changed_allowed(self) -> int:
        """Fewer if those that have changed crowd memory; of those that have ended there is only a number."""
        is_tight = len(self._state.waits) >= self.most + self.most_changed
        return self.most_changed if is_tight else HASTE * self.most_changed

    # Coming in

    def on_keys(self, keys: Iterable[str]) -> None:
        """Bring in whoever waits on these."""
        by_key, may_have = self._state.by_key, self.index.filter.may_have
        asked = [key for key in keys if (key in self.partial if key in by_key else may_have(key))]
        if asked:
            self._bring_in(self.index.on_keys(list(dict.fromkeys(asked))))
            self.partial.difference_update(asked)

    def opened(self, keys: Iterable[str]) -> None:
        """A new wait is on these keys, and perhaps not the only one."""
        if self.index.filter.added:
            by_key, may_have = self._state.by_key, self.index.filter.may_have
            self.partial.update(key for key in keys if key not in by_key and may_have(key))

    def ended(self, waits: Iterable[Wait]) -> None:
        """These have ended in memory. If the index cannot have one, nothing need be remembered."""
        for wait in waits:
            if wait.seq >= self.next_seq:
                self.changed.discard(wait.seq)
            else:
                self.changed.add(wait.seq)

    def to_be_told(self, seqs: list[int]) -> None:
        """These are about to be told: bring in those that are not here. Their rows in the index count no longer."""
        waits, untold = self._state.waits, self._state.untold
        self.of_seqs([seq for seq in seqs if seq not in untold and seq not in waits])
        self.changed.update([seq for seq in seqs if seq < self.next_seq])

    def of_id(self, given_id: str) -> None:
        if self.index.filter.may_have(ID + given_id):
            self._bring_in(self.index.of_id(given_id))

    def of_seqs(self, seqs: Iterable[int]) -> None:
        if asked := self.counting(seqs):
            self._bring_in(self.index.of_seqs(asked))

    def where(self, where: Where) -> None:
        self._bring_in(self.index.where(where))

    def due(self, until: int, most: int) -> None:
        """Bring in what is due until then, the soonest first, and no more than that many."""
        if self.near >= (until, LAST):
            return
        first = self.first_due()
        if first is None or first > until:
            self.near = (until, LAST)
            return
        found = self.index.due(self.near, until, most)
        self._bring_in(found)
        self._guests.difference_update(row.seq for row in found)
        if len(found) < most:
            self.near = (until, LAST)
        else:
            seq, _, row = found[-1]
            self.near = instant_of(row), seq
        self._first_due = -1

    def first_due(self) -> int | None:
        """Nothing that is only in the index is due before."""
        if self._first_due == -1:
            self._first_due = self.index.first_due(self.near)
        return self._first_due

    def untold(self, most: int) -> None:
        """Bring in waits that were cancelled and have not been told."""
        while self.cancels and most > 0:
            sweep = self.cancels[0]
            seqs = sweep.seqs[sweep.reached : sweep.reached + most]
            sweep.reached += len(seqs)
            self.of_seqs(seqs)
            most -= len(seqs)
            if sweep.reached == len(sweep.seqs):
                del self.cancels[0]

    def _counts(self, seq: int) -> bool:
        """Whether the row of that number, if there is one, is what the wait is."""
        return bool(self.counting((seq,)))

    def counting(self, seqs: Iterable[int]) -> list[int]:
        """Those whose rows, if there are any, are what the waits are."""
        waits, untold, changed, frozen = self._state.waits, self._state.untold, self.changed, self.frozen
        return [
            seq for seq in seqs if seq not in waits and seq not in changed and seq not in frozen and seq not in untold
        ]

    def _bring_in(self, found: list[Found]) -> None:
        rows = {seq: (shifts, row) for seq, shifts, row in found}
        for seq in self.counting(rows):
            self._enter(seq, *rows[seq])

    def _enter(self, seq: int, shifts: int, row: list[Any]) -> None:
        state = self._state
        wait = loaded(state, row)
        for sweep in self.shifts:
            if sweep.number > shifts and seq in sweep:
                wait.deadline += sweep.by_ms
                self.changed.add(seq)
        for sweep in self.cancels:
            if seq in sweep:
                wait._ending, wait._ended_at, wait._by = "cancelled", sweep.stamp, "cancel"
                self.changed.add(seq)
                state.untold[seq] = wait
                return
        for key in wait.keys:
            if key not in state.by_key:
                self.partial.add(key)
        state.enter(wait)
        self._guests.add(seq)

    # Many at once

    def prepare(self, stamp: int) -> None:
        """Bring in what a sweep could not judge by its instant: cancelled by a signal, or moved since the index."""
        self._bring_in(self.index.cancelled())
        if self.shifts:
            seqs = self.index.seqs(Where(due_before=stamp))
            self.of_seqs([seq for seq in seqs if any(seq in sweep for sweep in self.shifts)])

    def seqs(self, where: Where) -> array[int]:
        """Those that are only in the index, and pending."""
        found = self.counting(self.index.seqs(where))
        return array("q", [seq for seq in found if not self._is_cancelled(seq)] if self.cancels else found)

    def by_plan(self) -> Counter[int]:
        """How many of those that are only in the index, and pending, have each plan.

        What is in memory, and was opened before the place of the index, is in it too; so is what has ended since.
        """
        mark, waits = self.index.mark, self._state.waits
        if mark is None:
            return Counter()
        counts = Counter(dict(self.index.by_plan()))
        counts.subtract(wait._plan_number for seq, wait in waits.all_stored() if seq < mark.next_seq)
        ended = {
            *self.changed,
            *self.frozen,
            *self._state.untold,
            *(seq for sweep in self.cancels for seq in sweep.seqs),
        }
        gone = [seq for seq in ended if seq < mark.next_seq and seq not in waits]
        counts.subtract(row.row[3] for row in self.index.of_seqs(sorted(gone)))
        return +counts

    def _is_cancelled(self, seq: int) -> bool:
        return any(seq in sweep for sweep in self.cancels)

    def cancel(self, where: Where, stamp: int) -> int:
        sweep = Sweep(self.seqs(where), stamp)
        if sweep.seqs:
            self.cancels.append(sweep)
        return len(sweep.seqs)

    def shift(self, where: Where, stamp: int, by_ms: int, number: int) -> int:
        sweep = Sweep(self.seqs(where), stamp, number, by_ms)
        if sweep.seqs:
            self.shifts.append(sweep)
        return len(sweep.seqs)

    # Leaving

    def freeze(self) -> None:
        """The index is about to be brought forward to here."""
        self.frozen, self.changed = self.changed, set()
        self._frozen_shifts = self._state.shifts
        self.next_seq = self._state.next_seq

    def thaw(self, is_forward: bool) -> None:
        """It has been, or could not be."""
        if not is_forward:
            self.changed |= self.frozen
            self.frozen = set()
            return
        self.shifts = [sweep for sweep in self.shifts if sweep.number > self._frozen_shifts]
        waits, written = self._state.waits, self.frozen
        self.frozen = set()
        self.changed.update(written & self._state.untold.keys())  # to the index these may be part of a sweep
        self._guests &= waits.keys()
        self.near, self._first_due = min(self.near, self.index.cutoff), -1
        are_too_many = len(waits) > self.most + 2 * len(self.changed)
        can_leave = self.index.cutoff < (LAST, LAST)
        self._leaving = list(waits if are_too_many else written | self._guests) if can_leave else []

    def leave(self, most: int) -> None:
        """Let some go: those that are not among the soonest. More, if there are many too many."""
        waits, soon = self._state.waits, max(self.index.cutoff, self.near)
        left, looks = (most if len(waits) < 2 * self.most else HASTE * most), HASTE * HASTE * most
        while self._leaving and left and looks:
            seq, looks = self._leaving.pop(), looks - 1
            wait = waits.stored(seq)
            if wait is not None and (wait._due, seq) > soon and self._is_written(seq) and wait._callbacks is None:
                del wait  # so that, but for us, only those who hold it refer to it
                self._put_down(seq)
                left -= 1

    def _is_written(self, seq: int) -> bool:
        """Whether the index has what a wait in memory is."""
        return seq not in self.changed and seq not in self.frozen

    def _put_down(self, seq: int) -> None:
        state = self._state
        held = weakref.ref(wait := state.waits.pop(seq))
        state.due.remove(wait._due, seq)
        for key in wait.keys:
            state.unlist(key, seq)
            if key in state.by_key:
                self.partial.add(key)
        if wait.given_id is not None:
            del state.ids[wait.given_id]
        self._guests.discard(seq)
        del wait
        if (kept := held()) is not None:  # somebody holds it, and may hang a callback on it
            self.partial.update(key for key in kept.keys if key not in state.by_key)
            state.enter(kept)
            if kept.given_id is not None:
                state.ids[kept.given_id] = kept

    # The index

    def bring_forward(self, position: Position, header: Header, parts: Iterable[tuple[int, bytes]]) -> None:
        """Let the index be this state, which is the one at that place of the log. `parts`: all but pending waits."""
        state, index = self._state, self.index
        first_new = 0 if index.mark is None else index.mark.next_seq
        gone = [seq for seq in self.changed if seq < first_new and seq not in state.waits]
        pending = sorted(self.changed & state.waits.keys())
        first_place = bisect_left(pending, first_new)
        with index.transaction():
            index.remove(sorted(gone))
            index.put((row_in(state.waits, seq) for seq in pending[:first_place]), state.shifts)
            for seqs in chunks(pending[first_place:], NEW_AT_ONCE):
                index.put_new([row_in(state.waits, seq) for seq in seqs], state.shifts)
            for sweep in self.shifts:
                self._move(sweep)
            self.finish(position, header, parts)
        self.freeze()
        self.thaw(True)

    def finish(self, position: Position, header: Header, parts: Iterable[tuple[int, bytes]]) -> None:
        """The last step of a transaction, once the index has all rows."""
        state, index = self._state, self.index
        mark = Mark(*position, list(header), state.next_seq, state.pending, state.shifts)
        index.finish(mark, parts, self._cancelled())
        index.cutoff = index.place(self.most - 1) if self.most else (-1, LAST)
        self.next_seq = state.next_seq

    def _move(self, sweep: Sweep) -> None:
        for found in chunks(seq for seq in sweep.seqs if seq not in self.changed):
            rows = [row for _, _, row in self.index.of_seqs(found)]
            for row in rows:
                row[5] += sweep.by_ms
            self.index.put(rows, sweep.number)

    def _cancelled(self) -> Iterator[tuple[int, array[int]]]:
        for sweep in self.cancels:
            left = array("q", [seq for seq in sweep.seqs[sweep.reached :] if seq not in self.changed])
            if left:
                yield sweep.stamp, left

    def begin(self) -> None:
        """Take over what the index says of its own place."""
        mark = self.index.mark
        assert mark is not None
        self._state.pending, self._state.shifts = mark.pending, mark.shifts
        self.next_seq = mark.next_seq
        self.cancels = [Sweep(seqs, stamp) for stamp, seqs in self.index.cancels()]

    def pending_rows(self) -> Iterator[list[Any]]:
        """Those that are only in the index, and pending, by number."""
        return (json.loads(text) for _, text, is_pending in self.rows() if is_pending)

    def rows(self) -> Iterator[tuple[int, str, bool]]:
        """Those that are only in the index, by number: the JSON of a row, and whether it is still pending."""
        for seq, shifts, text in self.index.all_rows():
            if self._counts(seq):
                yield seq, *self._swept(seq, shifts, text)

    def _swept(self, seq: int, shifts: int, text: str) -> tuple[str, bool]:
        cancel = next((sweep for sweep in self.cancels if seq in sweep), None)
        moved = [sweep.by_ms for sweep in self.shifts if sweep.number > shifts and seq in sweep]
        if cancel is None and not moved:
            return text, True
        row = json.loads(text)
        row[5] += sum(moved)
        if cancel is not None:
            row[10] = ["cancelled", cancel.stamp, "cancel"]
        return json_text(row), cancel is None

    def check(self) -> tuple[Counter[int], int]:
        """Prove the invariants; return the plans of those only in the index, and how many of them are cancelled."""
        state = self._state
        rows = {found.seq: found for found in self.index.where(Where()) if self._counts(found.seq)}
        cancelled = {seq for sweep in self.cancels for seq in sweep.seqs if seq in rows}
        assert len(state.waits) + len(rows) - len(cancelled) == state.pending
        assert all((instant_of(found.row), seq) > self.near for seq, found in rows.items())
        cold_keys = {key for seq in rows.keys() - cancelled for key in rows[seq].row[2]}
        assert all(self.index.filter.may_have(key) for key in cold_keys)
        assert not (cold_keys & state.by_key.keys()) - self.partial
        assert self.partial <= state.by_key.keys()
        return Counter(found.row[3] for found in rows.values()), len(cancelled)
