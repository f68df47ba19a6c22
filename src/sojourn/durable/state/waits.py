"""The pending waits that are in memory. One that nobody has asked for since it was read is not made yet.

A start reads millions of waits, and soon needs a handful of them. What a record has opened is kept as that record, and
made into a `Wait` when somebody looks at it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, cast

from .wait import Row, Wait

if TYPE_CHECKING:
    from .roster import Roster


class Opened:
    """What one record has opened: columns, from number `first_seq` on. What all share is as a `Wait` has it."""

    __slots__ = (
        "_due",
        "_plan",
        "_plan_number",
        "_state",
        "first_seq",
        "ids",
        "keys",
        "opened_at",
        "payloads",
        "within_ms",
    )

    _callbacks = None

    def __init__(
        self,
        state: Roster,
        opened_at: int,
        first_seq: int,
        plan_number: int,
        within_ms: int,
        keys: list[str | list[str]],
        ids: list[str | None] | None,
        payloads: list[Any] | None,
    ) -> None:
        self._state, self._plan_number, self._plan = state, plan_number, state.plans[plan_number]
        self.opened_at, self.within_ms, self._due = opened_at, within_ms, opened_at + within_ms
        self.first_seq, self.keys, self.ids, self.payloads = first_seq, keys, ids, payloads

    def wait(self, seq: int) -> Wait:
        """One of them, as it was opened."""
        return self._wait(seq, *self._fields(seq))

    def waits(self) -> list[Wait]:
        """All of them."""
        seqs = range(self.first_seq, self.first_seq + len(self.keys))
        if self.ids is None and self.payloads is None:
            return list(map(self._wait, seqs, self.keys))
        return list(map(self._wait, seqs, self.keys, self.ids or repeat(None), self.payloads or repeat(None)))

    def all_keys(self) -> Iterator[str]:
        return chain.from_iterable(map(_several, self.keys))

    def take(self, seq: int) -> Wait:
        """One of them, which this need not keep any longer: a payload may be large, and others may wait for long."""
        wait = self.wait(seq)
        if self.payloads is not None:
            self.payloads[seq - self.first_seq] = None
        return wait

    def row(self, seq: int) -> Row:
        """One as a snapshot and the index have it: see `wait_row`."""
        key, given_id, payload = self._fields(seq)
        times = (self.opened_at, self._due, self.within_ms, None)
        return (seq, given_id, _several(key), self._plan_number, *times, payload, None, None)

    def keys_of(self, seq: int) -> tuple[str, ...]:
        return _several(self.keys[seq - self.first_seq])

    def _fields(self, seq: int) -> tuple[str | list[str], str | None, Any]:
        place = seq - self.first_seq
        given_id = None if self.ids is None else self.ids[place]
        return self.keys[place], given_id, None if self.payloads is None else self.payloads[place]

    def _wait(self, seq: int, key: str | list[str], given_id: str | None = None, payload: Any = None) -> Wait:
        state, due = self._state, self._due
        wait = state.blank(seq)
        wait.seq, wait._state, wait._plan_number, wait._plan = seq, state, self._plan_number, self._plan
        wait.opened_at, wait.within_ms, wait.deadline, wait._due = self.opened_at, self.within_ms, due, due
        wait._progress = wait._cancelled_at = wait._ending = wait._by = wait._row = None
        wait.keys = (key,) if type(key) is str else tuple(key)
        wait.given_id, wait.payload, wait._is_told = given_id, payload, False
        return wait


def _several(key: str | list[str]) -> tuple[str, ...]:
    return (key,) if type(key) is str else tuple(key)


class Waits(dict[int, Wait]):
    """By number, in the order in which they came in. To look at one makes it; to count or to find one does not.

    Where a wait is not made, there is the `Opened` that has it: only `stored` and `all_stored` show that.
    """

    stored: Any = dict.get

    def all_stored(self) -> Iterator[tuple[int, Any]]:
        return iter(dict.items(self))

    def __getitem__(self, seq: int) -> Wait:
        there: Any = dict.__getitem__(self, seq)
        return there if type(there) is Wait else self._make(seq, there)

    def get(self, seq: int, default: Any = None) -> Wait | None:  # type: ignore[override]
        there: Any = dict.get(self, seq)
        return None if there is None else there if type(there) is Wait else self._make(seq, there)

    def pop(self, seq: int) -> Wait:  # type: ignore[override]
        there: Any = dict.pop(self, seq)
        return there if isinstance(there, Wait) else there.take(seq)

    def values(self) -> Any:
        """Nothing may come or go meanwhile."""
        return (there if type(there) is Wait else self._make(seq, there) for seq, there in self.all_stored())

    def looked_at(self) -> Iterator[Wait]:
        """All of them, without keeping what is made for it."""
        return (there if type(there) is Wait else there.wait(seq) for seq, there in self.all_stored())

    def made(self) -> dict[int, Wait]:
        """Those that somebody may hold."""
        return {seq: there for seq, there in self.all_stored() if type(there) is Wait}

    def enter(self, seqs: list[int], opened: Opened) -> None:
        """Take in what a record has opened."""
        self.update(dict.fromkeys(seqs, cast(Any, opened)))

    def make_all(self, opened: Opened) -> list[Wait]:
        """For whoever has opened them."""
        waits = opened.waits()
        self.update({wait.seq: wait for wait in waits})
        if opened.ids is not None:
            opened._state.ids.update({wait.given_id: wait for wait in waits if wait.given_id is not None})
        return waits

    def _make(self, seq: int, opened: Opened) -> Wait:
        wait = self[seq] = opened.take(seq)
        if wait.given_id is not None:
            opened._state.ids[wait.given_id] = wait
        return wait
