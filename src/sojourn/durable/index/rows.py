"""Waits as rows: what a snapshot and the index have of one, and which rows are asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from ...rules import Waiting
from ...rules.law import verdict
from ..log import records as r
from ..state.state import State
from ..state.wait import Row, Wait
from ..state.waits import Opened

T = TypeVar("T")

CHUNK = 500
"""Rows that are read or written while others wait."""
MOST_READ = 2**20
ID = "\0"
"""Stands before ids in the filter, which has keys too."""
pack_numbers = Struct("<6q").pack
NO_NUMBERS = (None,) * 6


def wait_row(wait: Wait) -> Row:
    """A tuple, since many are written at once: the garbage collector has nothing to look for in tuples of texts."""
    progress = None if wait._progress is None else wait._progress.to_state()
    ended = None if wait._ending is None else [wait._ending, wait._ended_at, wait._by]
    times = (wait.opened_at, wait.deadline, wait.within_ms, wait._cancelled_at)
    return (wait.seq, wait.given_id, wait.keys, wait._plan_number, *times, wait.payload, progress, ended)


def row_in(waits: dict[int, Wait], seq: int) -> Row:
    """The row of one of these."""
    there = dict.get(waits, seq)
    return there.row(seq) if isinstance(there, Opened) else wait_row(waits[seq])


def loaded(state: State, row: list[Any]) -> Wait:
    """The wait of a row; not on any list yet, apart from that of ids."""
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


class Found(NamedTuple):
    """A row of the index, and how many shifts are in it."""

    seq: int
    shifts: int
    row: list[Any]


def instant_of(row: Row) -> int:
    """The last instant at which the wait of a row can be completed."""
    return verdict(None, row[7], row[5])[1]


def fields(row: Row, shifts: int) -> tuple[Any, ...]:
    """A row as the index keeps it: number, instant, plan, shifts in it, whether cancelled, checksum, JSON."""
    text = r.json_bytes(row)
    return (row[0], instant_of(row), row[3], shifts, row[7] is not None, crc32(text), text.decode())


def key_fields(row: Row, shifts: int) -> list[tuple[Any, ...]]:
    """What the index keeps for each key of a row: the number. Of a plain wait, everything, so that one look is enough.

    Plain is what has one key and times, and nothing else: no id, no payload, nothing that has happened to it.
    """
    seq, given_id, keys, *numbers, cancelled_at, payload, progress, ended = row
    if len(keys) > 1 or not given_id is cancelled_at is payload is progress is ended is None:
        return [(key, seq, *NO_NUMBERS) for key in keys]
    (key,) = keys
    return [(key, seq, shifts, *numbers, key_crc(key, seq, shifts, *numbers))]


def key_crc(key: str, seq: int, shifts: int, plan: int, opened_at: int, deadline: int, within_ms: int) -> int:
    return crc32(key.encode(), crc32(pack_numbers(seq, shifts, plan, opened_at, deadline, within_ms)))


def texts(row: Row) -> Iterator[str]:
    """What the filter knows of a row."""
    yield from row[2]
    if row[1] is not None:
        yield ID + row[1]


def chunks(items: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def boot() -> str:
    """What is different after every start of the machine, if it says so."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"unknown, process {os.getpid()}"


def checksum(path: str) -> str:
    """Of a whole file, with its size."""
    crc = size = 0
    with open(path, "rb") as file:
        while data := file.read(MOST_READ):
            crc, size = crc32(data, crc), size + len(data)
    return f"{size} {crc:08x}"
