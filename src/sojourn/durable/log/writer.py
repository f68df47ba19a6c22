"""Writing the log: groups of records, each group synced as one; new segments; what to do when the disk fails."""

from __future__ import annotations

from contextlib import suppress
from errno import EDQUOT, ENOSPC, EROFS
from typing import Literal

from ...errors import DiskError
from .files import Appender, Files
from .records import SEGMENT, first_line, framed, json_bytes
from .segments import Position, segment_name, snapshot_name

Sync = Literal["always", "os"]


class LogWriter:
    """The end of the log, to which its one owner appends. Not thread-safe: the committer has its turn.

    Invariants: everything before `position` is acknowledged, or about to be; nothing behind it ever was. After an error
    `failure` is set: nobody knows how much of the last group is on the disk, so nothing more goes into that file.
    `start_segment` begins the next one, whose header says where the acknowledged part ends.
    """

    def __init__(self, files: Files, position: Position, sync: Sync) -> None:
        self.files = files
        self.position = position
        self.failure: OSError | None = None
        self.written_bytes = 0
        """Since the log was opened."""
        self._sync = sync
        self._synced = 0
        """Up to which offset the last segment is known to be on the disk."""
        self._file: Appender | None = None

    def start_segment(self, stamp: int, next_number: int) -> None:
        """Go on in a new file. On an error nothing has changed, and it can be tried again."""
        number = self.position.segment + 1
        name = segment_name(number)
        header = [number, self.position.offset, stamp, next_number]
        data = first_line("LOG") + framed(SEGMENT, json_bytes(header), 0)
        try:
            self._sync_last_segment()
            self._remove_attempt(number)
            file = self.files.append(name)
            try:
                file.write(data)
                file.sync()
                self.files.sync_folder()
            except OSError:
                file.close()
                raise
        except OSError as error:
            raise self._failed(error) from error
        self._close_file()
        self._file = file
        self.position = Position(number, len(data))
        self._synced = len(data)
        self.failure = None

    def _remove_attempt(self, number: int) -> None:
        """What is left of a segment that was not started, and of a snapshot of its start: it may end up elsewhere."""
        there = set(self.files.names())
        for name in (snapshot_name(number), segment_name(number)):
            if name in there:
                self.files.remove(name)
                self.files.sync_folder()

    def _sync_last_segment(self) -> None:
        """The next segment says where this one ends: from then on everything up to there must be on the disk.

        What was read when the folder was opened need not be: the process that wrote it may have died before its sync.
        """
        if self._file is None and self.position.offset:  # there is none before the first, or before what was salvaged
            self._file = self.files.append(segment_name(self.position.segment))
        if self._file is not None and self._synced < self.position.offset:
            self._file.sync()

    def commit(self, group: list[tuple[int, bytes]]) -> None:
        """Append records, as types and bodies, and return once they are as safe as `sync` promises."""
        assert self._file is not None
        data = b"".join([framed(type_, body, self._synced) for type_, body in group])
        try:
            self._file.write(data)
            if self._sync == "always":
                self._file.sync()
        except OSError as error:
            raise self._failed(error) from error
        segment, offset = self.position
        self.position = Position(segment, offset + len(data))
        self.written_bytes += len(data)
        if self._sync == "always":
            self._synced = self.position.offset

    def sync(self) -> None:
        """Whatever `sync` says, have everything on the disk now."""
        if self._file is not None and self.failure is None:
            try:
                self._file.sync()
            except OSError as error:
                raise self._failed(error) from error
            self._synced = self.position.offset

    def close(self) -> None:
        self._close_file()

    def _close_file(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None

    def _failed(self, error: OSError) -> DiskError:
        self.failure = error
        return disk_error(self.files, error)


def disk_error(files: Files, error: OSError) -> DiskError:
    match error.errno:
        case n if n in (ENOSPC, EDQUOT):
            why, way_out = "is full", "make room"
        case n if n == EROFS:
            why, way_out = "is read-only", "make it writable"
        case _:
            why, way_out = f"failed ({error})", "see to the disk"
    return DiskError(
        f"the disk of data folder {str(files)!r} {why}: this was not written; what was acknowledged before is safe, "
        f"pending waits stay pending; {way_out}, and the hub goes on by itself"
    )
