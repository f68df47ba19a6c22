"""`inspect`: what is in a data folder, and whether it is whole. Nothing is written, nothing is locked."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ...errors import StorageError
from ..dataset import archive
from ..index.index import LAST
from ..index.rows import instant_of
from ..log.files import Files
from ..log.folder import opened
from ..log.records import NAMES
from ..log.scan import Scanned, damaged_snapshots, scan
from ..log.segments import layout
from ..recovery.recovery import looked_at
from ..state.state import State


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
    converted = sorted(archive.parts(files))
    segments: list[SegmentPart] = []
    damages: list[str] = []
    records: Counter[str] = Counter()
    standing, torn_bytes = None, 0
    for one in scan(files):
        segments.append(_part(one, one.number in converted))
        damages += map(str, one.damages)
        records.update(NAMES.get(record.type, str(record.type)) for record in one.records)
        torn_bytes = one.torn_bytes
    damages += map(str, damaged_snapshots(files))
    try:
        with looked_at(files) as state:
            standing = _standing(state)
    except StorageError as error:
        if not damages:
            damages.append(str(error))
    owner, is_owned = files.owner()
    return Inspection(
        str(files),
        owner,
        is_owned,
        segments,
        dict(records),
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
    by_rule: Counter[str] = Counter()
    oldest = next_due = LAST
    for plan_number, opened_at, due in _pending(state):
        by_rule[state.plans[plan_number].rule.name] += 1
        oldest, next_due = min(oldest, opened_at), min(next_due, due)
    return Standing(
        state.pending,
        dict(by_rule),
        oldest if state.pending else None,
        next_due if state.pending else None,
        len(state.untold),
        0 if state.memory is None else len(state.memory),
        state.next_number - 1,
        state.last_stamp,
    )


def _pending(state: State) -> Iterator[tuple[int, int, int]]:
    """Plan, opening and last instant of each, from wherever it is."""
    for wait in state.waits.looked_at():
        yield wait._plan_number, wait.opened_at, wait._due
    if state.cold is not None:
        for row in state.cold.pending_rows():
            yield row[3], row[4], instant_of(row)
