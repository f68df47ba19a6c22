"""The index: the pending waits of a state in an SQLite file, as of a place in the log. Disposable.

It is a snapshot that can be asked: for the waits on a key, of an id, due next. It changes in one transaction, from one
place in the log to a later one, so it is never ahead of the log. Nothing is synced. Closing seals it, with a checksum
of the whole file. One that is not sealed, and is older than the last start of the machine, may hold anything, and is
thrown away. Each row has a checksum, too.

One connection, for two threads: the hub reads, and upkeep writes. A reader may see half of what is being written;
`cold.py` says why that does no harm.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from ...errors import DiskError, StorageError
from ..state.due import MINUTE_MS
from ..state.wait import Row
from ..state.where import Where, marks
from .filter import Filter
from .rows import CHUNK, ID, Found, boot, checksum, chunks, fields, key_crc, key_fields, texts

FORMAT = 2
CACHE_KIB = 65_536
SMALLEST_FILTER = 4_096
MINUTES_CHUNK = 20_000
LAST = 2**62
"""Later than any instant, greater than any number."""

SETTINGS = f"""
PRAGMA page_size = 4096; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = TRUNCATE;
PRAGMA synchronous = OFF; PRAGMA cache_size = -{CACHE_KIB};
"""
SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value);
CREATE TABLE waits (
    seq INTEGER PRIMARY KEY, due INTEGER, plan INTEGER, shifts INTEGER, cancelled INTEGER, crc INTEGER, row TEXT
);
CREATE INDEX by_due ON waits (due, seq, plan);
CREATE INDEX by_cancelled ON waits (seq) WHERE cancelled;
CREATE TABLE by_key (
    key TEXT, seq INTEGER, shifts INTEGER, plan INTEGER, opened_at INTEGER, deadline INTEGER, within_ms INTEGER,
    crc INTEGER, PRIMARY KEY (key, seq)
) WITHOUT ROWID;
CREATE TABLE by_id (id TEXT, seq INTEGER, PRIMARY KEY (id, seq)) WITHOUT ROWID;
CREATE TABLE parts (n INTEGER PRIMARY KEY, type INTEGER, crc INTEGER, body BLOB);
CREATE TABLE cancels (n INTEGER PRIMARY KEY, stamp INTEGER, seqs BLOB);
"""


class Mark(NamedTuple):
    """The place in the log that the index belongs to, and what is counted up to there."""

    segment: int
    offset: int
    header: list[int]
    """Of that segment: in another log it is another one."""
    next_seq: int
    pending: int
    shifts: int


