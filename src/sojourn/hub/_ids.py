"""The ids that people gave their waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import TYPE_CHECKING

from ..errors import IdTakenError
from ..rules.duration import duration_text
from ._table import Entry, KeyTable, Look

if TYPE_CHECKING:
    from ._plan import WaitPlan
    from ._wait import Wait

Keys = tuple[Hashable, ...]
IdEntry = Entry["Wait | None"]
IdLook = Look["Wait | None"]


class Ids:
    """Waits by id: while they are pending and, if there is a `keep_ms`, for that long after their end.

    Not thread-safe: apart from `look`, which runs the ids' own code, the hub holds its lock. get, put: O(1); what is
    forgotten goes when other waits end.
    """

    def __init__(self, keep_ms: int | None) -> None:
        self._keep_ms = keep_ms
        self._table: KeyTable[Wait | None] = KeyTable()
        self._ended: deque[IdEntry] = deque()
        self.look, self.stands, self.put = self._table.look, self._table.stands, self._table.put

    def __len__(self) -> int:
        return len(self._table)

    def get(self, look: IdLook, now_ms: int) -> Wait | None:
        """The wait that was found, unless it is forgotten by now."""
        wait = None if look.entry is None else look.entry.value
        return None if wait is None or self._is_forgotten(wait, now_ms) else wait

    def drop(self, entry: IdEntry) -> None:
        """Forget an id. Its wait, which has the entry, is let go of: the two would keep each other alive."""
        self._table.drop(entry)
        entry.value = None

    def has_ended(self, entry: IdEntry, now_ms: int) -> None:
        """Called once for each wait; another one may have its id by now."""
        self._ended.append(entry)
        while self._ended and self._is_forgotten(self._ended[0].value, now_ms):
            self.drop(self._ended.popleft())

    def forget_all(self) -> None:
        """The hub is closed: a wait and what has its id would keep each other, and the hub, alive."""
        for entry in self._table.entries():
            self.drop(entry)
        self._ended.clear()

    def _is_forgotten(self, wait: Wait | None, now_ms: int) -> bool:
        if wait is None or wait.at is None:
            return wait is None
        return self._keep_ms is None or wait.at < now_ms - self._keep_ms


def check_same(known: Wait, known_keys: Keys, plan: WaitPlan, keys: Keys) -> None:
    """`IdTakenError` unless the wait that has the id is on these keys, and of this plan.

    Compares keys, which runs their own code, so no lock is held.
    """
    if known_keys != keys or not (known._plan is plan or known._plan.rule == plan.rule):
        raise taken(known.id, known_keys, known.rule, known._plan.within_ms)


def taken(given_id: Hashable, keys: Keys, rule: str, within_ms: int, further: str = "") -> IdTakenError:
    """The same words in every hub."""
    on = " and ".join(map(repr, keys))
    described = f"on {on}, by rule {rule!r}, within {duration_text(within_ms)}{further}"
    return IdTakenError(f"id={given_id!r} belongs to another wait: {described}; use another id")
