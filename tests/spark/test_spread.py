"""Shards in Spark's partitions: one after the other, whatever their number."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)

from sojourn.pipeline.spark.spread import FIRST, spread

SHARDS = 300


def test_sparks_hash_of_a_shards_number_is_its_place(spark: SparkSession) -> None:
    numbers = spread(np.array([*range(SHARDS), 2**31 - 1])).tolist()
    rows = spark.createDataFrame([(number,) for number in numbers], "number int").select(F.hash("number")).collect()
    assert [place for (place,) in rows] == [*range(SHARDS), 2**31 - 1]
    assert numbers[0] == FIRST


@pytest.mark.parametrize("partitions", [2, 3, 7, 16, 200])
def test_partitions_get_the_same_number_of_shards_give_or_take_one(spark: SparkSession, partitions: int) -> None:
    numbers = [(number,) for number in spread(np.arange(SHARDS)).tolist()]
    dealt = spark.createDataFrame(numbers, "shard int").repartition(partitions, "shard")
    found = Counter(place for (place,) in dealt.select(F.spark_partition_id()).collect())
    assert len(found) == partitions
    assert max(found.values()) - min(found.values()) <= 1
