"""The roster: who is pending, on which keys, under which id, due when; and who has ended and is not told yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from ...hub._law import last_instant, unmet
from .due import Due
from .wait import Wait
from .waits import Opened, Waits
from .where import Where

if TYPE_CHECKING:
    from ...hub._plan import WaitPlan
    from ...rules.outcome import Ending
    from ..index.cold import Cold
    from .wait import Owner


MOST_DIGITS = 18
"""Of a wait's number, as people may write it: more would not fit 64 bits, as the index has them."""


class Roster:
    """The waits of a hub.

    Invariants (`check`): a wait is on the lists of its keys and expected in `due` iff it is pending and in memory; what
    has ended is `untold` until a record tells it. All pending waits are in memory, unless there is a `cold` part: then
    whoever looks for one asks it first.
    """

    def __init__(self, owner: Owner | None, known: dict[int, Wait] | None) -> None:
        self.owner = owner
        self.plans: dict[int, WaitPlan] = {}
        self.cold: Cold | None = None
        self.next_seq = 1
        self.pending = 0
        self.counts: dict[Ending, int] = {"completed": 0, "expired": 0, "cancelled": 0}
        self.waits = Waits()
        """The pending ones in memory."""
        self.by_key: dict[str, int | dict[int, None]] = {}
        """Who waits on a key: the number of one, or of several."""
        self.ids: dict[str, Wait | int] = {}
        """Waits by the id that they were given; of one that is not made yet, its number."""
        self.due = Due()
        self.grace_until: int | None = None
        self.untold: dict[int, Wait] = {}
        self.fresh: list[Wait] = []
        """What the last records ended: whoever applies them takes it."""
        self._known = known or {}
        """Waits that people hold, to be used again when the state is built anew."""

    # Who is there

    def get(self, seq: int) -> Wait | None:
        """A pending wait by its number, from wherever it is."""
        if self.cold is not None and seq not in self.waits:
            self.cold.of_seqs((seq,))
        return self.waits.get(seq)

    def of_id(self, given_id: str) -> Wait | None:
        """The wait, pending or ended, that was given this id, from wherever it is."""
        if self.cold is not None and given_id not in self.ids:
            self.cold.of_id(given_id)
        found = self.ids.get(given_id)
        return self.waits[found] if isinstance(found, int) else found

    def find(self, wait_id: str) -> Wait | None:
        """By the id that it was given, or by the number that stands for one."""
        if wait_id.startswith("#"):  # which no id that was given does
            digits = wait_id[1:]
            if not (digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS):
                return None
            return self.get(int(digits)) or self.untold.get(int(digits))
        return self.of_id(wait_id)

    def watching(self, key: str) -> Iterable[Wait]:
        """Who waits on a key, from wherever they are."""
        self.bring_in((key,))
        return self._watching(key)

    def _watching(self, key: str) -> Iterable[Wait]:
        return [self.waits[seq] for seq in _numbers(self.by_key.get(key, ()))]

    def bring_in(self, keys: Iterable[str]) -> None:
        """Have all in memory that wait on these."""
        if self.cold is not None:
            self.cold.on_keys(keys)

    def listed(self, key: str | None, rule: str | None, due_before: int | None) -> Iterable[Wait]:
        """The pending waits, from wherever they are: on a key, of a rule, with deadlines before a time."""
        if key is not None:
            found = self.watching(key)
        else:
            if self.cold is not None:
                self.cold.where(self._where(rule, None)._replace(due_before=due_before))
            found = self.waits.values()
        return [
            wait
            for wait in found
            if (rule is None or wait.rule == rule) and (due_before is None or wait.deadline < due_before)
        ]

    def matching(self, rule: str | None, key_prefix: str | None) -> Iterator[Wait]:
        """The pending waits in memory of a rule, on a key that starts so."""
        for seq, there in self.waits.all_stored():
            is_made = type(there) is Wait
            if (rule is None or there._plan.rule.name == rule) and (
                key_prefix is None
                or any(key.startswith(key_prefix) for key in (there.keys if is_made else there.keys_of(seq)))
            ):
                yield there if is_made else self.waits[seq]

    def has_matching(self, rule: str | None, key_prefix: str | None) -> bool:
        """Whether there may be one, anywhere."""
        if self.cold is not None and self.cold.index.has_any(self._where(rule, key_prefix)):
            return True
        return any(self.matching(rule, key_prefix))

    def count_matching(self, rule: str | None, key_prefix: str | None, stamp: int, can: Callable[[Wait], bool]) -> int:
        """How many of them, anywhere, can be cancelled or moved."""
        count = 0
        if self.cold is not None:
            self.cold.prepare(stamp)
            count = len(self.cold.seqs(self._where(rule, key_prefix, stamp)))
        return count + sum(map(can, self.matching(rule, key_prefix)))

    def _where(self, rule: str | None, key_prefix: str | None, due_from: int | None = None) -> Where:
        plans = None
        if rule is not None:
            plans = [number for number, plan in self.plans.items() if plan.rule.name == rule]
        return Where(plans, key_prefix, due_from)

    def can_move(self, wait: Wait, stamp: int) -> bool:
        """Whether its deadline can still be moved."""
        return wait._cancelled_at is None and stamp <= wait.deadline

    # Waits come

    def blank(self, seq: int) -> Wait:
        """An object for a wait: the one that people hold, if they do."""
        wait = self._known.pop(seq, None) if self._known else None
        if wait is None:
            wait = Wait.__new__(Wait)
            wait._callbacks = None
        return wait

    def new_wait(self, seq: int, plan_number: int) -> Wait:
        wait = self.blank(seq)
        wait.seq, wait._state, wait._plan_number, wait._plan = seq, self, plan_number, self.plans[plan_number]
        wait._progress = wait._cancelled_at = wait._ending = wait._by = wait._row = wait.given_id = None
        wait._is_told = False
        return wait

    def let_go_of_known(self) -> None:
        """All waits that somebody holds have been looked up; those that are left are not in the log."""
        self._known = {}

    def handles(self, opened: Opened | list[Wait]) -> list[Wait]:
        """What a record has opened, for whoever asked for it."""
        return self.waits.make_all(opened) if isinstance(opened, Opened) else opened

    def enter(self, wait: Wait) -> None:
        """Take a pending wait in."""
        self.waits[wait.seq] = wait
        self._list(wait.keys, wait.seq)
        wait._due = last_instant(wait)
        self.due.add(wait._due, wait.seq)

    def _enter_unmade(self, opened: Opened) -> None:
        """Take in what a record has opened without making objects: a restart reads millions of waits."""
        seqs = list(range(opened.first_seq, self.next_seq))
        if self.cold is not None:
            self.cold.opened(opened.all_keys())
            self.cold.changed.update(seqs)
        self.waits.enter(seqs, opened)
        listed = self.by_key.setdefault
        for seq, key in zip(seqs, opened.keys, strict=True):
            if isinstance(key, list):
                self._list(key, seq)
            elif listed(key, seq) != seq:
                self._join(key, seq)
        if opened.ids is not None:
            self.ids.update((given, seq) for given, seq in zip(opened.ids, seqs, strict=True) if given is not None)
        self.due.add_all(opened._due, seqs)

    def _list(self, keys: Iterable[str], seq: int) -> None:
        for key in keys:
            if self.by_key.setdefault(key, seq) != seq:
                self._join(key, seq)

    def _join(self, key: str, seq: int) -> None:
        """Add a further wait to the list of a key."""
        there = self.by_key[key]
        if isinstance(there, dict):
            there[seq] = None
        else:
            self.by_key[key] = {there: None, seq: None}

    def unlist(self, key: str, seq: int) -> None:
        """Take a wait off the list of a key."""
        there = self.by_key[key]
        if type(there) is dict and len(there) > 1:
            del there[seq]
            return
        del self.by_key[key]
        if self.cold is not None and self.cold.partial:
            self.cold.partial.discard(key)

    def expect_end(self, wait: Wait) -> None:
        """Its last instant has moved."""
        self.note_change(wait.seq)
        self.due.remove(wait._due, wait.seq)
        wait._due = last_instant(wait)
        self.due.add(wait._due, wait.seq)

    def note_change(self, seq: int) -> None:
        """A wait differs from what the index has of it."""
        if self.cold is not None:
            self.cold.changed.add(seq)

    # Waits end

    def expire(self, now_ms: int, most: int) -> list[Wait]:
        """End what is over by now, at most so many; nothing while the grace lasts."""
        ended: list[Wait] = []
        if self.cold is not None and self.grace_until is None:
            self.cold.due(now_ms - 1, most)
            now_ms = min(now_ms, self.cold.near[0] + 1)
        while self.grace_until is None and len(ended) < most:
            first = self.due.first()
            if first is None or first >= now_ms:
                break
            seqs = self.due.at(first, most - len(ended))
            if self.cold is not None:
                near = self.cold.near
                seqs = [seq for seq in seqs if (first, seq) <= near]
            if not seqs:
                break  # those before these have not come in yet
            ended += self._end_due([self.waits[seq] for seq in seqs])
        return ended

    def _end_due(self, waits: list[Wait]) -> list[Wait]:
        for ending, some in groupby(waits, unmet):
            together = list(some)
            for wait in together:
                for key in wait.keys:
                    self.unlist(key, wait.seq)
            self._end_unlisted(together, *ending)
        return waits

    def end(self, wait: Wait, ending: Ending, at: int, by: str | None) -> None:
        """End a wait."""
        for key in wait.keys:
            self.unlist(key, wait.seq)
        self._end_unlisted((wait,), ending, at, by)

    def _end_unlisted(self, ended: Sequence[Wait], ending: Ending, at: int, by: str | None) -> None:
        """Where every wait ends, once: off the lists of its keys already. It stays untold until a record tells it."""
        waits, untold, remove = self.waits, self.untold, self.due.remove
        for wait in ended:
            seq = wait.seq
            untold[seq] = wait  # first: whatever interrupts this, it is in one place or the other
            del waits[seq]
            remove(wait._due, seq)
            wait._ending, wait._ended_at, wait._by = ending, at, by
        self.pending -= len(ended)
        self.counts[ending] += len(ended)
        self.fresh += ended
        if self.cold is not None:
            self.cold.ended(ended)

    def check(self) -> None:
        """Prove the invariants."""
        assert self.waits.keys().isdisjoint(self.untold)
        listed = {(key, seq) for key, there in self.by_key.items() for seq in _numbers(there)}
        assert listed == {(key, wait.seq) for wait in self.waits.looked_at() for key in wait.keys}
        assert all(wait._due == last_instant(wait) for wait in self.waits.looked_at())
        assert all(wait._ending is None for wait in self.waits.looked_at())
        assert all(wait._ending is not None for wait in self.untold.values())
        by_id = {wait.seq: wait.given_id for wait in self.waits.looked_at()}
        for given_id, there in self.ids.items():
            assert given_id == (by_id[there] if isinstance(there, int) else there.given_id)
        assert self.next_seq == self.pending + sum(self.counts.values()) + 1
        assert self.cold is not None or self.pending == len(self.waits)


def _numbers(there: int | Iterable[int]) -> Iterable[int]:
    return (there,) if isinstance(there, int) else there
