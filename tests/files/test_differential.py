"""Generated files through every engine: the same outcomes, the same quarantine, and every row accounted for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from files.compare import Different, check_aside, check_local, checked_log, rows_of
from files.generate import FORMATS, generate
from files.meant import CENSUS
from sojourn import SojournError
from sojourn.pipeline.local_replay import LocalReplay

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = ("spark.sql.legacy.parquet.nanosAsLong", "spark.sql.caseSensitive")


@pytest.fixture
def spark(spark: SparkSession) -> Iterator[SparkSession]:
    """Without what a log may have made a reader set."""
    yield spark
    for name in SETTINGS:
        spark.conf.unset(name)


@pytest.mark.parametrize("format", FORMATS)
def test_many_logs_in_this_process_mean_what_their_writer_meant(tmp_path: Path, format: str) -> None:
    for seed in range(40):
        log = generate(seed, tmp_path / str(seed), format=format)
        try:
            check_local(log)
        except SojournError:
            assert log.is_refused, f"seed {seed}"
        except Different as error:
            raise AssertionError(f"seed {seed}, {log.about}") from error


SEEDS = {"parquet": [1008, 1026, 2008, 2013, 2044], "csv": [9, 18], "json": [5, 1024], "xes": [3020]}
"""Times that are too far, odd names of columns, an empty folder of Spark's, tabs, no object at all, an empty file."""


@pytest.mark.parametrize(("format", "seed"), [(format, seed) for format in SEEDS for seed in SEEDS[format]])
def test_a_log_means_the_same_to_spark(spark: SparkSession, tmp_path: Path, format: str, seed: int) -> None:
    checked_log(spark, generate(seed, tmp_path / "log", spark, format), tmp_path)


@pytest.mark.parametrize(("format", "seed"), [("csv", 9), ("parquet", 2040)])
def test_a_log_means_the_same_as_a_stream(spark: SparkSession, tmp_path: Path, format: str, seed: int) -> None:
    log = generate(seed, tmp_path / "log", spark, format)
    assert log.can_stream
    checked_log(spark, log, tmp_path, files_at_once=1)


def test_a_row_that_is_lost_is_noticed(tmp_path: Path) -> None:
    log = generate(9, tmp_path / "log", format="csv")
    aside = LocalReplay(log.job()).quarantine
    assert len(rows_of(aside)) > 3
    check_aside("local", aside, log, (*log.rules, *CENSUS))
    with pytest.raises(Different, match="not set aside"):
        check_aside("local", aside.slice(1), log, (*log.rules, *CENSUS))
    with pytest.raises(Different, match="without cause"):
        check_aside("local", aside, log, CENSUS)
