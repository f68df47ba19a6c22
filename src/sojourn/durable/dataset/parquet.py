"""Tables as Parquet files beside the log: written so that nobody ever sees half a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...rules import Rule
from ..log.files import Files
from ..log.segments import CHANGES, Header, Position, headers, layout, walk
from ..recovery.snapshot import head_of
from . import archive
from . import schema as D  # noqa: N812  (as S for the pipelines')
from .archive import EVENTS, OUTCOMES, part_name
from .tables import Plans, Tables, tables_of

REPEATED = ["kind", "rule", "source_type", "value_type", "outcome", "decided_by", "missing", "seen", D.RECORD]
"""The columns that say the same again and again: only those are worth a dictionary."""


def convert_sealed(files: Files) -> list[int]:
    """Convert all sealed segments that have not been yet; return which those were."""
    with archive.converting(files):
        found = headers(files, layout(files).segments)
        done = archive.parts(files)
        todo = [header.segment for header in found[:-1] if header.segment not in done]
        if not todo:
            return []
        plans = known_plans(files)
        for segment, tables in segment_tables(files, found[:-1], plans, skip=set(done), following=found[-1]):
            write(files, segment, tables)
        return todo


def segment_tables(
    files: Files, found: list[Header], plans: Plans, skip: set[int], following: Header | None = None
) -> Iterator[tuple[int, Tables]]:
    """The tables of each segment, but for those to be skipped. `following` comes after the last of them, if sealed."""
    for header, after in zip(found, [*found[1:], following], strict=False):
        if header.segment not in skip:
            end = None if after is None else Position(header.segment, after.previous_end)
            records = walk(files, [header], Position(header.segment, 0), end)
            yield header.segment, tables_of(header.segment, records, plans)


def known_plans(files: Files) -> Plans:
    """The rules in converted segments, and those in snapshots: the beginning of the log may be gone, or damaged."""
    plans: Plans = {}
    done = archive.parts(files)
    for segment in layout(files).snapshots:
        if (head := head_of(files, segment)) is not None:
            plans |= {number: Rule.from_toml(toml) for number, toml in head[1]}
    for names in done.values():
        for name in names[CHANGES]:
            plans |= rules_in(read_part(files, name))
    return plans


def rules_in(changes: pa.Table) -> Plans:
    chosen = changes.filter(pc.equal(changes[D.RECORD], "rule"))
    bodies = map(json.loads, chosen[D.BODY].to_pylist())
    return {number: Rule.from_toml(toml) for _, number, toml, _ in bodies}


def write(files: Files, segment: int, tables: Tables) -> None:
    """The file in `changes/` comes last: with that, the segment is converted."""
    for folder, table, time in ((EVENTS, tables.events, D.STAMP), (OUTCOMES, tables.outcomes, D.TOLD_AT)):
        for day, rows in by_day(table, time):
            put(files, part_name(folder, segment, day), rows)
    put(files, part_name(CHANGES, segment), tables.changes)


def by_day(table: pa.Table, time: str) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each day, by the time that they were written."""
    days = pc.strftime(table[time], "%Y-%m-%d")
    for day in sorted(pc.unique(days).to_pylist()):
        yield day, table.filter(pc.equal(days, day))


def put(files: Files, name: str, table: pa.Table) -> None:
    """Write a file beside its place, under a name that readers skip; then give it its own."""
    folder, _, last = name.rpartition("/")
    draft = f"{folder}/.{last}.draft"
    if draft in files.names_below(folder):
        files.remove(draft)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, use_dictionary=[name for name in REPEATED if name in table.column_names])
    with closing(files.append(draft)) as file:
        file.write(sink.getvalue().to_pybytes())
        file.sync()
    files.rename(draft, name)
    files.sync_folder(folder)


def read_part(files: Files, name: str) -> pa.Table:
    return pq.read_table(pa.BufferReader(files.read(name)), partitioning=None)
