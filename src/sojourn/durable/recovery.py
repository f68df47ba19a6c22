"""Recovery: the last snapshot, then the tail of the log."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ..errors import DamagedError
from .files import Files
from .records import Record, read_body
from .segments import Header, Layout, Position, Tail, headers, layout, segment_name, walk
from .snapshot import read_snapshot
from .state import State
from .wait import Wait, publish


class Recovered(NamedTuple):
    """A state, the place in the log that it belongs to, and what was found on the way there."""

    state: State
    tail: Tail
    snapshot: int | None
    """The segment at whose start the recovery began, if a snapshot led there."""
    records: int
    last: Header | None
    """Of the last segment, if there is one."""
    damaged_snapshots: list[str]
    """Passed over, since the log has what was in them."""

    @property
    def position(self) -> Position:
        return self.tail.position


def recover(
    files: Files, owner: object = None, known: dict[int, Wait] | None = None, until: Position | None = None
) -> Recovered:
    """The state that follows from a folder; an empty one from an empty folder. Nothing is written.

    `known` are waits that people hold: those that are still in the log are used again. `until` is where the log ends,
    if that is known: whatever is behind it does not count.
    """
    with no_garbage_collection():
        there = layout(files)
        found = headers(files, there.segments)
        if until is not None:
            found = [header for header in found if header.segment <= until.segment]
        state, snapshot, passed_over = _last_snapshot(files, there, found, owner, known)
        start = Position(found[0].segment if snapshot is None and found else snapshot or 0, 0)
        tail, count = replay(files, found, start, state, until)
        state.let_go_of_known()
        publish([wait for wait in state.ids.values() if wait._row is not None and wait._callbacks is None])
        return Recovered(state, tail, snapshot, count, found[-1] if found else None, passed_over)


def replay(
    files: Files, found: list[Header], start: Position, state: State, until: Position | None = None
) -> tuple[Tail, int]:
    """Apply what the log has from there on; the place where it ends, and how many records that was."""
    count, walking = 0, walk(files, found, start, until)
    while True:
        try:
            record = next(walking)
        except StopIteration as stop:
            return stop.value, count
        _apply(state, record)
        count += 1


def _apply(state: State, record: Record) -> None:
    state.apply(record.type, read_body(record.body))
    state.fresh.clear()


def _last_snapshot(
    files: Files, there: Layout, found: list[Header], owner: object, known: dict[int, Wait] | None
) -> tuple[State, int | None, list[str]]:
    passed_over: list[str] = []
    numbers = {header.segment for header in found}
    for segment in reversed(there.snapshots):
        state = State(owner, dict(known or {}))  # type: ignore[arg-type]
        try:
            if segment in numbers:
                read_snapshot(files, segment, state)
                return state, segment, passed_over
        except DamagedError as error:
            passed_over.append(str(error))
    if (found and found[0].segment != 1) or (there.snapshots and not found):
        begins = f"begins with {segment_name(found[0].segment)}" if found else "is gone"
        raise DamagedError(
            f"the log {begins}, and no whole snapshot has what came before; "
            f"restore one from a backup{': ' + '; '.join(passed_over) if passed_over else ''}"
        )
    return State(owner, dict(known or {})), None, passed_over  # type: ignore[arg-type]


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Millions of new objects, and nothing of them is garbage: looking for some would take most of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
