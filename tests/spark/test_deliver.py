"""Executors write and count by themselves: whatever becomes of their tasks, each outcome is there once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from parity.tables import as_outcomes
from sojourn import SourceError
from sojourn.pipeline import local
from sojourn.pipeline.phases import Phases
from sojourn.pipeline.plan import Plan
from sojourn.pipeline.schema import SPARK_TIME
from sojourn.pipeline.spark.deliver import ATTEMPTS, Deliver, delivered
from sojourn.rules import Rule

PAID = Rule("paid", opens="order", until="payment", within="1 h")
KEYS = [f"order {i}" for i in range(50)]
LOG = pa.table(
    {
        "key": [*KEYS, *KEYS[:20]],
        "kind": ["order"] * 50 + ["payment"] * 20,
        "at": pa.array([0] * 50 + [1] * 20, pa.timestamp("ms", "UTC")),
    }
)
Task = Callable[[Any], Iterator[pa.RecordBatch]]


def decided(as_of: str) -> pa.Table:
    """All outcomes of the log, as executors have them."""
    table = local.outcomes_by_plan(LOG, Plan.of(PAID).ending(as_of)).outcomes
    fields = [field.with_type(SPARK_TIME) if pa.types.is_timestamp(field.type) else field for field in table.schema]
    return table.cast(pa.schema(fields))


class Parcels:
    """Stands in for Spark: three partitions, of which each has several attempts that end. The last one is heard of."""

    def __init__(self, attempts: int = 2) -> None:
        self._attempts = attempts
        self.sparkSession = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=2))

    def mapInArrow(self, work: Task, schema: str) -> Parcels:  # noqa: N802  (Spark's name)
        self._work = work
        return self

    def collect(self) -> list[dict[str, Any]]:
        rows = [[next(iter(self._work(part))).to_pylist()[0] for _ in range(self._attempts)] for part in range(3)]
        return [{**attempts[-1], "seconds": dict(attempts[-1]["seconds"])} for attempts in rows]


def deliver(folder: Path | None, as_of: str = "complete", *, only_ended: bool = False) -> Deliver:
    table = decided(as_of)
    parts = [table.slice(start, 17) for start in (0, 17, 34)]
    return Deliver(lambda part: parts[part].to_batches(), (PAID,), (), folder and str(folder), only_ended)


def test_of_several_attempts_one_counts_and_nothing_is_left_of_the_others(tmp_path: Path) -> None:
    tallies = delivered(Parcels(), deliver(tmp_path / "out"), Phases())  # type: ignore[arg-type]
    assert tallies["paid"].counts.opened == 50
    assert sorted(os.listdir(tmp_path / "out")) == [f"part-0000{i}.parquet" for i in range(3)]
    assert as_outcomes(ds.dataset(tmp_path / "out").to_table()) == as_outcomes(decided("complete"))


def test_without_a_folder_all_is_counted_and_nothing_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert delivered(Parcels(), deliver(None), Phases())["paid"].counts.completed == 20  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_what_is_pending_is_counted_and_not_written_if_only_ended_ones_are_wanted(tmp_path: Path) -> None:
    tallies = delivered(Parcels(1), deliver(tmp_path / "out", "log", only_ended=True), Phases())  # type: ignore[arg-type]
    assert (tallies["paid"].counts.pending, tallies["paid"].counts.completed) == (30, 20)
    assert ds.dataset(tmp_path / "out").to_table()["outcome"].to_pylist() == ["completed"] * 20


def test_a_file_that_another_machine_wrote_is_not_taken_for_written(tmp_path: Path) -> None:
    class Elsewhere(Parcels):
        def collect(self) -> list[dict[str, Any]]:
            rows = super().collect()
            for file in (tmp_path / "out" / ATTEMPTS).iterdir():
                file.unlink()
            return rows

    with pytest.raises(SourceError, match="name a folder that all machines of the cluster share"):
        delivered(Elsewhere(), deliver(tmp_path / "out"), Phases())  # type: ignore[arg-type]
    assert not (tmp_path / "out" / ATTEMPTS).exists()


@pytest.mark.java
def test_tasks_that_are_killed_while_they_write_leave_nothing_behind(tmp_path: Path) -> None:
    pq.write_table(LOG, tmp_path / "log.parquet", row_group_size=10)
    (tmp_path / "deaths").mkdir()
    program = Path(__file__).with_name("killed_tasks.py")
    places = [str(tmp_path / name) for name in ("log.parquet", "out", "deaths")]
    ended = subprocess.run(
        [sys.executable, str(program), *places], capture_output=True, text=True, timeout=300, check=False
    )
    opened, deaths = map(int, ended.stdout.split())
    assert (opened, deaths > 0) == (50, True)
    assert all(name.startswith("part-") for name in os.listdir(tmp_path / "out"))
    assert as_outcomes(ds.dataset(tmp_path / "out").to_table()) == as_outcomes(decided("complete"))
