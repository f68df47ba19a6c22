"""`repair`: what is whole of a damaged folder, in a new one; and a list of what is lost. The old one stays as it is.

Everything before the first damage is copied as it is. What is whole behind it is applied as far as it can be, and what
follows from that is in a snapshot, with which the new folder goes on. Outcomes that were told behind the damage are in
the list, since their numbers are not without gaps any more.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import StorageError
from ..dataset import archive
from ..log import records as r
from ..log.files import DiskFiles, Files, write_file
from ..log.folder import LIST, opened
from ..log.scan import Damage, Scanned, damaged_snapshots, scan
from ..log.segments import Position, layout, segment_name, snapshot_name
from ..log.writer import LogWriter
from ..recovery.recovery import no_garbage_collection, recover
from ..recovery.snapshot import read_snapshot, write_snapshot
from ..state.state import State
from ..state.wait import Wait, told_of


class Salvaged(NamedTuple):
    """What came of it."""

    folder: str
    pending: int
    records: int
    """Records behind the first damage that could be applied."""
    damages: list[str]
    lost_waits: list[tuple[int, int]]
    """Numbers of waits, from and to, of which nothing is known."""
    lost_outcomes: list[tuple[int, int]]
    """Numbers of outcomes of which nothing is known."""
    unreadable_outcomes: int
    """Outcomes that were told behind the damage: they are in lost.json, and not in the log."""


def salvage(data: str | os.PathLike[str] | Files, to: str | os.PathLike[str]) -> Salvaged:
    """Make a folder of what is whole in another; `StorageError` if it is all whole, or the place is taken."""
    files = opened(data)
    if Path(to).exists():
        raise StorageError(f"{os.fspath(to)!r} is there already; name a folder that is not")
    scanned, broken = [one._replace(records=[]) for one in scan(files)], damaged_snapshots(files)
    damages = [damage for one in scanned for damage in one.damages]
    if not damages and not broken:
        raise StorageError(f"{files} is whole: there is nothing to repair")
    with no_garbage_collection():
        return _Salvage(files, scanned, damages, broken).into(DiskFiles(to))


class _Salvage:
    def __init__(self, files: Files, scanned: list[Scanned], damages: list[Damage], broken: list[Damage]) -> None:
        self._files, self._scanned = files, scanned
        self._damages = [*damages, *broken]
        whole = set(layout(files).snapshots) - {_number(damage.name) for damage in broken}
        self._snapshots = sorted(whole & {one.number for one in scanned})
        self.state = State()
        self._applied = 0
        self._told: list[dict[str, Any]] = []
        self._lost_waits: list[tuple[int, int]] = []
        self._lost_outcomes: list[tuple[int, int]] = []

    def into(self, to: Files) -> Salvaged:
        base = self._snapshots[-1] if self._snapshots else None
        if base is not None:
            read_snapshot(self._files, base, self.state)
        is_headless = base is None and bool(self._scanned) and self._scanned[0].number > 1
        """Whether the beginning of the log is gone, and no snapshot has what came before: rules, above all."""
        kept, first_damaged = ([], None) if is_headless else self._split(base)
        self._copy(to, kept)
        self._apply_all(base, first_damaged, is_headless)
        if first_damaged is not None or is_headless:
            self._go_on(to, kept)
        salvaged = self._result(to)
        lost = {**salvaged._asdict(), "next_number": self.state.next_number, "outcomes": self._told}
        write_file(to, LIST, json.dumps(lost, ensure_ascii=False).encode())
        recover(to)
        return salvaged

    def _copy(self, to: Files, kept: list[Scanned]) -> None:
        """What is whole before the first damage: segments, snapshots, and what the data set has of the time before."""
        numbers = {one.number for one in kept}
        for one in kept:
            write_file(to, segment_name(one.number), self._files.read(segment_name(one.number), 0, one.whole_end))
        for number in numbers & set(self._snapshots):
            write_file(to, snapshot_name(number), self._files.read(snapshot_name(number)))
        parts, below = archive.parts(self._files), min(numbers, default=0) - 1
        while below in parts:
            numbers.add(below)
            below -= 1
        for number in sorted(numbers & parts.keys()):
            for folder in archive.FOLDERS:
                for name in parts[number][folder]:
                    write_file(to, name, self._files.read(name))

    def _split(self, base: int | None) -> tuple[list[Scanned], int | None]:
        """The segments to copy, and the first with damage that is in no snapshot, of which only the beginning is."""
        damaged = [one.number for one in self._scanned if one.damages]
        before = [number for number in damaged if base is not None and number < base]
        after = [number for number in damaged if number not in before]
        first = max(before) + 1 if before else 0
        last = after[0] if after else self._scanned[-1].number if self._scanned else 0
        kept = [one for one in self._scanned if first <= one.number <= last and one.header is not None]
        return kept, after[0] if after else None

    def _apply_all(self, base: int | None, first_damaged: int | None, is_headless: bool) -> None:
        is_behind = is_headless
        for one in scan(self._files):
            if base is not None and one.number < base:
                continue
            if is_headless and one.header is not None and not self._applied:
                self.state.next_number = max(self.state.next_number, one.header.next_number)
            first_break = min((damage.offset for damage in one.damages), default=one.size)
            for record in one.records:
                is_behind |= record.offset > first_break or (first_damaged is not None and one.number > first_damaged)
                self._apply(record, is_behind)

    def _apply(self, record: r.Record, is_behind: bool) -> None:
        body = r.read_body(record.body)
        if not is_behind:
            self.state.apply(record.type, body)
        else:
            self._apply_behind(record.type, body)
        self.state.fresh.clear()

    def _apply_behind(self, type_: int, body: Any) -> None:
        """As far as it can be: what was lost may have been needed."""
        state = self.state
        if type_ == r.TOLD:
            self._tell(*body)
        elif type_ == r.WAIT and body[2] not in state.plans:
            self._lost_waits.append((body[1], body[1] + len(body[4]) - 1))
            return
        else:
            if type_ == r.WAIT and body[1] > state.next_seq:
                self._lost_waits.append((state.next_seq, body[1] - 1))
            state.apply(type_, body)
        self._applied += 1

    def _tell(self, stamp: int, first_number: int, rows: list[list[Any]]) -> None:
        """What was told stands, even if what it follows from is lost."""
        state = self.state
        if first_number > state.next_number:
            self._lost_outcomes.append((state.next_number, first_number - 1))
        for number, row in enumerate(rows, first_number):
            told = told_of(number, row)
            self._told.append({"number": number, **told._asdict(), "payload": told.payload})
            wait = state.untold.pop(row[0], None) or self._ended(row)
            if wait is not None:
                wait._ending, wait._ended_at, wait._number, wait._row = row[6], row[7], number, row
                state.leave(wait)
            state.next_number = number + 1
        state.last_stamp = max(state.last_stamp, stamp)

    def _ended(self, row: list[Any]) -> Wait | None:
        state = self.state
        wait = state.waits.get(row[0])
        if wait is not None:
            state.end(wait, row[6], row[7], row[8])
            del state.untold[row[0]]
        return wait

    def _go_on(self, to: Files, kept: list[Scanned]) -> None:
        """What follows from everything, as a snapshot at the start of a new segment."""
        position = Position(kept[-1].number, kept[-1].whole_end) if kept else Position(self._scanned[0].number - 1, 0)
        log = LogWriter(to, position, "always")
        log.start_segment(self.state.last_stamp, self.state.next_number)
        write_snapshot(to, log.position.segment, self.state)
        log.close()

    def _result(self, to: Files) -> Salvaged:
        return Salvaged(
            str(to),
            len(self.state.waits),
            self._applied,
            [str(damage) for damage in self._damages],
            self._lost_waits,
            self._lost_outcomes,
            len(self._told),
        )


def _number(name: str) -> int:
    return int("".join(filter(str.isdigit, name)))
