"""Spark against the fold, and against the local engine: few jobs, each with many rules and keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parity import random_rules
from parity.operations import as_table as as_operations
from parity.operations import by_law, operations
from parity.tables import as_outcomes, as_table, by_fold
from sojourn.pipeline import batch, local
from sojourn.pipeline.spark.files import parquet_files
from sojourn.rules import AsOf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Framed = Callable[[pa.Table], "DataFrame"]
RECORDS_PER_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.fixture(params=[("rows", 1), ("rows", 10_000), ("files", 10_000)], ids=str)
def framed(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Framed]:
    """Tables as DataFrames: of rows, which Spark hands over so many at a time, or of files, which Arrow reads."""
    what, records = request.param

    def as_files(table: pa.Table) -> DataFrame:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        middle = table.num_rows // 2
        pq.write_table(table.slice(0, middle), folder / "a.parquet", row_group_size=50)
        pq.write_table(table.slice(middle), folder / "b.parquet")
        frame = spark.read.parquet(str(folder))
        assert parquet_files(frame, frame.columns) is not None
        return frame

    spark.conf.set(RECORDS_PER_BATCH, records)
    yield as_files if what == "files" else spark.createDataFrame
    spark.conf.unset(RECORDS_PER_BATCH)


@pytest.mark.parametrize("as_of", ["complete", "log", 4])
def test_spark_decides_as_the_fold_whatever_the_order_the_partitions_and_the_batches(
    framed: Framed, as_of: AsOf
) -> None:
    random = Random(str(as_of))
    rules = [random_rules.rule(random, f"r{i}") for i in range(25)]
    log = random_rules.log(random, random.choice([100, 400]))
    events = framed(as_table(log))
    if parquet_files(events, events.columns) is None:
        events = events.repartition(random.randint(1, 5))
    assert as_outcomes(batch.outcomes(events, rules, unit="ms", as_of=as_of).toArrow()) == by_fold(rules, log, as_of)


@pytest.mark.parametrize("most_keys", [1, 4])
def test_spark_decides_operations_on_one_and_on_many_keys_as_the_law(framed: Framed, most_keys: int) -> None:
    random = Random(most_keys)
    rules = [random_rules.rule(random, f"r{i}") for i in range(10)]
    given = operations(random, rules, 100, most_keys)
    log = random_rules.log(random, 300)
    table = as_operations(given)
    if most_keys == 1:
        table = table.set_column(2, "key", table["keys"].combine_chunks().flatten())
    events, frame = framed(as_table(log)), framed(table)
    as_of = random.choice(["log", 3])
    found = batch.outcomes(events, rules, unit="ms", operations=frame, as_of=as_of)
    assert as_outcomes(found.toArrow()) == by_law(rules, given, log, as_of)


def test_both_engines_set_the_same_rows_aside_for_the_same_reasons(spark: SparkSession) -> None:
    random = Random(0)
    rules = [random_rules.rule(random, f"r{i}") for i in range(12)]
    log = as_table(random_rules.log(random, 400))
    here = local.outcomes(log, rules, unit="ms").quarantine
    there = batch.quarantined(spark.createDataFrame(log), rules, unit="ms").toArrow()
    assert there.schema.names == here.schema.names
    assert sorted(zip(here["rule"].to_pylist(), here["reason"].to_pylist(), strict=True)) == sorted(
        zip(there["rule"].to_pylist(), there["reason"].to_pylist(), strict=True)
    )
    assert here.num_rows > 20
