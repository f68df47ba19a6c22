"""All that there is of a folder's past: converted segments from their files, the others from the log."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, TypeVar

import pyarrow as pa

from ...errors import DamagedError, StorageError
from ...pipeline.kernel.columns import NEVER
from ...pipeline.kernel.search import Ints
from ..log.files import Files
from ..log.folder import repaired
from ..log.segments import headers, layout
from ..recovery.snapshot import head_of
from ..state.state import Settings
from . import archive
from . import schema as D  # noqa: N812
from .archive import FOLDERS
from .parquet import known_plans, read_part, segment_tables
from .tables import Plans, Tables

T = TypeVar("T")

TRIES = 5
"""How often to begin again when the owner's retention has taken away what was about to be read."""


class Past(NamedTuple):
    """Tables in the order of the log, and the rules by number."""

    events: pa.Table
    outcomes: pa.Table
    changes: pa.Table
    plans: Plans
    began_with: Settings | None
    """The settings before the first record that is left, as far as known; None if nothing is missing before it."""
    goes_on_with: frozenset[int]
    """The numbers of outcomes before which a repair has left a gap."""

    @property
    def first_stamp(self) -> int:
        """The time of the first record."""
        columns = self.events[D.STAMP], self.outcomes[D.TOLD_AT], self.changes[D.STAMP]
        return min(int(column.cast(pa.int64()).to_numpy().min(initial=NEVER)) for column in columns)

    @property
    def last_stamp(self) -> int:
        """The time of the last record."""
        columns = self.events[D.STAMP], self.outcomes[D.TOLD_AT], self.changes[D.STAMP]
        return max(int(column.cast(pa.int64()).to_numpy().max(initial=0)) for column in columns)


def positions(table: pa.Table) -> Ints:
    """Where each row's record is in the log: later is more."""
    segment: Ints = table[D.SEGMENT].to_numpy()
    offset: Ints = table[D.OFFSET].to_numpy()
    return (segment << 40) + offset


def read_past(files: Files) -> Past:
    """Everything, as of now; beside the owner, if there is one."""
    return again_if_gone(lambda: _read(files))


def again_if_gone(read: Callable[[], T]) -> T:
    for _ in range(TRIES):
        try:
            return read()
        except FileNotFoundError as error:
            gone = error
    raise StorageError(f"what was to be read is removed again and again: {gone}; keep more, or try again later")


def _read(files: Files) -> Past:
    done = archive.parts(files)
    found = headers(files, layout(files).segments)
    numbers = sorted({*done, *(header.segment for header in found)})
    for before, one in pairwise(numbers):
        if one != before + 1:
            raise DamagedError(
                f"segment {before + 1} is neither in the log of {files} nor in its data set; restore it from a backup"
            )
    plans = known_plans(files)
    by_segment = {
        segment: Tables(*(_together(files, names[folder], folder) for folder in FOLDERS))
        for segment, names in done.items()
    }
    by_segment |= dict(segment_tables(files, found, plans, skip=set(done)))
    columns = zip(*(by_segment[number] for number in numbers), strict=True)
    events, outcomes, changes = map(pa.concat_tables, columns) if numbers else _nothing()
    began_with = None if numbers[:1] in ([1], []) else _settings(files)
    return Past(events, outcomes, changes, plans, began_with, repaired(files))


def _settings(files: Files) -> Settings:
    """Those of the oldest snapshot."""
    heads = (head_of(files, segment) for segment in layout(files).snapshots)
    return next((head[0] for head in heads if head is not None), Settings())


def _together(files: Files, names: list[str], folder: str) -> pa.Table:
    schema = dict(zip(FOLDERS, (D.EVENTS, D.TOLD, D.CHANGES), strict=True))[folder]
    return pa.concat_tables([schema.empty_table(), *(read_part(files, name).cast(schema) for name in sorted(names))])


def _nothing() -> list[pa.Table]:
    return [schema.empty_table() for schema in (D.EVENTS, D.TOLD, D.CHANGES)]