class Index:
    """`path` is a file; empty, a temporary one. `mark` is None as long as it belongs to no place in a log."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.is_broken = False
        self.mark: Mark | None = None
        self.filter = Filter(SMALLEST_FILTER)
        self.cutoff = (LAST, LAST)
        """Those due until then may be in memory."""
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._is_closed = False
        try:
            self._open()
        except (sqlite3.Error, ValueError, TypeError):
            self.clear()

    def __del__(self) -> None:
        if os.getpid() == self._pid:
            with suppress(AttributeError, sqlite3.Error):
                self._db.close()

    def leave_behind(self) -> None:
        """This is a forked child: if it closed the file, it would undo what its parent is just writing."""
        import ctypes  # noqa: PLC0415  (few fork)

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._db))

    def _open(self) -> None:
        is_sealed = self._break_seal()
        self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        self._db.executescript(SETTINGS)
        if not self._db.execute("SELECT * FROM sqlite_master").fetchall():
            self._db.executescript(SCHEMA)
        elif self._about("format") != FORMAT or not (is_sealed or self._about("boot") == boot()):
            raise sqlite3.DatabaseError("of another format, or not closed before the machine was")
        self._load()
        self._set("format", FORMAT)
        self._set("boot", boot())

    def _break_seal(self) -> bool:
        """Whether it was closed; then it must be what it was, to the last bit: nobody would notice a missing key."""
        if not self.path or not os.path.exists(self._seal):
            return False
        try:
            is_whole = Path(self._seal).read_text() == checksum(self.path)
        except (OSError, ValueError):
            is_whole = False
        os.remove(self._seal)
        if not is_whole:
            raise sqlite3.DatabaseError("not as it was closed")
        return True

    def _load(self) -> None:
        mark = self._about("mark")
        self.mark = None if mark is None else Mark(*json.loads(mark))
        bits = self._about("bits")
        if bits is None:
            self.filter = Filter(SMALLEST_FILTER)
            return
        capacity, added, crc = json.loads(self._about("filter"))
        if crc32(bits) != crc:
            raise sqlite3.DatabaseError("the filter is damaged")
        self.filter = Filter(capacity, bits, added)

    def clear(self) -> None:
        """Throw everything away, and begin anew."""
        with self._lock:
            with suppress(AttributeError, sqlite3.Error):
                self._db.close()
            for name in (self._seal, self.path, f"{self.path}-journal") if self.path else ():
                with suppress(FileNotFoundError):
                    os.remove(name)
            self.is_broken = False
            try:
                self._open()
            except (sqlite3.Error, OSError) as error:
                raise self._unwritable(error) from error

    def close(self) -> None:
        """In peace: it can be used again, even after another start of the machine."""
        with self._lock, suppress(sqlite3.Error, OSError):
            was_open, self._is_closed = not self._is_closed, True
            self._db.close()
            if was_open and self.path and not self.is_broken:
                Path(self._seal).write_text(checksum(self.path))

    @property
    def _seal(self) -> str:
        return f"{self.path}-sum"

    # Reading

    def on_keys(self, keys: Sequence[str]) -> list[Found]:
        """Those who wait on these keys; one who waits on several of them may be there more than once."""
        plain, others = list[Found](), list[int]()
        for chunk in chunks(keys):
            entries = self._ask(f"SELECT * FROM by_key WHERE key IN ({marks(chunk)})", chunk)
            for key, seq, shifts, plan, opened_at, deadline, within_ms, crc in entries:
                if crc is None:
                    others.append(seq)
                elif key_crc(key, seq, shifts, plan, opened_at, deadline, within_ms) != crc:
                    raise self._broken(f"is damaged at wait #{seq}")
                else:
                    row = [seq, None, (key,), plan, opened_at, deadline, within_ms, None, None, None, None]
                    plain.append(Found(seq, shifts, row))
        return plain + self.of_seqs(others)

    def of_id(self, given_id: str) -> list[Found]:
        return self._by("FROM by_id JOIN waits USING (seq) WHERE id IN ({})", [given_id])

    def of_seqs(self, seqs: Sequence[int]) -> list[Found]:
        return self._by("FROM waits WHERE seq IN ({})", seqs)

    def _by(self, sql: str, values: Sequence[Any]) -> list[Found]:
        return [row for chunk in chunks(values) for row in self._rows(sql.format(marks(chunk)), chunk)]

    def where(self, where: Where) -> list[Found]:
        return self._rows(*where.sql())

    def has_any(self, where: Where) -> bool:
        sql, arguments = where.sql()
        return bool(self._ask(f"SELECT 1 {sql} LIMIT 1", arguments))

    def seqs(self, where: Where) -> array[int]:
        """In order."""
        sql, arguments = where.sql()
        return array("q", sorted(seq for (seq,) in self._ask(f"SELECT seq {sql}", arguments)))

    def cancelled(self) -> list[Found]:
        """Those that a signal has cancelled, and that end at once."""
        return self._rows("FROM waits WHERE cancelled", ())

    def due(self, after: tuple[int, int], until: int, most: int) -> list[Found]:
        """The next ones after an instant and a number, in that order, as far as they are due until then."""
        return self._rows(
            "FROM waits WHERE (due, seq) > (?, ?) AND due <= ? ORDER BY due, seq LIMIT ?", (*after, until, most)
        )

    def place(self, rank: int) -> tuple[int, int]:
        """The instant and the number of the one that is due as the `rank`th, from 0 on; the end of time if none is."""
        found = self._ask("SELECT due, seq FROM waits ORDER BY due, seq LIMIT 1 OFFSET ?", (rank,))
        return found[0] if found else (LAST, LAST)

    def first_due(self, after: tuple[int, int]) -> int | None:
        found = self._ask("SELECT due FROM waits WHERE (due, seq) > (?, ?) ORDER BY due, seq LIMIT 1", after)
        return found[0][0] if found else None

    def by_plan(self) -> list[tuple[int, int]]:
        """How many have each plan."""
        return self._ask("SELECT plan, COUNT(*) FROM waits GROUP BY plan")

    def seqs_after(self, where: Where, after: int, until: int, most: int) -> list[int]:
        """The first numbers between these, in order."""
        sql, arguments = where.sql()
        between = f"SELECT seq {sql} AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
        return [seq for (seq,) in self._ask(between, [*arguments, after, until, most])]

    def minutes(self) -> Iterator[tuple[int, int]]:
        """How many are due in each minute since the epoch; some at a time, so that nobody waits long for the file."""
        start, some = 0, "SELECT due FROM waits WHERE due >= ? ORDER BY due LIMIT ?"
        while found := self._ask(
            f"SELECT due / {MINUTE_MS}, COUNT(*) FROM ({some}) GROUP BY 1", (start, MINUTES_CHUNK)
        ):
            if sum(count for _, count in found) < MINUTES_CHUNK:
                yield from found
                return
            minute = found[-1][0]
            if len(found) == 1:  # more of one minute than are looked at
                ends = minute * MINUTE_MS, (minute + 1) * MINUTE_MS
                yield minute, self._ask("SELECT COUNT(*) FROM waits WHERE due >= ? AND due < ?", ends)[0][0]
                minute += 1
            yield from found[:-1]
            start = minute * MINUTE_MS

    def all_rows(self) -> Iterator[tuple[int, int, str]]:
        """By number, some at a time: numbers, shifts, JSON."""
        sql, last = "SELECT seq, shifts, crc, row FROM waits WHERE seq > ? ORDER BY seq LIMIT ?", 0
        while found := self._ask(sql, (last, CHUNK)):
            for seq, shifts, crc, text in found:
                self._check(seq, crc, text)
                yield seq, shifts, text
            last = found[-1][0]

    def parts(self) -> list[tuple[int, bytes]]:
        found = self._ask("SELECT type, crc, body FROM parts ORDER BY n")
        if any(crc32(body) != crc for _, crc, body in found):
            raise self._broken("is damaged")
        return [(type_, body) for type_, _, body in found]

    def cancels(self) -> list[tuple[int, array[int]]]:
        found = self._ask("SELECT stamp, seqs FROM cancels ORDER BY n")
        return [(stamp, array("q", seqs)) for stamp, seqs in found]

    def _rows(self, sql: str, arguments: Sequence[Any]) -> list[Found]:
        rows = self._ask(f"SELECT seq, shifts, crc, row {sql}", arguments)
        for seq, _, crc, text in rows:
            self._check(seq, crc, text)
        decoded = json.loads(f"[{','.join([text for *_, text in rows])}]")  # all at once: much quicker than each
        return [Found(seq, shifts, row) for (seq, shifts, _, _), row in zip(rows, decoded, strict=True)]

    def _check(self, seq: int, crc: int, text: str) -> None:
        if crc32(text.encode()) != crc:
            raise self._broken(f"is damaged at wait #{seq}")

    def _ask(self, sql: str, arguments: Sequence[Any] = ()) -> list[Any]:
        try:
            with self._lock:
                return self._db.execute(sql, arguments).fetchall()
        except sqlite3.Error as error:
            if self._is_closed:
                raise StorageError(
                    f"{self.path or 'the index'} is closed, and so is its hub: open that again"
                ) from None
            raise self._broken(f"failed ({error})") from error

    def _broken(self, why: str) -> StorageError:
        self.is_broken = True
        return StorageError(f"{self.path or 'the index'} {why}; it is made anew from the log: ask again")

    # Writing

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; `StorageError` if it was nothing."""
        try:
            self._write("BEGIN")
            yield
            self._write("COMMIT")
        except BaseException as error:
            self._roll_back()
            if isinstance(error, sqlite3.Error):
                raise self._unwritable(error) from error
            raise

    def _roll_back(self) -> None:
        try:
            with self._lock:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                self._load()
        except (sqlite3.Error, ValueError, TypeError):
            self.is_broken = True

    def _unwritable(self, error: Exception) -> DiskError:
        return DiskError(f"{self.path or 'the index'} cannot be written: {error}; make room, or see to the disk")

    def put(self, rows: Iterable[Row], shifts: int) -> None:
        """Keep rows that may be there already: their ids are."""
        for chunk in chunks(rows):
            self._put_waits("REPLACE", chunk, shifts)
            self._put_keys("REPLACE", chunk, shifts)

    def put_new(self, rows: Sequence[Row], shifts: int) -> None:
        """Keep rows that are not there yet."""
        self.filter.add(text for row in rows for text in texts(row))
        self._put_waits("INSERT", rows, shifts)
        self._put_keys("INSERT", rows, shifts)
        for chunk in chunks(_ids(rows)):
            self._write_many("INSERT INTO by_id VALUES (?, ?)", chunk)

    def _put_waits(self, how: str, rows: Sequence[Row], shifts: int) -> None:
        for chunk in chunks(rows):
            self._write_many(f"{how} INTO waits VALUES (?, ?, ?, ?, ?, ?, ?)", [fields(row, shifts) for row in chunk])

    def _put_keys(self, how: str, rows: Sequence[Row], shifts: int) -> None:
        """In order: so neighbours are written together."""
        entries = sorted((entry for row in rows for entry in key_fields(row, shifts)), key=itemgetter(0, 1))
        for chunk in chunks(entries):
            self._write_many(f"{how} INTO by_key VALUES (?, ?, ?, ?, ?, ?, ?, ?)", chunk)

    def remove(self, seqs: Iterable[int]) -> None:
        for chunk in chunks(seqs):
            rows = [row for _, _, row in self.of_seqs(chunk)]
            keys = sorted((key, row[0]) for row in rows for key in row[2])
            self._write_many("DELETE FROM by_key WHERE key = ? AND seq = ?", keys)
            self._write_many("DELETE FROM by_id WHERE id = ? AND seq = ?", _ids(rows))
            self._write_many("DELETE FROM waits WHERE seq = ?", [(row[0],) for row in rows])

    def finish(self, mark: Mark, parts: Iterable[tuple[int, bytes]], cancels: Iterable[tuple[int, array[int]]]) -> None:
        """The last step of a transaction: what else a state is, and the place in the log."""
        if self.filter.is_full:
            self._renew_filter(2 * mark.pending)
        self._write("DELETE FROM parts")
        self._write("DELETE FROM cancels")
        checked = ((type_, crc32(body), body) for type_, body in parts)
        self._write_many("INSERT INTO parts (type, crc, body) VALUES (?, ?, ?)", checked)
        cancelled = [(stamp, seqs.tobytes()) for stamp, seqs in cancels]
        self._write_many("INSERT INTO cancels (stamp, seqs) VALUES (?, ?)", cancelled)
        bits = self.filter.to_bytes()
        self._set("filter", json.dumps([self.filter.capacity, self.filter.added, crc32(bits)]))
        self._set("bits", bits)
        self._set("mark", json.dumps(mark))
        self.mark = mark

    def _renew_filter(self, capacity: int) -> None:
        renewed = Filter(max(SMALLEST_FILTER, capacity))
        renewed.add(self._column("by_key", "key"))
        renewed.add(ID + given_id for given_id in self._column("by_id", "id"))
        self.filter = renewed

    def _column(self, table: str, column: str) -> Iterator[str]:
        """All texts of a column, some at a time."""
        sql = f"SELECT DISTINCT {column} FROM {table} WHERE {{}} ORDER BY 1 LIMIT {10 * CHUNK}"
        found = self._ask(sql.format("1"))
        while found:
            yield from (text for (text,) in found)
            found = self._ask(sql.format(f"{column} > ?"), found[-1])

    def _about(self, name: str) -> Any:
        found = self._db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return None if found is None else found[0]

    def _set(self, name: str, value: Any) -> None:
        self._write("REPLACE INTO about VALUES (?, ?)", (name, value))

    def _write(self, sql: str, arguments: Sequence[Any] = ()) -> None:
        with self._lock:
            self._db.execute(sql, arguments)

    def _write_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._lock:
            self._db.executemany(sql, rows)


def _ids(rows: Sequence[Row]) -> list[tuple[str, int]]:
    """With their numbers, in order."""
    return sorted((row[1], row[0]) for row in rows if row[1] is not None)
