"""Outcomes that executors write and count where they are decided: files of Arrow's, and tallies that travel.

Spark may run a task twice, or give up on it. So every attempt writes a file of its own name into a folder of attempts,
and tells the driver. What the driver hears of, each partition once, it moves to its place; the rest is thrown away.
"""

from __future__ import annotations

import pickle
import shutil
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame

from ...errors import SourceError
from ...rules import AsOf, Rule
from .. import schema as S  # noqa: N812  (as F for Spark's functions)
from ..outlet import Basket, TableFile
from ..phases import Phases
from ..results.deadlines import Deadline
from ..results.tally import Tallies, merged, tally
from .parcels import Batches, gathered
from .worker import Work

FILE, TALLY, SECONDS = "file", "tally", "seconds"
DELIVERED = f"{FILE} string, {TALLY} binary, {SECONDS} map<string, double>"

ATTEMPTS = "_attempts"

SCHEMA = S.coded(S.with_times(S.OUTCOMES, S.SPARK_TIME))
"""An outcome table with times as Spark has them."""


@dataclass(frozen=True)
class Deliver:
    """In a task: decides, counts and writes. Gives one row: the file, if one is asked for, tallies and phases."""

    decide: Work
    rules: tuple[Rule, ...]
    what_if: tuple[Deadline, ...]
    folder: str | None
    only_ended: bool = False

    schema = pa.schema([(FILE, pa.string()), (TALLY, pa.binary()), (SECONDS, pa.map_(pa.string(), pa.float64()))])

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        phases = Phases()
        path = None if self.folder is None else str(Path(self.folder, ATTEMPTS, f"{uuid4().hex}.parquet"))
        file = None if path is None else TableFile(path, SCHEMA)
        basket = Basket(self._tally, file, phases, only_ended=self.only_ended)
        start = perf_counter()
        for batch in self.decide(batches):
            basket.add(pa.Table.from_batches([batch]))
        phases.add("decide", perf_counter() - start - phases.total())
        tallies = packed(basket.close())
        told = {FILE: path, TALLY: tallies, SECONDS: list(phases.seconds().items())}
        yield pa.RecordBatch.from_pylist([told], self.schema)

    def _tally(self, decided: pa.Table) -> Tallies:
        return tally(decided, self.what_if, self.rules)


def delivered(parcels: DataFrame, deliver: Deliver, phases: Phases) -> Tallies:
    """Run it: all is counted and, if a folder is named, written."""
    threads = max(1, parcels.sparkSession.sparkContext.defaultParallelism)
    if deliver.folder is not None:
        Path(deliver.folder).mkdir(parents=True, exist_ok=True)
    try:
        with phases("read"):
            rows = parcels.mapInArrow(deliver, DELIVERED).collect()
        for row in rows:
            for name, seconds in row[SECONDS].items():  # of the same time as the reading
                phases.add(name, seconds / threads)
                phases.add("read", -seconds / threads)
        if deliver.folder is not None:
            _put_in_place([row[FILE] for row in rows if row[FILE] is not None], Path(deliver.folder))
    finally:
        if deliver.folder is not None:
            shutil.rmtree(Path(deliver.folder, ATTEMPTS), ignore_errors=True)
    with phases("count"):
        return merged(unpacked(row[TALLY]) for row in rows)


@dataclass(frozen=True)
class Count:
    """In a task: counts rows of an outcome table. Gives one row, the tallies."""

    rules: tuple[Rule, ...]
    what_if: tuple[Deadline, ...]
    as_of: AsOf

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        counted = merged(tally(table, self.what_if, self.rules, self.as_of) for table in gathered(batches))
        yield pa.record_batch({TALLY: pa.array([packed(counted)], pa.binary())})


def tallied(outcomes: DataFrame, count: Count) -> Tallies:
    """The tallies of an outcome table."""
    return merged(unpacked(row[TALLY]) for row in outcomes.mapInArrow(count, f"{TALLY} binary").collect())


def packed(tallies: Tallies) -> bytes:
    return zlib.compress(pickle.dumps(tallies), level=1)


def unpacked(data: bytes) -> Tallies:
    tallies: Tallies = pickle.loads(zlib.decompress(data))
    return tallies


def _put_in_place(files: list[str], folder: Path) -> None:
    """There is a file, even if there are no outcomes."""
    for number, file in enumerate(files):
        try:
            Path(file).rename(folder / f"part-{number:05}.parquet")
        except FileNotFoundError:
            raise SourceError(
                f"{str(folder)!r}: an executor wrote a part of it, which is not to be found on this machine; "
                "name a folder that all machines of the cluster share"
            ) from None
    if not files:
        TableFile(str(folder / "part-00000.parquet"), SCHEMA).close()
