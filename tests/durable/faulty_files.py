"""A disk in memory that remembers everything that was done to it, and can lose what was not synced.

Every change is an operation in `journal`. `disk_after` gives what a power failure after some of them may leave: what
was synced is there; of the rest, as the chooser says, each sector of a write and each change of the folder, or not.
Faults can be planted for the operations to come: a full disk, an error on sync, a read-only file system, the death of
the process (`kill_after`), which leaves everything that the operating system has.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from sojourn.durable.log.files import owned, owner_text

SECTOR = 16
"""Bytes that are written as one: so small that records of a few bytes are torn too."""


class Op(NamedTuple):
    what: str
    name: str = ""
    data: bytes = b""
    to: str = ""


class Killed(BaseException):
    """The process has died in the middle of an operation. Whatever its code still does, no file hears of it."""


class FaultyAppender:
    def __init__(self, files: FaultyFiles, name: str) -> None:
        self._files, self._name = files, name

    def write(self, data: bytes) -> None:
        self._files._write(self._name, data)

    def sync(self) -> None:
        self._files._fail_if_asked("sync")
        self._files._do(Op("sync", self._name))

    def close(self) -> None:
        self._files._owners.discard(self._name)

    def leave_behind(self) -> None:
        """A child has a disk of its own."""


class FaultyFiles:
    """`room` is how many bytes may still be written; `failing` maps "write", "sync" and "create" to errors.

    `kill_after` is how many more operations the process lives to see; a write may be cut off half-way.
    """

    def __init__(self, contents: dict[str, bytes] | None = None) -> None:
        self.contents = dict(contents or {})
        self.base = dict(self.contents)
        self.journal: list[Op] = []
        self.room: int | None = None
        self.failing: dict[str, int] = {}
        self.kill_after: int | None = None
        self.index_path = ""
        self._owners: set[str] = set()
        self._locks: dict[str, dict[str, Any]] = {}

    def __repr__(self) -> str:
        return "memory"

    def names(self) -> list[str]:
        return sorted(name for name in self.contents if "/" not in name)

    def names_below(self, folder: str) -> list[str]:
        return sorted(name for name in self.contents if name.startswith(f"{folder}/"))

    def size(self, name: str) -> int:
        return len(self.read(name))

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        if name not in self.contents:
            raise FileNotFoundError(name)
        return self.contents[name][offset : None if length is None else offset + length]

    def append(self, name: str) -> FaultyAppender:
        if name not in self.contents:
            self._fail_if_asked("create")
            self._do(Op("create", name))
            self.contents[name] = b""
        return FaultyAppender(self, name)

    def rename(self, name: str, to: str) -> None:
        self._do(Op("rename", name, to=to))
        self.contents[to] = self.contents.pop(name)

    def remove(self, name: str) -> None:
        self._do(Op("remove", name))
        del self.contents[name]

    def sync_folder(self, folder: str = "") -> None:
        self._fail_if_asked("sync")
        self._do(Op("sync_folder"))

    def lock(self, name: str, owner: dict[str, Any]) -> FaultyAppender:
        if name in self._owners:
            raise owned("memory", json.dumps(self._locks[name]).encode())
        self._owners.add(name)
        self._locks[name] = owner
        return FaultyAppender(self, name)

    def owner(self, name: str = "lock") -> tuple[str | None, bool]:
        who = owner_text(json.dumps(self._locks[name]).encode()) if name in self._locks else None
        return who, name in self._owners

    def process_dies(self) -> None:
        """What it had locked is free, and what was planted is gone."""
        self._owners.clear()
        self.kill_after = None

    def flip(self, name: str, offset: int, bit: int = 0) -> None:
        """Damage at rest."""
        data = bytearray(self.contents[name])
        data[offset] ^= 1 << bit
        self.contents[name] = bytes(data)

    def _write(self, name: str, data: bytes) -> None:
        self._fail_if_asked("write")
        if self.room is not None and len(data) > self.room:
            data, self.room = data[: self.room], 0
            self._put(name, data)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.room is not None:
            self.room -= len(data)
        self._put(name, data)

    def _put(self, name: str, data: bytes) -> None:
        if self.kill_after == 0 and (half := data[: len(data) * 2 // 3]):
            self.kill_after = 1
            self._put(name, half)
        self._do(Op("write", name, data))
        self.contents[name] += data

    def _do(self, op: Op) -> None:
        if self.kill_after is not None:
            if self.kill_after <= 0:
                self.kill_after = -1  # it stays dead
                raise Killed
            self.kill_after -= 1
        self.journal.append(op)

    def _fail_if_asked(self, what: str) -> None:
        if what in self.failing:
            raise OSError(self.failing[what], os.strerror(self.failing[what]))


Chooser = Callable[[], bool]
"""Whether something that was not synced has reached the disk."""


def all_of_it() -> bool:
    return True


def none_of_it() -> bool:
    return False


def some_of_it(seed: int) -> Chooser:
    random = Random(seed)
    return lambda: random.random() < 0.5


class _File:
    def __init__(self, synced: bytes = b"") -> None:
        self.synced = synced
        self.written: list[bytes] = []

    def sync(self) -> None:
        self.synced, self.written = self.synced + b"".join(self.written), []

    def left(self, chooser: Chooser) -> bytes:
        """Sectors that were not written are zeros, as far as the file is long; its length may lag behind as well."""
        data = bytearray(self.synced)
        for written in self.written:
            for i in range(0, len(written), SECTOR):
                sector = written[i : i + SECTOR]
                data += sector if chooser() else bytes(len(sector))
        while len(data) > len(self.synced) and not any(data[-SECTOR:]):
            del data[max(len(self.synced), len(data) - SECTOR) :]
        return bytes(data)


def disk_after(base: dict[str, bytes], journal: list[Op], chooser: Chooser) -> FaultyFiles:
    """What a power failure after these operations may leave."""
    live = {name: _File(data) for name, data in base.items()}
    folder = dict(live)
    changes: list[tuple[str, str, _File | None]] = []
    """Since the folder was synced: a name that went, or "", one that came, or "", and its file."""
    for op in journal:
        match op.what:
            case "create":
                live[op.name] = _File()
                changes.append(("", op.name, live[op.name]))
            case "write":
                live[op.name].written.append(op.data)
            case "sync":
                live[op.name].sync()
            case "rename":
                live[op.to] = live.pop(op.name)
                changes.append((op.name, op.to, live[op.to]))
            case "remove":
                del live[op.name]
                changes.append((op.name, "", None))
            case "sync_folder":
                folder, changes = dict(live), []
    for gone, name, file in changes:  # each on its own: a later one may be there and an earlier one not
        if chooser():
            folder.pop(gone, None)
            if file is not None:
                folder[name] = file
    return FaultyFiles({name: file.left(chooser) for name, file in folder.items()})
