"""Registrations, cursors and what could not be delivered, in `webhooks.sqlite` beside the log.

Each method is one transaction. Called from one thread at a time.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import FormatError

FILE = "webhooks.sqlite"
VERSION = 1
MOST_DEAD = 10_000
"""Dead letters kept per webhook; beyond that the oldest are removed, and the log of the service says so."""

TABLES = """
CREATE TABLE webhooks (
    id TEXT PRIMARY KEY, url TEXT NOT NULL, rule TEXT, outcomes TEXT, secret TEXT NOT NULL, old_secret TEXT,
    old_until INTEGER, cursor INTEGER NOT NULL, created_at INTEGER NOT NULL, disabled TEXT
);
CREATE TABLE deliveries (
    webhook TEXT NOT NULL REFERENCES webhooks ON DELETE CASCADE, number INTEGER NOT NULL, status TEXT NOT NULL,
    attempts INTEGER NOT NULL, next_at INTEGER, last_at INTEGER, last_status INTEGER, last_error TEXT, outcome TEXT,
    PRIMARY KEY (webhook, number)
) WITHOUT ROWID;
CREATE INDEX due ON deliveries (webhook, status, next_at, number);
"""


@dataclass
class Webhook:
    """`cursor`: every outcome up to that number is delivered, of no concern to it, or among the deliveries."""

    id: str
    url: str
    rule: str | None
    outcomes: tuple[str, ...] | None
    """Which endings it is told: all, if none is named."""
    secret: str
    old_secret: str | None
    old_until: int | None
    cursor: int
    created_at: int
    disabled: str | None
    """Why nothing is sent; None while it is."""

    def secrets_at(self, now_ms: int) -> list[str]:
        is_old_valid = self.old_secret is not None and self.old_until is not None and now_ms < self.old_until
        return [self.secret, *([self.old_secret] if is_old_valid and self.old_secret else [])]

    def wants(self, rule: str, ending: str) -> bool:
        return self.rule in (None, rule) and (self.outcomes is None or ending in self.outcomes)


class Delivery(NamedTuple):
    """An outcome on its way to a webhook: "waiting" for its next attempt, "dead", or "delivered".

    A dead one without an outcome stands for all up to its number that were gone from the log.
    """

    number: int
    status: str
    attempts: int
    next_at: int | None
    last_at: int | None
    last_status: int | None
    last_error: str | None
    outcome: dict[str, Any] | None


class Store:
    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        """In a folder; or in memory, for a hub that has none."""
        path = ":memory:" if folder is None else str(Path(folder) / FILE)
        if folder is not None:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # it has secrets in it
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA foreign_keys = ON")
        self._prepare(path)

    def _prepare(self, path: str) -> None:
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version == 0:
            self._db.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
        elif version != VERSION:
            self._db.close()
            raise FormatError(
                f"{path} has version {version}, and this Sojourn reads {VERSION}: use the one that wrote it"
            )

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _at_once(self) -> Iterator[sqlite3.Connection]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield self._db
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # Registrations

    def webhooks(self) -> list[Webhook]:
        rows = self._db.execute("SELECT * FROM webhooks ORDER BY created_at, id").fetchall()
        return [_webhook(*row) for row in rows]

    def put(self, hook: Webhook) -> None:
        """New, or changed. Its cursor stays where it is in the store: couriers move that."""
        outcomes = None if hook.outcomes is None else ",".join(hook.outcomes)
        row = (hook.id, hook.url, hook.rule, outcomes, hook.secret, hook.old_secret, hook.old_until)
        with self._at_once() as db:
            db.execute(
                "INSERT INTO webhooks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET url = "
                "excluded.url, rule = excluded.rule, outcomes = excluded.outcomes, secret = excluded.secret, "
                "old_secret = excluded.old_secret, old_until = excluded.old_until, disabled = excluded.disabled",
                (*row, hook.cursor, hook.created_at, hook.disabled),
            )

    def remove(self, id: str) -> None:
        with self._at_once() as db:
            db.execute("DELETE FROM webhooks WHERE id = ?", (id,))

    # What couriers note down

    def move(self, id: str, cursor: int) -> None:
        with self._at_once() as db:
            self._move(db, id, cursor)

    def rewind(self, id: str, cursor: int) -> None:
        with self._at_once() as db:
            db.execute("UPDATE webhooks SET cursor = ? WHERE id = ?", (cursor, id))

    def keep(self, id: str, delivery: Delivery, cursor: int) -> int:
        """A delivery that is to be tried again, or is dead; how many dead ones had to go for it."""
        outcome = None if delivery.outcome is None else json.dumps(delivery.outcome, ensure_ascii=False)
        with self._at_once() as db:
            self._move(db, id, cursor)
            db.execute(
                "INSERT OR REPLACE INTO deliveries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (id, *delivery[:7], outcome)
            )
            if delivery.status != "dead":
                return 0
            return db.execute(
                "DELETE FROM deliveries WHERE webhook = ?1 AND status = 'dead' AND number IN (SELECT number FROM "
                "deliveries WHERE webhook = ?1 AND status = 'dead' ORDER BY number DESC LIMIT -1 OFFSET ?2)",
                (id, MOST_DEAD),
            ).rowcount

    def delivered(self, id: str, number: int) -> None:
        with self._at_once() as db:
            db.execute("DELETE FROM deliveries WHERE webhook = ? AND number = ?", (id, number))

    def _move(self, db: sqlite3.Connection, id: str, cursor: int) -> None:
        db.execute("UPDATE webhooks SET cursor = max(cursor, ?) WHERE id = ?", (cursor, id))

    def retry(self, id: str, number: int | None, now_ms: int) -> int:
        """Have one, or all, tried again from now on; return how many."""
        with self._at_once() as db:
            return db.execute(
                "UPDATE deliveries SET next_at = ?, attempts = CASE status WHEN 'dead' THEN 0 ELSE attempts END, "
                "status = 'waiting' WHERE webhook = ? AND (number = ? OR ?) AND outcome IS NOT NULL",
                (now_ms, id, number, number is None),
            ).rowcount

    # What is asked

    def first_waiting(self, id: str) -> Delivery | None:
        """The one whose turn is next; among equals, that of the lowest number."""
        found = self._deliveries("webhook = ? AND status = 'waiting' ORDER BY next_at, number LIMIT 1", id)
        return found[0] if found else None

    def deliveries(self, id: str, status: str | None, after: int, limit: int) -> list[Delivery]:
        where = "webhook = ? AND (status = ? OR ?) AND number > ? ORDER BY number LIMIT ?"
        return self._deliveries(where, id, status, status is None, after, limit)

    def counts(self, id: str) -> dict[str, int]:
        rows = self._db.execute("SELECT status, count(*) FROM deliveries WHERE webhook = ? GROUP BY status", (id,))
        return {"waiting": 0, "dead": 0} | dict(rows.fetchall())

    def _deliveries(self, where: str, *values: Any) -> list[Delivery]:
        columns = "number, status, attempts, next_at, last_at, last_status, last_error, outcome"
        rows = self._db.execute(f"SELECT {columns} FROM deliveries WHERE {where}", values).fetchall()
        return [Delivery._make((*row[:7], None if row[7] is None else json.loads(row[7]))) for row in rows]


def _webhook(id: str, url: str, rule: str | None, outcomes: str | None, *others: Any) -> Webhook:
    return Webhook(id, url, rule, None if outcomes is None else tuple(outcomes.split(",")), *others)


def copy_store(data: str | os.PathLike[str], to: str | os.PathLike[str]) -> bool:
    """Copy the webhooks of a folder into its backup, while a service has it open; False if there are none."""
    source, target = Path(data) / FILE, Path(to) / FILE
    if not source.exists():
        return False
    os.close(os.open(target, os.O_RDWR | os.O_CREAT, 0o600))
    with closing(sqlite3.connect(source)) as ours, closing(sqlite3.connect(target)) as copy:
        ours.backup(copy)
    return True
