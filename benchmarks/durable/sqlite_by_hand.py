"""SQLite by hand: one table, indexes by key and due time, WAL, synchronous=FULL, and a thread that commits groups."""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from heapq import heapify
from pathlib import Path
from typing import Any

from .store import RULE, WITHIN_MS, Store

SCHEMA = """
PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536;
CREATE TABLE IF NOT EXISTS waits (id INTEGER PRIMARY KEY, key TEXT, rule TEXT, opened INTEGER, due INTEGER);
CREATE INDEX IF NOT EXISTS by_key ON waits (key);
CREATE INDEX IF NOT EXISTS by_due ON waits (due);
CREATE TABLE IF NOT EXISTS outcomes (number INTEGER PRIMARY KEY, wait INTEGER, key TEXT, outcome TEXT, at INTEGER);
"""
INSERT = "INSERT INTO waits (key, rule, opened, due) VALUES (?, ?, ?, ?)"
COMPLETE = "INSERT INTO outcomes (wait, key, outcome, at) SELECT id, key, 'completed', ? FROM waits WHERE key = ?"

Work = Callable[[sqlite3.Connection], Any]


class SqliteStore:
    """Requests that come while a commit is under way are the next group."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._queue: queue.SimpleQueue[tuple[Work, Future[Any]] | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()
        self.by_key, self.due = self._do(load)

    def wait(self, key: str) -> None:
        self.wait_many([key])

    def wait_many(self, keys: Sequence[str]) -> None:
        now_ms = time.time_ns() // 1_000_000
        rows = [(key, RULE, now_ms, now_ms + WITHIN_MS) for key in keys]
        self._do(lambda db: db.executemany(INSERT, rows).rowcount)  # a cursor must not leave the writer's thread

    def signal_many(self, keys: Sequence[str]) -> int:
        now_ms = time.time_ns() // 1_000_000

        def complete(db: sqlite3.Connection) -> int:
            db.executemany(COMPLETE, [(now_ms, key) for key in keys])
            return db.executemany("DELETE FROM waits WHERE key = ?", [(key,) for key in keys]).rowcount

        return int(self._do(complete))

    def cancel_all(self) -> int:
        """The bar: only the DELETE, without outcomes."""
        return int(self._do(lambda db: db.execute("DELETE FROM waits WHERE rule = ?", (RULE,)).rowcount))

    def pending(self) -> int:
        return int(self._do(lambda db: db.execute("SELECT count(*) FROM waits").fetchone()[0]))

    def close(self) -> None:
        self._queue.put(None)
        self._writer.join()

    def _do(self, work: Work) -> Any:
        answer: Future[Any] = Future()
        self._queue.put((work, answer))
        return answer.result()

    def _write(self) -> None:
        db = connected(self._folder)
        while (first := self._queue.get()) is not None:
            group = [first]
            while not self._queue.empty() and (further := self._queue.get()) is not None:
                group.append(further)
            self._commit(db, group)
        db.close()

    def _commit(self, db: sqlite3.Connection, group: list[tuple[Work, Future[Any]]]) -> None:
        try:
            db.execute("BEGIN")
            results = [(answer, work(db)) for work, answer in group]
            db.execute("COMMIT")
        except sqlite3.Error as error:
            for _, answer in group:
                answer.set_exception(error)
            raise
        for answer, result in results:
            answer.set_result(result)


def connected(folder: Path) -> sqlite3.Connection:
    db = sqlite3.connect(folder / "waits.db", isolation_level=None)
    db.executescript(SCHEMA)
    return db


def load(db: sqlite3.Connection) -> tuple[dict[str, list[int]], list[tuple[int, int]]]:
    """What a program needs at hand to go on: who waits on each key, and what is due next."""
    by_key: dict[str, list[int]] = {}
    due = []
    for id_, key, instant in db.execute("SELECT id, key, due FROM waits"):
        by_key.setdefault(key, []).append(id_)
        due.append((instant, id_))
    heapify(due)
    return by_key, due


class SqliteByHand:
    def version(self) -> str:
        return sqlite3.sqlite_version

    def open(self, folder: Path, **options: int) -> Store:
        return SqliteStore(folder)

    def abandon(self, store: Store) -> None:
        """The end of this process does it."""
