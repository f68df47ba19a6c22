"""Outputs that appear together: each is written beside its place first, and all are moved there at the end, or none.

A draft is in a hidden folder, `.sojourn-` and a number, beside its place: so on the same file system, where a move is
cheap, and under a name that readers of event logs and tables skip.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from ...errors import SourceError

_OPEN = ("/proc/", "/dev/fd/", "/dev/stdin", "/dev/stdout", "/dev/stderr")


class FileStore(Protocol):
    """The little that is needed of a file system."""

    def exists(self, path: str) -> bool: ...

    def rename(self, old: str, new: str) -> None:
        """Move a file or a folder to where nothing is yet; the folders above are made."""

    def delete(self, path: str) -> None:
        """Delete a file or a folder with all that is in it, if it is there."""


class Disk:
    """The file systems of this machine."""

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def rename(self, old: str, new: str) -> None:
        os.makedirs(os.path.dirname(new), exist_ok=True)
        os.rename(old, new)

    def delete(self, path: str) -> None:
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            Path(path).unlink(missing_ok=True)


DISK = Disk()


@dataclass(frozen=True, slots=True)
class _Output:
    """Something to be moved into its place. `kept` is where what was there before is held meanwhile."""

    store: FileStore
    target: str
    draft: str
    kept: str

    def put(self) -> None:
        if self.store.exists(self.target):
            self.store.rename(self.target, self.kept)
        self.store.rename(self.draft, self.target)

    def take_back(self) -> None:
        """Undo `put`, as far as it came."""
        if not self.store.exists(self.draft):
            self.store.rename(self.target, self.draft)
        if self.store.exists(self.kept):
            self.store.rename(self.kept, self.target)


class Drafts:
    """The outputs of one run. Whatever has not been published is gone when the block ends."""

    def __init__(self) -> None:
        self._folder = f".sojourn-{secrets.token_hex(4)}"
        self._outputs: list[_Output] = []
        self._scratch: dict[str, FileStore] = {}
        self._made: list[Path] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._clean()

    def add(self, target: str, store: FileStore = DISK) -> str:
        """Where to write what is to be at `target` in the end; a device or a pipe is written to as it is."""
        if store is DISK and is_device(target):
            return target
        target = (Path(target).resolve().as_posix() if store is DISK else target).rstrip("/")
        for other in self._outputs:
            if target.startswith(f"{other.target}/"):
                return other.draft + target.removeprefix(other.target)
            if f"{other.target}/".startswith(f"{target}/"):
                raise SourceError(f"{target!r} is to hold two outputs, or one inside the other; name another place")
        return self._beside(target, store)

    def publish(self) -> None:
        """Move all drafts into their places. If one cannot be, all is as it was before."""
        begun: list[_Output] = []
        try:
            for output in self._outputs:
                begun.append(output)
                output.put()
        except BaseException as error:
            lost = [output for output in reversed(begun) if not _is_restored(output)]
            if lost:
                where = ", ".join(f"{output.target!r} is now {output.kept!r}" for output in lost)
                raise SourceError(f"{error}; and what was there before could not be put back: {where}") from error
            raise
        self._made.clear()
        self._clean(is_published=True)

    def _beside(self, target: str, store: FileStore) -> str:
        above, slash, name = target.rpartition("/")
        scratch = f"{above}{slash}{self._folder}"
        if store is DISK:
            self._made += _missing(Path(above + slash))
            os.makedirs(scratch, exist_ok=True)  # so that a place where nothing can be written is known at once
        self._scratch[scratch] = store
        output = _Output(store, target, f"{scratch}/{name}", f"{scratch}/before/{name}")
        self._outputs.append(output)
        return output.draft

    def _clean(self, *, is_published: bool = False) -> None:
        """Delete the drafts. What was kept of earlier outputs goes only if new ones have taken its place."""
        for scratch in () if not is_published and self._holds_earlier() else tuple(self._scratch):
            with suppress(Exception):  # failing to clean up must not hide another error
                self._scratch.pop(scratch).delete(scratch)
        for folder in self._made:
            with suppress(OSError):  # somebody else has put something there
                folder.rmdir()

    def _holds_earlier(self) -> bool:
        with suppress(Exception):
            return any(output.store.exists(output.kept) for output in self._outputs)
        return True


def _is_restored(output: _Output) -> bool:
    try:
        output.take_back()
    except Exception:
        return False
    return True


def is_device(path: str) -> bool:
    """What is open already is not replaced: /dev/stdout may well be a file. /dev/shm holds files like any folder."""
    is_special = os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
    return is_special or os.path.abspath(path).startswith(_OPEN)


def _missing(folder: Path) -> Iterator[Path]:
    """The folders that are not there yet, the innermost first."""
    while not folder.exists():
        yield folder
        folder = folder.parent
