"""Segments as files, which all Python processes of an executor can read.

Spark hands a shard to whichever of them is free, so every other one is new to what the last step has written. Asking
the state for it is slow: the JVM makes a text of the bytes, character by character. A number stands for the bytes of
one segment and no other, so a file is right or not there; what is not there is in the state.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from pyspark import SparkFiles

LIMIT = 256 * 2**20
"""In bytes, for what one process has written: its oldest files go first."""


class Nearby:
    """Files in a folder, or nothing at all if there is none. An error of the disk costs time, and nothing else."""

    def __init__(self, folder: Path | None, limit: int = LIMIT) -> None:
        self._folder, self._limit = folder, limit
        self._written: OrderedDict[int, int] = OrderedDict()
        self._size = 0

    def get(self, number: int) -> bytes | None:
        with suppress(OSError):
            return None if self._folder is None else self._file(self._folder, number).read_bytes()
        return None

    def or_saved(self, number: int, segments: Any) -> bytes:
        """A segment: from its file or, if there is none, from the state."""
        found = self.get(number)
        if found is not None:
            return found
        saved = segments.getValue((number,))
        if saved is None:
            raise RuntimeError(f"segment {number} is not in the state")
        return bytes(saved[0])

    def put(self, number: int, data: bytes) -> None:
        """Written elsewhere and renamed: a process that is killed leaves no half of a file."""
        if self._folder is None or number in self._written or len(data) > self._limit:
            return
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            draft = self._folder / f"{os.getpid()}.draft"
            draft.write_bytes(data)
            draft.rename(self._file(self._folder, number))
            self._written[number] = len(data)
            self._size += len(data)
        while self._size > self._limit:
            self.drop(next(iter(self._written)))

    def drop(self, number: int) -> None:
        """Remove a file, whichever process has written it."""
        self._size -= self._written.pop(number, 0)
        if self._folder is not None:
            with suppress(OSError):
                self._file(self._folder, number).unlink()

    @staticmethod
    def _file(folder: Path, number: int) -> Path:
        return folder / f"{number}.segment"


@cache
def nearby() -> Nearby:
    """That of this process: in Spark's folder for files of the application, which ends with it."""
    on_worker = SparkFiles._is_running_on_worker and SparkFiles._root_directory
    return Nearby(Path(SparkFiles.getRootDirectory(), "sojourn-segments") if on_worker else None)
