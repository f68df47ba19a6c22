"""An index for short lives: its tables are those of one before, emptied. To make them takes longer than a program."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sojourn.durable import owned_folder
from sojourn.durable.index import index as module
from sojourn.durable.index.index import FORMAT, SCHEMA, SETTINGS, Index
from sojourn.durable.index.rows import boot

TABLES = ("about", "waits", "by_key", "by_id", "parts", "cancels")
SMALL_FILTER = 16
"""Texts in a filter: so few that it is full now and then, and says yes to others."""

_spare: list[sqlite3.Connection] = []
_closed = sqlite3.connect(":memory:")
_closed.close()


class SpareIndex(Index):
    """One that has a path is as ever."""

    def _open(self) -> None:
        if self.path:
            super()._open()
            return
        self._db = _spare.pop() if _spare else _new()
        self._load()
        self._set("format", FORMAT)
        self._set("boot", boot())

    def close(self) -> None:
        if self.path:
            super().close()
        else:
            self.give_back()

    def give_back(self) -> None:
        """Of no more use, in peace or not."""
        self._is_closed = True
        db, self._db = self._db, _closed
        if self.path:
            db.close()
        elif db is not _closed:
            if db.in_transaction:
                db.execute("ROLLBACK")
            for table in TABLES:
                db.execute(f"DELETE FROM {table}")
            _spare.append(db)


def _new() -> sqlite3.Connection:
    db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    db.executescript(SETTINGS)
    db.executescript(SCHEMA)
    return db


@contextmanager
def spare_indexes() -> Iterator[None]:
    """Hubs have such an index meanwhile."""
    usual = owned_folder.Index, module.SMALLEST_FILTER
    owned_folder.Index, module.SMALLEST_FILTER = SpareIndex, SMALL_FILTER  # type: ignore[misc]
    try:
        yield
    finally:
        owned_folder.Index, module.SMALLEST_FILTER = usual  # type: ignore[misc]
