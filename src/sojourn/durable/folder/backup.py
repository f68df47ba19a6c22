"""`backup`: a copy of a data folder, while its owner runs. It opens as a hub, and verifies."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...errors import StorageError
from ..dataset import archive
from ..log.files import DiskFiles, Files, write_file
from ..log.folder import opened
from ..log.segments import Position, headers, layout, segment_name, snapshot_name, walk
from ..recovery.recovery import looked_at

TRIES = 5


class Backup(NamedTuple):
    """What was copied, and what a hub that opens it has."""

    folder: str
    files: int
    size: int
    pending: int
    last_number: int
    last_stamp: int


def backup(data: str | os.PathLike[str] | Files, to: str | os.PathLike[str]) -> Backup:
    """Copy a folder to where nothing is yet: sealed files, and the last segment up to its last whole record.

    What the owner had answered when this was called is in the copy. It is made beside its place, read once, and then
    given its name: so it is there as a whole or not at all.
    """
    files, target = opened(data), Path(to)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise StorageError(f"{os.fspath(to)!r} is there already; name a folder that is not, or is empty")
    if target.name in ("", ".."):
        raise StorageError(f"{os.fspath(to)!r} does not name a new folder; give it a name")
    if isinstance(files, DiskFiles) and files.folder.resolve() in target.resolve().parents:
        raise StorageError(f"{os.fspath(to)!r} is inside the data folder {str(files)!r}; name one elsewhere")
    draft = target.with_name(f".{target.name}.draft")
    try:
        copied = _all_copied(files, draft)
        with looked_at(DiskFiles(draft)) as state:
            counts = state.pending, state.next_number - 1, state.last_stamp
        os.replace(draft, target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return Backup(str(target), len(copied), sum(copied), *counts)


def _all_copied(files: Files, draft: Path) -> list[int]:
    """How many bytes each file has that was copied."""
    for _ in range(TRIES):
        shutil.rmtree(draft, ignore_errors=True)
        try:
            return [_copy(files, DiskFiles(draft), name, length) for name, length in _to_copy(files)]
        except FileNotFoundError as error:  # the owner's retention has removed it meanwhile: begin again
            gone = error
    raise StorageError(f"what was to be copied is removed again and again: {gone}; keep more, or try again later")


def _to_copy(files: Files) -> Iterator[tuple[str, int | None]]:
    """Names, and how much of each, if not all. Snapshots after the segments that they need."""
    found = headers(files, layout(files).segments)
    for header in found[:-1]:
        yield segment_name(header.segment), None
    for header in found[-1:]:
        walking = walk(files, [header], Position(header.segment, 0))
        while True:
            try:
                next(walking)
            except StopIteration as stop:
                yield segment_name(header.segment), stop.value.position.offset
                break
    numbers = {header.segment for header in found}
    for number in layout(files).snapshots:
        if number in numbers:
            yield snapshot_name(number), None
    for by_folder in archive.parts(files).values():
        for folder in archive.FOLDERS:
            for name in by_folder[folder]:
                yield name, None


def _copy(files: Files, to: Files, name: str, length: int | None) -> int:
    data = files.read(name, 0, length)
    write_file(to, name, data)
    return len(data)
