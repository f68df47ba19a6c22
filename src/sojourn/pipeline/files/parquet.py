"""Parquet files, shared out to the tasks of a job that read them with Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import pyarrow as pa
import pyarrow.parquet as pq

from ..spark.parcels import BYTES_AT_ONCE, ROWS_AT_ONCE
from .meanings import INT96

TASK = "id"
"""The column that numbers tasks, as in `SparkSession.range`."""


@dataclass(frozen=True)
class RowGroup:
    """The unit in which Parquet can be shared out."""

    path: str
    place: int
    rows: int
    size: int


@dataclass(frozen=True)
class ParquetFiles:
    """`shares` has one entry a task. Of the columns of `schema` those in `words` have few different values."""

    shares: tuple[tuple[RowGroup, ...], ...]
    schema: pa.Schema
    words: tuple[str, ...] = ()

    def tables(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """The rows of the tasks that are named in these batches, some at a time."""
        for batch in batches:
            for task in batch[TASK].to_pylist():
                for path, groups in groupby(self.shares[task], attrgetter("path")):
                    yield from self._read(path, list(groups))

    def _read(self, path: str, groups: Sequence[RowGroup]) -> Iterator[pa.Table]:
        size = max(group.size // max(1, group.rows) for group in groups)
        at_once = max(1, min(ROWS_AT_ONCE, BYTES_AT_ONCE // max(1, size)))
        places = [group.place for group in groups]
        with pq.ParquetFile(path, read_dictionary=list(self.words), coerce_int96_timestamp_unit=INT96) as file:
            for rows in file.iter_batches(at_once, places, self.schema.names, use_threads=False):
                yield pa.Table.from_batches([rows])


def shares(groups: Sequence[RowGroup], tasks: int) -> tuple[tuple[RowGroup, ...], ...]:
    """Much the same number of rows for each task; neighbours stay together."""
    total = sum(group.rows for group in groups)
    own: list[list[RowGroup]] = [[] for _ in range(tasks)]
    before = 0
    for group in groups:
        middle = before + group.rows / 2
        own[min(tasks - 1, int(middle * tasks / max(1, total)))].append(group)
        before += group.rows
    return tuple(map(tuple, own))
