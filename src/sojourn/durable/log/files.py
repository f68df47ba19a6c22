"""All that the log asks of a disk: one small interface, and the real thing.

Nothing else in this package touches a file. So a test can put a disk in its place that forgets what was not synced,
tears writes, flips bits, fills up or fails.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from ...errors import OwnedError, StorageError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_sync = getattr(os, "fdatasync", os.fsync)


class Appender(Protocol):
    """A file that only grows."""

    def write(self, data: bytes) -> None:
        """Put all of it at the end; `OSError` if not all of it could be."""

    def sync(self) -> None:
        """Return once everything written is on the disk. After an error, nobody knows what is."""

    def close(self) -> None:
        """Let go of the file; idempotent."""

    def leave_behind(self) -> None:
        """The same in a forked child: its parent keeps what it has."""


class Files(Protocol):
    """A folder of files. Names made, renamed or removed are sure to last only after `sync_folder`.

    The log is in files of the folder itself. A name with slashes is that of a file in a folder below, which is made
    with its first file.
    """

    @property
    def index_path(self) -> str:
        """Where this machine may keep an index of the log: a file that may vanish at any time. Empty: nowhere."""

    def names(self) -> list[str]:
        """Of all files of the folder itself, in order."""

    def names_below(self, folder: str) -> list[str]:
        """Of all files in a folder of it and below, in order, each with its path; none if there is no such folder."""

    def size(self, name: str) -> int: ...

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Up to `length` bytes from `offset` on."""

    def append(self, name: str) -> Appender:
        """Open a file for appending; it is made if there is none."""

    def rename(self, name: str, to: str) -> None: ...

    def remove(self, name: str) -> None: ...

    def sync_folder(self, folder: str = "") -> None:
        """The folder itself, or one below."""

    def lock(self, name: str, owner: dict[str, Any]) -> Appender:
        """Take the lock, and say who has it; `OwnedError`, naming the owner, if that is somebody else.

        `close` frees it.
        """

    def owner(self, name: str = "lock") -> tuple[str | None, bool]:
        """What the lock says of its last owner, if there was one; and whether that one still has it."""


class DiskAppender:
    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
        self._is_lock = False

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]

    def sync(self) -> None:
        _sync(self._fd)

    def close(self) -> None:
        if self._fd >= 0:
            if self._is_lock and fcntl is not None:
                fcntl.flock(self._fd, fcntl.LOCK_UN)  # closing is not enough while a forked child has it open, too
            self.leave_behind()

    def leave_behind(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class DiskFiles:
    """A folder of this machine's file system."""

    def __init__(self, folder: str | os.PathLike[str], *, create: bool = True) -> None:
        self.folder = Path(folder)
        if create:
            try:
                _make(self.folder)
            except FileExistsError as error:
                raise StorageError(
                    f"data folder {str(folder)!r} cannot be made: {str(error.filename)!r} is a file; name another place"
                ) from error
            except OSError as error:
                raise StorageError(
                    f"data folder {str(folder)!r} cannot be made: {error}; name another place"
                ) from error
        if not self.folder.is_dir():
            raise StorageError(f"there is no folder {str(self.folder)!r}; a hub with data={str(folder)!r} makes it")

    def __repr__(self) -> str:
        return str(self.folder)

    @property
    def index_path(self) -> str:
        return str(self.folder / "index.db")

    def names(self) -> list[str]:
        return sorted(entry.name for entry in os.scandir(self.folder) if entry.is_file())

    def names_below(self, folder: str) -> list[str]:
        below = (self.folder / folder).rglob("*")
        return sorted(path.relative_to(self.folder).as_posix() for path in below if path.is_file())

    def size(self, name: str) -> int:
        return (self.folder / name).stat().st_size

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        with open(self.folder / name, "rb") as file:
            file.seek(offset)
            return file.read(-1 if length is None else length)

    def append(self, name: str) -> Appender:
        path = self.folder / name
        if "/" in name:
            _make(path.parent)
        return DiskAppender(path)

    def rename(self, name: str, to: str) -> None:
        os.replace(self.folder / name, self.folder / to)

    def remove(self, name: str) -> None:
        os.remove(self.folder / name)

    def sync_folder(self, folder: str = "") -> None:
        _sync_folder(self.folder / folder)

    def lock(self, name: str, owner: dict[str, Any]) -> Appender:
        path = self.folder / name
        lock = DiskAppender(path)
        if fcntl is not None:
            if not _has_locked(lock._fd):
                lock.close()
                raise owned(str(self.folder), self.read(name))
            lock._is_lock = True
            try:
                os.ftruncate(lock._fd, 0)
                lock.write(json.dumps(owner).encode())
            except OSError:
                lock.close()
                raise
        return lock

    def owner(self, name: str = "lock") -> tuple[str | None, bool]:
        if name not in self.names():
            return None, False
        who = owner_text(self.read(name))
        if fcntl is None:
            return who, False
        with open(self.folder / name, "rb") as lock:
            try:
                fcntl.flock(lock.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return who, True
        return who, False


def _has_locked(fd: int) -> bool:
    """Try a few times: `owner`, which only looks, holds the lock for a moment too."""
    for pause_s in (0.001, 0.01, 0.05, None):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if pause_s is not None:
                time.sleep(pause_s)
        else:
            return True
    return False


def write_file(to: Files, name: str, data: bytes) -> None:
    """A new file, of which the name is sure to last, too."""
    file = to.append(name)
    try:
        file.write(data)
        file.sync()
    finally:
        file.close()
    to.sync_folder(name.rpartition("/")[0])


def owned(folder: str, text: bytes) -> OwnedError:
    """The error for a second owner; `text` is what the first one wrote into the lock."""
    return OwnedError(
        f"data folder {folder!r} is owned by {owner_text(text)}; "
        "close that hub first, or look at the folder beside it with sojourn.read()"
    )


def owner_text(text: bytes) -> str:
    """Who wrote this into a lock."""
    owner: dict[str, Any] = {}
    with suppress(ValueError):
        owner = json.loads(text)
    who = f"hub {owner.get('name')!r} of process {owner.get('pid')} on {owner.get('host')}, since {owner.get('since')}"
    return who if owner else "another process"


def _make(folder: Path) -> None:
    """Make a folder and those above it, and sync each."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows cannot sync a folder, and need not: names are stored with their files
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
