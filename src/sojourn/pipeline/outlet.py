"""What becomes of outcomes as they are decided: they are counted, written, or kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock, get_ident

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from . import schema as S  # noqa: N812  (as F for Spark's functions)
from .phases import Phases
from .results.tally import Tallies, merged

ROWS_AT_ONCE = 1 << 19
"""How many rows a group of a file has, about."""

REPEATED = [S.RULE, S.OUTCOME, S.DECIDED_BY, S.MISSING]
"""The columns that say the same again and again: only those are worth a dictionary."""

Tally = Callable[[pa.Table], Tallies]


class OutcomeFile:
    """A file of outcomes. Rows wait until there are enough for a group."""

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self._waiting: list[pa.Table] = []
        self._rows = 0
        self._writer = parquet.ParquetWriter(path, schema, use_dictionary=REPEATED, store_schema=False)

    def write(self, rows: pa.Table) -> None:
        self._waiting.append(rows)
        self._rows += len(rows)
        if self._rows >= ROWS_AT_ONCE:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(pa.concat_tables(self._waiting), row_group_size=self._rows)
        self._waiting, self._rows = [], 0


class Outlet:
    """Takes outcomes, as `schema.DECIDED`, from any thread. Each thread has a file of its own.

    `tally`   counts some outcomes.
    `folder`  where they are written, if they are; without those that are pending, if `only_ended`.
    `keeps`   whether they are kept, as `tables`.
    """

    def __init__(
        self,
        tally: Tally,
        phases: Phases,
        folder: str | None = None,
        *,
        only_ended: bool = False,
        keeps: bool = False,
    ) -> None:
        self._tally = tally
        self._phases = phases
        self._folder = None if folder is None else Path(folder)
        self._only_ended = only_ended
        self._keeps = keeps
        self._lock = Lock()
        self._files: dict[int, OutcomeFile] = {}
        self._tallies: list[Tallies] = []
        self.tables: list[pa.Table] = []

    def take(self, decided: pa.Table) -> None:
        with self._phases("count"):
            counted = self._tally(decided)
        with self._lock:
            self._tallies.append(counted)
            if self._keeps:
                self.tables.append(decided)
        if self._folder is not None:
            with self._phases("write"):
                rows = decided.select(S.OUTCOMES.names)
                self._file().write(rows.filter(pc.not_equal(rows[S.OUTCOME], S.PENDING)) if self._only_ended else rows)

    def close(self) -> Tallies:
        """The tallies of all. There is a file, even if there are no outcomes."""
        with self._phases("write"):
            if self._folder is not None:
                self._file()
            for file in self._files.values():
                file.close()
        with self._phases("count"):
            return merged(self._tallies)

    def _file(self) -> OutcomeFile:
        with self._lock:
            file = self._files.get(get_ident())
            if file is None:
                assert self._folder is not None
                self._folder.mkdir(parents=True, exist_ok=True)
                path = self._folder / f"part-{len(self._files):05}.parquet"
                file = self._files[get_ident()] = OutcomeFile(str(path), S.OUTCOMES)
            return file
