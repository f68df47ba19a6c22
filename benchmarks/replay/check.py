"""Before anything is timed: all commands write the same table of a small log, row by row."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sojourn.pipeline.schema import OPERATION_ID, OUTCOMES

from ..child import UnavailableError
from .commands import PEERS, Run
from .data import log_path
from .measure import measure

EVENTS = 30_000


def check(peers: Iterable[str], events: int = EVENTS) -> None:
    """Raises SystemExit where two peers differ, and says in what. Those that cannot run here are left out."""
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as folder:
        log = log_path(events, Path(folder))
        tables = {}
        for peer in peers:
            try:
                PEERS[peer].version()
            except UnavailableError:
                continue
            run = Run(log, events, Path(folder) / peer)
            run.folder.mkdir()
            measure(PEERS[peer], run)
            tables[peer] = outcomes(run.out)
    if difference := first_difference(tables):
        raise SystemExit(difference)


def outcomes(out: Path) -> pa.Table:
    """What was written, in the types of our outcome tables and in the order of ids."""
    table = pq.read_table(out)
    if set(table.column_names) != set(OUTCOMES.names):
        raise SystemExit(f"{out} has the columns {table.column_names}, not {OUTCOMES.names}")
    columns = {field.name: table[field.name].cast(field.type) for field in OUTCOMES}
    return pa.table(columns).sort_by(OPERATION_ID)


def first_difference(tables: Mapping[str, pa.Table]) -> str | None:
    """Where a table is not the first one, or nothing."""
    names = list(tables)
    for other in names[1:]:
        left, right = tables[names[0]], tables[other]
        if len(left) != len(right):
            return f"{names[0]} has {len(left):,} outcomes, {other} {len(right):,}"
        for column in OUTCOMES.names:
            if not left[column].equals(right[column]):
                return f"{names[0]} and {other} differ in {column}: {_example(left, right, column)}"
    return None


def _example(left: pa.Table, right: pa.Table, column: str) -> str:
    is_same = pc.equal(left[column], right[column])
    both_null = pc.and_(left[column].is_null(), right[column].is_null())
    row = pc.index(pc.or_(pc.fill_null(is_same, False), both_null), False).as_py()
    return f"{left[column][row]} and {right[column][row]} of {left[OPERATION_ID][row]}"
