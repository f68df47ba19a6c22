"""Snapshots: a state in one file, so that a recovery need not read the log from its beginning.

A snapshot of segment n is the state at its start: what follows from all segments before. It is written beside its
place, synced, and renamed; it can be thrown away as long as those segments are there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from heapq import merge
from struct import error as StructError  # noqa: N812  (it is a class)
from typing import Any

from ...errors import DamagedError
from ...rules import Event
from ..index.rows import chunks, loaded, row_in, wait_row
from ..log import records as r
from ..log.files import Files
from ..log.segments import snapshot_name
from ..state.incidents import Incidents
from ..state.state import Settings, State, number_of, remembered
from ..state.wait import Wait

CHUNK = 2_000
"""Waits in one record."""

Part = tuple[int, bytes]
"""A type, and a body as it is written."""


def write_snapshot(files: Files, segment: int, state: State) -> str:
    """Keep a state, the one at the start of that segment, under its name."""
    name = snapshot_name(segment)
    draft = f"{name}.draft"
    remove_drafts(files)
    file = files.append(draft)
    try:
        file.write(r.first_line("SNAPSHOT"))
        for type_, body in all_parts(segment, state):
            file.write(r.framed(type_, body, 0))
        file.sync()
    except OSError:
        file.close()
        files.remove(draft)  # the disk may be full
        raise
    file.close()
    files.rename(draft, name)
    files.sync_folder()
    return name


def remove_drafts(files: Files) -> None:
    """What is left of snapshots that were not finished."""
    for name in files.names():
        if name.startswith("snapshot-") and name.endswith(".draft"):
            files.remove(name)


def read_snapshot(files: Files, segment: int, state: State) -> None:
    """Bring a new state to the start of that segment; `DamagedError` if the file is not whole."""
    name = snapshot_name(segment)
    type_, reached = None, 0
    try:
        for record in r.records_of_file(files, "SNAPSHOT", name):
            type_, reached = record.type, record.end
            load_part(state, type_, record.body)
    except r.Broken as broken:
        raise r.damaged(name, broken.offset) from None
    if type_ != r.SNAPSHOT_END:
        raise r.damaged(name, reached)


def head_of(files: Files, segment: int) -> tuple[Settings, list[tuple[int, str]]] | None:
    """The settings of a snapshot, and its rules by number; None if it is damaged. Only its head is read."""
    name = snapshot_name(segment)
    start = len(r.first_line("SNAPSHOT"))
    try:
        length = r.HEADER.unpack_from(files.read(name, start, r.SIZE))[3]
    except StructError:
        return None
    head = r.record_at(memoryview(files.read(name, start, r.SIZE + length)), 0, r.SIZE + length, name)
    if head is None:
        return None
    _, _, _, settings, plans, *_ = r.read_body(head.body)
    return Settings(**settings), [(number, toml) for number, toml in plans]


def load_part(state: State, type_: int, body: memoryview | bytes) -> None:
    _LOADERS[type_](state, *r.read_body(body))


def all_parts(segment: int, state: State) -> Iterator[Part]:
    """The records of a snapshot."""
    yield _head_part(segment, state)
    for rows in chunks(_rows(state, state.waits, True), CHUNK):
        yield _rows_part(rows)
    yield from _small_parts(state, _rows(state, state.untold, False))
    yield r.SNAPSHOT_END, b"[]"


def parts_beside_index(segment: int, state: State) -> Iterator[Part]:
    """Of these, what the index has no rows for."""
    yield _head_part(segment, state)
    yield from _small_parts(state, (text for _, text in _rows_in_memory(state.untold)))


def _head_part(segment: int, state: State) -> Part:
    plans = [[number, toml] for toml, number in state.plan_numbers.items()]
    numbers = [state.last_stamp, state.next_seq, state.next_number, state.clock_steps, state.grace_until]
    counts, settings, uses = dict(state.counts), state.settings._asdict(), sorted((+state.plan_uses).items())
    acts = state.incidents.rows()
    body = [segment, numbers, counts, settings, plans, state.rules, state.held, state.next_plan, uses, acts]
    return _part(r.SNAPSHOT, body)


def _small_parts(state: State, untold: Iterator[str]) -> Iterator[Part]:
    for rows in chunks(untold, CHUNK):
        yield _rows_part(rows)
    for signals in chunks(() if state.memory is None else remembered(state.memory), CHUNK):
        yield _part(r.SNAPSHOT_MEMORY, [[_signal_row(event) for event in signals]])
    for ended in chunks(state._ended_ids, CHUNK):
        yield _part(r.SNAPSHOT_IDS, [[_ended_row(wait) for wait in ended], []])
    for known in chunks(state._signal_order, CHUNK):
        yield _part(r.SNAPSHOT_IDS, [[], known])


def _part(type_: int, body: Any) -> Part:
    return type_, r.json_bytes(body)


def _rows_part(rows: list[str]) -> Part:
    return r.SNAPSHOT_WAITS, f"[[{','.join(rows)}]]".encode()


def _rows(state: State, waits: dict[int, Wait], are_pending: bool) -> Iterator[str]:
    """All rows of pending waits, or of untold ones, by number: from memory, and from the index."""
    here, there = _rows_in_memory(waits), iter(list[tuple[int, str]]())
    if state.cold is not None and (are_pending or state.cold.cancels):
        there = ((seq, text) for seq, text, is_pending in state.cold.rows() if is_pending == are_pending)
    return (text for _, text in merge(here, there))


def _rows_in_memory(waits: dict[int, Wait]) -> Iterator[tuple[int, str]]:
    return ((seq, r.json_text(row_in(waits, seq))) for seq in sorted(waits))


def _ended_row(wait: Wait) -> list[Any]:
    return [*wait_row(wait), wait._number, wait._row]


def _signal_row(event: Event) -> list[Any]:
    value = str(event.value) if isinstance(event.value, Decimal) else event.value
    return [event.key, event.kind, event.at, event.source, value]


def _head(
    state: State,
    segment: int,
    numbers: list[Any],
    counts: dict[Any, int],
    settings: dict[str, Any],
    plans: list[list[Any]],
    rules: dict[str, int],
    held: list[list[Any]],
    next_plan: int,
    uses: list[tuple[int, int]],
    acts: list[list[Any]] | None = None,
) -> None:
    for number, toml in plans:
        state.apply(r.RULE, [0, number, toml, False])
    state.next_plan = next_plan
    state.plan_uses = Counter(dict(uses))
    state.last_stamp, state.next_seq, state.next_number, state.clock_steps, state.grace_until = numbers
    state.counts, state.settings, state.rules, state.held = counts, Settings(**settings), rules, held
    state.incidents = Incidents(acts)
    state.stopped = state.incidents.stopped
    state.set_memory(())


def _load_waits(state: State, rows: list[list[Any]]) -> None:
    pending = [row for row in rows if row[10] is None]
    state.pending += len(pending)
    if state.cold is None:
        for row in pending:
            state.enter(loaded(state, row))
    else:
        state.cold.index.put_new(pending, 0)
    for row in rows:
        if row[10] is not None:
            state.untold[row[0]] = loaded(state, row)


def _load_ids(state: State, ended: list[list[Any]], known: list[list[Any]]) -> None:
    for *row, number, told in ended:
        wait = loaded(state, row)
        wait._number, wait._row = number, told
        state._ended_ids.append(wait)
    for stamp, given_id in known:
        state.know_signal(given_id, stamp)


def _load_memory(state: State, rows: list[list[Any]]) -> None:
    if state.memory is None:
        raise DamagedError("a snapshot has signals to remember, and settings that remember none")
    for key, kind, at, source, value in rows:
        event = Event(key, kind, at, source, number_of(value))
        state.memory.keep(event, state.memory.look(key))


def _end(state: State) -> None:
    """Written last: the snapshot is complete."""


_LOADERS: dict[int, Any] = {
    r.SNAPSHOT: _head,
    r.SNAPSHOT_WAITS: _load_waits,
    r.SNAPSHOT_MEMORY: _load_memory,
    r.SNAPSHOT_IDS: _load_ids,
    r.SNAPSHOT_END: _end,
}
