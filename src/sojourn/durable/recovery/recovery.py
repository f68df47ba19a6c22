"""Recovery: the index, if it belongs to this log, or else the last snapshot; then the tail of the log."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, NamedTuple

from ...errors import DamagedError, DiskError, StorageError
from ..index.cold import MOST, Cold
from ..index.index import Index
from ..log.files import Files
from ..log.records import Record, read_body
from ..log.segments import Header, Layout, Position, Tail, headers, layout, segment_name, walk
from ..state.state import State
from ..state.wait import Wait, publish
from .snapshot import load_part, parts_beside_index, read_snapshot


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
    files: Files,
    owner: object = None,
    known: dict[int, Wait] | None = None,
    until: Position | None = None,
    index: Index | None = None,
    most: int = 0,
    is_shared: bool = False,
) -> Recovered:
    """The state that follows from a folder; an empty one from an empty folder. Nothing is written but the index.

    `known` are waits that people hold: those that are still in the log are used again. `until` is where the log ends,
    if that is known: whatever is behind it does not count. Without an `index` all waits are in memory; with one about
    `most`. It is used if it belongs to this log, and made anew if not, unless it `is_shared` with a hub that reads it.
    """
    new_state = partial(_new_state, owner, known, index, most)
    is_indexed = index is not None and index.mark is not None
    with no_garbage_collection():
        try:
            return _recovered(files, new_state, until, is_shared)
        except StorageError as error:
            if index is None or is_shared or isinstance(error, DiskError) or not (is_indexed or index.is_broken):
                raise
            index.is_broken = True  # perhaps only the index is wrong: without it, the log has the last word
            return _recovered(files, new_state, until)


def _recovered(
    files: Files, new_state: Callable[[], State], until: Position | None, is_shared: bool = False
) -> Recovered:
    there = layout(files)
    found = headers(files, there.segments)
    if until is not None:
        found = [header for header in found if header.segment <= until.segment]
    state, passed_over = new_state(), list[str]()
    start = snapshot = None
    if state.cold is not None and (start := _place_of(state.cold.index, files, found, until)) is not None:
        read_index(state, state.cold.index)
        snapshot = start.segment
    elif is_shared and state.cold is not None and state.cold.index.mark is not None:
        raise StorageError(f"{state.cold.index.path or 'the index'} does not belong to this log any more")
    else:
        state, snapshot, passed_over = _last_snapshot(files, there, found, new_state)
        start = Position(found[0].segment if snapshot is None and found else snapshot or 0, 0)
    tail, count = replay(files, found, start, state, until, is_writable=not is_shared)
    if state.cold is not None and state._known:
        state.cold.of_seqs(list(state._known))
    state.let_go_of_known()
    publish([wait for wait in state._ended_ids if wait._callbacks is None])
    return Recovered(state, tail, snapshot, count, found[-1] if found else None, passed_over)


def _new_state(owner: Any, known: dict[int, Wait] | None, index: Index | None, most: int) -> State:
    state = State(owner, dict(known or {}))
    if index is not None:
        state.cold = Cold(state, index, most)
    return state


def _place_of(index: Index, files: Files, found: list[Header], until: Position | None) -> Position | None:
    """Where in this log the index belongs; None if it does not, or is damaged."""
    mark = index.mark
    if mark is None or index.is_broken or Header(*mark.header) not in found:
        return None
    place = Position(mark.segment, mark.offset)
    following = next((header for header in found if header.segment == place.segment + 1), None)
    if following is not None:
        end = following.previous_end
    else:
        end = files.size(segment_name(place.segment)) if until is None else until.offset
    return place if place.offset <= end else None


def replay(
    files: Files,
    found: list[Header],
    start: Position,
    state: State,
    until: Position | None = None,
    *,
    is_writable: bool = True,
) -> tuple[Tail, int]:
    """Apply what the log has from there on; the place where it ends, and how many records that was.

    If too much changes for memory, the index is brought forward on the way. Not if a running hub shares it: the hub
    has forgotten the waits that were opened and ended in between, and must not find rows of them.
    """
    tail, count = Tail(start, 0), 0
    for i, header in enumerate(found):
        if header.segment < start.segment:
            continue
        end = Position(header.segment, found[i + 1].previous_end) if i + 1 < len(found) else until
        offset = start.offset if header.segment == start.segment else 0
        walking = walk(files, [header], Position(header.segment, offset), end)
        while True:
            try:
                record = next(walking)
            except StopIteration as stop:
                tail = stop.value
                break
            _apply(state, record)
            count += 1
            if is_writable and state.cold is not None and state.cold.is_crowded:
                is_writable = _has_brought_forward(state, Position(header.segment, record.end), header)
    return tail, count


def _has_brought_forward(state: State, position: Position, header: Header) -> bool:
    """Bring the index to that place; False if the disk is full: then all stays in memory."""
    try:
        bring_forward(state, position, header)
    except DiskError:
        return False
    return True


def _apply(state: State, record: Record) -> None:
    state.apply(record.type, read_body(record.body))
    state.fresh.clear()


def _last_snapshot(
    files: Files, there: Layout, found: list[Header], new_state: Callable[[], State]
) -> tuple[State, int | None, list[str]]:
    passed_over: list[str] = []
    by_number = {header.segment: header for header in found}
    for segment in reversed(there.snapshots):
        try:
            if segment in by_number:
                state = _fresh(new_state)
                _read_snapshot(files, by_number[segment], state)
                return state, segment, passed_over
        except DamagedError as error:
            passed_over.append(str(error))
    if (found and found[0].segment != 1) or (there.snapshots and not found):
        begins = f"begins with {segment_name(found[0].segment)}" if found else "is gone"
        raise DamagedError(
            f"the log {begins}, and no whole snapshot has what came before; "
            f"restore one from a backup{': ' + '; '.join(passed_over) if passed_over else ''}"
        )
    return _fresh(new_state), None, passed_over


def _fresh(new_state: Callable[[], State]) -> State:
    state = new_state()
    if state.cold is not None and (state.cold.index.mark is not None or state.cold.index.is_broken):
        state.cold.index.clear()
    return state


def _read_snapshot(files: Files, header: Header, state: State) -> None:
    if state.cold is None:
        read_snapshot(files, header.segment, state)
    else:
        with state.cold.index.transaction():
            read_snapshot(files, header.segment, state)
            state.cold.finish(Position(header.segment, 0), header, parts_beside_index(header.segment, state))


def read_index(state: State, index: Index) -> None:
    """Bring a new state to the place of the index."""
    for type_, body in index.parts():
        load_part(state, type_, body)
    assert state.cold is not None
    state.cold.begin()


def bring_forward(state: State, position: Position, header: Header) -> None:
    """Bring the index of a state to that place, which is where the state is."""
    assert state.cold is not None
    state.cold.bring_forward(position, header, parts_beside_index(position.segment, state))
    state.cold.leave(len(state.waits))


@contextmanager
def looked_at(files: Files) -> Iterator[State]:
    """The state that follows from a folder, with no more of it in memory than a hub would have. Nothing is written."""
    with closing(Index("")) as index:
        yield recover(files, index=index, most=MOST).state


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
