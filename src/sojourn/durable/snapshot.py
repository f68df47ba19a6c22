"""Snapshots: a state in one file, so that a recovery need not read the log from its beginning.

A snapshot of segment n is the state at its start: what follows from all segments before. It is written beside its
place, synced, and renamed; it can be thrown away as long as those segments are there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from struct import error as StructError  # noqa: N812  (it is a class)
from typing import Any

from ..errors import DamagedError
from ..rules import Event, Waiting
from . import records as r
from .files import Files
from .incidents import Incidents
from .segments import snapshot_name
from .state import Settings, State, number_of, remembered
from .wait import Wait

CHUNK = 2_000
"""Waits in one record."""


def write_snapshot(files: Files, segment: int, state: State) -> str:
    """Keep a state, the one at the start of that segment, under its name."""
    name = snapshot_name(segment)
    draft = f"{name}.draft"
    remove_drafts(files)
    file = files.append(draft)
    try:
        file.write(r.first_line("SNAPSHOT"))
        for type_, body in parts(segment, state):
            file.write(r.framed(type_, r.json_bytes(body), 0))
        file.sync()
    except OSError:
        file.close()
        files.remove(draft)  # on a full disk of all places
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
    data = files.read(name)
    type_ = None
    try:
        for record in r.records(data, r.start_of_records(data, "SNAPSHOT", name), len(data), name):
            type_ = record.type
            _LOADERS[type_](state, *r.read_body(record.body))
    except r.Broken as broken:
        raise r.damaged(name, broken.offset) from None
    if type_ != r.SNAPSHOT_END:
        raise r.damaged(name, len(data))


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


def parts(segment: int, state: State) -> Iterator[r.Entry]:
    """The records of a snapshot."""
    plans = [[number, toml] for toml, number in state.plan_numbers.items()]
    numbers = [state.last_stamp, state.next_seq, state.next_number, state.clock_steps, state.grace_until]
    counts, settings, uses = dict(state.counts), state.settings._asdict(), sorted((+state.plan_uses).items())
    acts = state.incidents.rows()
    head = [segment, numbers, counts, settings, plans, state.rules, state.held, state.next_plan, uses, acts]
    yield r.SNAPSHOT, head
    for waits in (state.waits, state.untold):
        for chunk in _chunks(waits.values()):
            yield r.SNAPSHOT_WAITS, [[_wait_row(wait) for wait in chunk]]
    for signals in _chunks(() if state.memory is None else remembered(state.memory)):
        yield r.SNAPSHOT_MEMORY, [[_signal_row(event) for event in signals]]
    for ended in _chunks(state._ended_ids):
        yield r.SNAPSHOT_IDS, [[_ended_row(wait) for wait in ended], []]
    for known in _chunks(state._signal_order):
        yield r.SNAPSHOT_IDS, [[], list(known)]
    yield r.SNAPSHOT_END, []


def _wait_row(wait: Wait) -> list[Any]:
    progress = None if wait._progress is None else wait._progress.to_state()
    ended = None if wait._ending is None else [wait._ending, wait._ended_at, wait._by]
    times = (wait.opened_at, wait.deadline, wait.within_ms, wait._cancelled_at)
    return [wait.seq, wait.given_id, wait.keys, wait._plan_number, *times, wait.payload, progress, ended]


def _ended_row(wait: Wait) -> list[Any] | int:
    """Of one that is still to be told, which is among the waits, only its number."""
    return wait.seq if wait._row is None else [*_wait_row(wait), wait._number, wait._row]


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
    for row in rows:
        wait = _loaded(state, row)
        if wait._ending is None:
            state.enter(wait)
        else:
            state.untold[wait.seq] = wait


def _load_ids(state: State, ended: list[list[Any] | int], known: list[list[Any]]) -> None:
    for one in ended:
        state._ended_ids.append(state.untold[one] if isinstance(one, int) else _loaded_told(state, *one))
    for stamp, given_id in known:
        state.know_signal(given_id, stamp)


def _loaded(state: State, row: list[Any]) -> Wait:
    seq, given_id, keys, plan_number, opened_at, deadline, within_ms, cancelled_at, payload, progress, ended = row
    wait = state.new_wait(seq, plan_number)
    wait.given_id, wait.keys, wait.payload = given_id, tuple(keys), payload
    wait.opened_at, wait.deadline, wait.within_ms, wait._cancelled_at = opened_at, deadline, within_ms, cancelled_at
    if progress is not None:
        wait._progress = Waiting.from_state(wait._plan.rule, progress)
    if ended is not None:
        wait._ending, wait._ended_at, wait._by = ended
    if given_id is not None:
        state.ids[given_id] = wait
    return wait


def _loaded_told(state: State, *row: Any) -> Wait:
    *about, number, told = row
    wait = _loaded(state, about)
    wait._number, wait._row = number, told
    return wait


def _load_memory(state: State, rows: list[list[Any]]) -> None:
    if state.memory is None:
        raise DamagedError("a snapshot has signals to remember, and settings that remember none")
    for key, kind, at, source, value in rows:
        event = Event(key, kind, at, source, number_of(value))
        state.memory.keep(event, state.memory.look(key))


def _end(state: State) -> None:
    """All of it was there."""


def _chunks(items: Any) -> Iterator[list[Any]]:
    chunk = []
    for item in items:
        chunk.append(item)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


_LOADERS: dict[int, Any] = {
    r.SNAPSHOT: _head,
    r.SNAPSHOT_WAITS: _load_waits,
    r.SNAPSHOT_MEMORY: _load_memory,
    r.SNAPSHOT_IDS: _load_ids,
    r.SNAPSHOT_END: _end,
}
