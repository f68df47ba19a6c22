"""`inspect`: what is in a data folder, and whether it is whole. Nothing is written, nothing is locked."""

from __future__ import annotations

import os
from collections import Counter
from typing import NamedTuple

from ..errors import StorageError
from . import archive
from .files import Files
from .folder import opened
from .records import NAMES
from .recovery import recover
from .scan import Scanned, damaged_snapshots, scan
from .segments import layout
from .state import State


class SegmentPart(NamedTuple):
    """One segment of the log."""

    number: int
    size: int
    records: int
    stamp: int | None
    """When it was begun."""
    is_converted: bool


class Standing(NamedTuple):
    """What follows from the log, as of its last record."""

    pending: int
    by_rule: dict[str, int]
    oldest: int | None
    """When the oldest of the pending waits was opened."""
    next_due: int | None
    untold: int
    remembered: int
    last_number: int
    last_stamp: int


class Inspection(NamedTuple):
    """All there is to say of a folder. `standing` is None where damage leaves open what follows."""

    folder: str
    owner: str | None
    """What the lock says of who has it, or had it last."""
    is_owned: bool
    segments: list[SegmentPart]
    records: dict[str, int]
    snapshots: list[int]
    converted: list[int]
    """The segments that are in the data set; those that have left the log too."""
    torn_bytes: int
    damages: list[str]
    standing: Standing | None


def inspect(data: str | os.PathLike[str] | Files) -> Inspection:
    """Look at a data folder, beside its owner if there is one."""
    files = opened(data)
    scanned = scan(files)
    converted = sorted(archive.parts(files))
    damages = [str(damage) for one in scanned for damage in one.damages]
    damages += map(str, damaged_snapshots(files))
    standing, torn_bytes = None, scanned[-1].torn_bytes if scanned else 0
    try:
        standing = _standing(recover(files).state)
    except StorageError as error:
        if not damages:
            damages.append(str(error))
    owner, is_owned = files.owner()
    return Inspection(
        str(files),
        owner,
        is_owned,
        [_part(one, one.number in converted) for one in scanned],
        dict(Counter(NAMES.get(record.type, str(record.type)) for one in scanned for record in one.records)),
        layout(files).snapshots,
        converted,
        torn_bytes,
        damages,
        standing,
    )


def _part(one: Scanned, is_converted: bool) -> SegmentPart:
    stamp = None if one.header is None else one.header.stamp
    return SegmentPart(one.number, one.size, len(one.records), stamp, is_converted)


def _standing(state: State) -> Standing:
    waits = state.waits.values()
    return Standing(
        len(state.waits),
        dict(Counter(wait.rule for wait in waits)),
        min((wait.opened_at for wait in waits), default=None),
        state.due.first(),
        len(state.untold),
        0 if state.memory is None else len(state.memory),
        state.next_number - 1,
        state.last_stamp,
    )
