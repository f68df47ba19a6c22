"""What becomes of outcomes as they are decided, and of rows that are set aside: counted, written, or kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from . import schema as S  # noqa: N812  (as F for Spark's functions)
from .columns.outcomes import plain
from .deal import in_parallel
from .gather import THREADS
from .phases import Phases
from .replay import counted
from .results.tally import Tallies, merged

ROWS_AT_ONCE = 1 << 19
"""About how many rows are counted at once, and how many a group of a file has: fewer would cost more each."""


class TableFile:
    """A Parquet file, with a row group for each `write`. It is made by the first of them, or by `close`.

    Only the columns `repeated`, whose values come again and again, are worth a dictionary. Whole numbers, and so times,
    are written as differences, which takes less time and room. Texts have no statistics: the rows are in no order in
    which a reader could skip any by them.
    """

    def __init__(self, path: str, schema: pa.Schema, repeated: Iterable[str] = S.REPEATED) -> None:
        self._path, self._schema = path, schema
        numbers = [field.name for field in schema if pa.types.is_timestamp(field.type) or field.type == pa.int64()]
        self._options = {
            "use_dictionary": list(repeated),
            "column_encoding": dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
            "write_statistics": numbers,
            # Without Arrow's own schema, in which a column would be what it was to us, and not what it is to readers.
            "store_schema": False,
        }
        self._writer: parquet.ParquetWriter | None = None

    def write(self, rows: pa.Table) -> None:
        self._opened().write_table(rows.cast(self._schema), row_group_size=max(1, len(rows)))

    def close(self) -> None:
        self._opened().close()

    def _opened(self) -> parquet.ParquetWriter:
        if self._writer is None:
            Path(self._path).parent.mkdir(parents=True, exist_ok=True)
            self._writer = parquet.ParquetWriter(self._path, self._schema, **self._options)
        return self._writer


class Basket:
    """Outcomes, as `schema.DECIDED`, coded, that wait until there are enough of them to be counted and written.

    `tally` counts some; `file` is where they are written, if they are, without those that are pending if `only_ended`.
    `threads` says how many baskets are in use side by side.
    """

    def __init__(
        self,
        tally: Callable[[pa.Table], Tallies],
        file: TableFile | None,
        phases: Phases,
        *,
        only_ended: bool = False,
        threads: int = 1,
    ) -> None:
        self._tally = tally
        self._file = file
        self._phases = phases
        self._only_ended = only_ended
        self._threads = threads
        self._waiting: list[pa.Table] = []
        self._rows = 0
        self._tallies: list[Tallies] = []

    def add(self, decided: pa.Table) -> None:
        self._waiting.append(decided)
        self._rows += len(decided)
        if self._rows >= ROWS_AT_ONCE:
            self._empty()

    def close(self) -> Tallies:
        """The tallies of all."""
        self._empty()
        with self._phases("write"):
            if self._file is not None:
                self._file.close()
        with self._phases("count"):
            return merged(self._tallies)

    def _empty(self) -> None:
        if not self._rows:
            return
        decided = pa.concat_tables(self._waiting).unify_dictionaries()
        self._waiting, self._rows = [], 0
        with self._phases("count", self._threads):
            self._tallies.append(self._tally(decided))
        if self._file is not None:
            with self._phases("write", self._threads):
                rows = decided.select(S.OUTCOMES.names)
                self._file.write(rows.filter(pc.not_equal(rows[S.OUTCOME], S.PENDING)) if self._only_ended else rows)


class Outlet:
    """Takes outcomes, as `schema.DECIDED`, coded, from any thread. There is a basket for each thread that is at work.

    `folder`  where they are written, if they are.
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
        self._folder = folder
        self._only_ended = only_ended
        self._numbers = count()
        self._baskets: list[Basket] = []
        self._free: SimpleQueue[Basket] = SimpleQueue()
        self._kept: list[pa.Table] | None = [] if keeps else None

    def take(self, decided: pa.Table) -> None:
        try:
            basket = self._free.get_nowait()
        except Empty:
            basket = self._new_basket()
        basket.add(decided)
        self._free.put(basket)
        if self._kept is not None:
            self._kept.append(decided)

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Time spent inside counts as deciding, except what the outlet spends on counting and writing meanwhile."""
        start, before = perf_counter(), self._phases.total()
        yield
        others = self._phases.total() - before
        self._phases.add("decide", perf_counter() - start - others)

    def close(self) -> Tallies:
        """The tallies of all. If a folder is named there is a file, even if there are no outcomes."""
        if not self._baskets:
            self._new_basket()
        return merged(in_parallel(Basket.close, self._baskets))

    def kept(self) -> pa.Table | None:
        """All outcomes, as `schema.DECIDED`, if they were kept."""
        if self._kept is None:
            return None
        return plain(pa.concat_tables(self._kept)) if self._kept else S.DECIDED.empty_table()

    def _new_basket(self) -> Basket:
        path = None if self._folder is None else str(Path(self._folder) / f"part-{next(self._numbers):05}.parquet")
        file = None if path is None else TableFile(path, S.coded(S.OUTCOMES))
        basket = Basket(self._tally, file, self._phases, only_ended=self._only_ended, threads=THREADS)
        self._baskets.append(basket)
        return basket


class QuarantineOutlet:
    """Takes rows that were set aside, as `schema.QUARANTINE`, from one thread; counts, writes or keeps them."""

    def __init__(self, folder: str | None = None, *, keeps: bool = False) -> None:
        self._file: TableFile | None = None
        self._kept: list[pa.Table] | None = [] if keeps else None
        self.reasons: Counter[str] = Counter()
        if folder is not None:
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
