"""What becomes of outcomes as they are decided, and of rows that are set aside: counted, written, or kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from . import schema as S  # noqa: N812  (as F for Spark's functions)
from .gather import THREADS
from .phases import Phases
from .replay import counted
from .results.tally import Tallies, merged

ROWS_AT_ONCE = 1 << 19
"""How many rows a group of a file has, about."""

REPEATED = [S.RULE, S.OUTCOME, S.DECIDED_BY, S.MISSING]
"""The columns that say the same again and again: only those are worth a dictionary."""


class TableFile:
    """A file of rows. They wait until there are enough for a group."""

    def __init__(self, path: str, schema: pa.Schema, repeated: list[str]) -> None:
        self._waiting: list[pa.Table] = []
        self._rows = 0
        self._writer = parquet.ParquetWriter(path, schema, use_dictionary=repeated, store_schema=False)

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
    """Takes outcomes, as `schema.DECIDED`, from any thread. There are as many files as threads that write at a time.

    `tally`   counts some outcomes.
    `folder`  where they are written, if they are; without those that are pending, if `only_ended`.
    `keeps`   whether they are kept.
    """

    def __init__(
        self,
        tally: Callable[[pa.Table], Tallies],
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
        self._lock = Lock()
        self._files: list[TableFile] = []
        self._free: list[TableFile] = []
        self._tallies: list[Tallies] = []
        self._kept: list[pa.Table] | None = [] if keeps else None

    def take(self, decided: pa.Table) -> None:
        with self._phases("count", THREADS):
            counts = self._tally(decided)
        with self._lock:
            self._tallies.append(counts)
            if self._kept is not None:
                self._kept.append(decided)
        if self._folder is not None:
            with self._phases("write", THREADS):
                rows = decided.select(S.OUTCOMES.names)
                self._write(rows.filter(pc.not_equal(rows[S.OUTCOME], S.PENDING)) if self._only_ended else rows)

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """What runs inside is deciding, apart from what the outlet itself does meanwhile."""
        start, before = perf_counter(), self._phases.total()
        yield
        others = self._phases.total() - before
        self._phases.add("decide", perf_counter() - start - others)

    def close(self) -> Tallies:
        """The tallies of all. If a folder is named there is a file, even if there are no outcomes."""
        with self._phases("write"):
            if self._folder is not None and not self._files:
                self._write(S.OUTCOMES.empty_table())
            for file in self._files:
                file.close()
        with self._phases("count"):
            return merged(self._tallies)

    def kept(self) -> pa.Table | None:
        """All outcomes, if they were kept."""
        if self._kept is None:
            return None
        return pa.concat_tables(self._kept) if self._kept else S.DECIDED.empty_table()

    def _write(self, rows: pa.Table) -> None:
        with self._lock:
            file = self._free.pop() if self._free else self._new_file()
        file.write(rows)
        with self._lock:
            self._free.append(file)

    def _new_file(self) -> TableFile:
        assert self._folder is not None
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"part-{len(self._files):05}.parquet"
        self._files.append(TableFile(str(path), S.OUTCOMES, REPEATED))
        return self._files[-1]


class QuarantineOutlet:
    """Takes rows that were set aside, as `schema.QUARANTINE`, from one thread; counts, writes or keeps them."""

    def __init__(self, folder: str | None = None, *, keeps: bool = False) -> None:
        self._file: TableFile | None = None
        self._kept: list[pa.Table] | None = [] if keeps else None
        self.reasons: Counter[str] = Counter()
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self._file = TableFile(str(Path(folder) / "part-00000.parquet"), S.QUARANTINE, [S.RULE, S.REASON])

    def take(self, rows: pa.Table) -> None:
        self.reasons += counted(rows[S.REASON])
        if self._kept is not None:
            self._kept.append(rows)
        if self._file is not None:
            self._file.write(rows)

    def close(self) -> pa.Table | None:
        """All rows, if they were kept."""
        if self._file is not None:
            self._file.close()
        if self._kept is None:
            return None
        return pa.concat_tables([S.QUARANTINE.empty_table(), *self._kept])
