"""Spark against the fold, and against the local engine: few jobs, each with many rules and keys."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING

import pytest

from parity import random_rules
from parity.operations import as_table as as_operations
from parity.operations import by_law, operations
from parity.tables import as_outcomes, as_table, by_fold
from sojourn.pipeline import batch, local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS_PER_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.fixture(params=[("spark", 1), ("worker", 10_000)], ids=lambda part: part[0])
def session(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[SparkSession]:
    """A session in which one or the other sorts, and that cuts the rows of a partition into batches of so many."""
    sort, records = request.param
    spark.conf.set(batch.SORT, sort)
    spark.conf.set(RECORDS_PER_BATCH, records)
    yield spark
    spark.conf.unset(batch.SORT)
    spark.conf.unset(RECORDS_PER_BATCH)


@pytest.mark.parametrize("seed", range(2))
def test_spark_decides_as_the_fold_whatever_the_order_the_partitions_and_the_batches(
    session: SparkSession, seed: int
) -> None:
    random = Random(seed)
    rules = [random_rules.rule(random, f"r{i}") for i in range(25)]
    log = random_rules.log(random, random.choice([100, 400]))
    events = session.createDataFrame(as_table(log)).repartition(random.randint(1, 5))
    assert as_outcomes(batch.outcomes(events, rules, unit="ms").toArrow()) == by_fold(rules, log)


@pytest.mark.parametrize("most_keys", [1, 4])
def test_spark_decides_operations_on_one_and_on_many_keys_as_the_law(session: SparkSession, most_keys: int) -> None:
    random = Random(most_keys)
    rules = [random_rules.rule(random, f"r{i}") for i in range(10)]
    given = operations(random, rules, 100, most_keys)
    log = random_rules.log(random, 300)
    table = as_operations(given)
    if most_keys == 1:
        table = table.set_column(2, "key", table["keys"].combine_chunks().flatten())
    events, frame = session.createDataFrame(as_table(log)), session.createDataFrame(table)
    assert as_outcomes(batch.outcomes(events, rules, unit="ms", operations=frame).toArrow()) == by_law(
        rules, given, log
    )


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
