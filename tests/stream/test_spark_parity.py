"""Streams on Spark against the fold: cut anywhere, shuffled within `late`, stopped and started again."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from parity import random_rules
from parity.tables import as_outcomes, by_fold
from sojourn.pipeline import stream
from sojourn.pipeline.stream.checkpoint.status import status
from sojourn.rules import Rule, all_of, reached, seen, total
from stream.scene import EPOCH, Scene, flush, moved
from stream.test_shard_parity import as_told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = [
    Rule(
        "r", "open", all_of(seen("a", 2, "source"), total("b", of="amount", at_least=1)), {"column": "allowed"}, "each"
    ),
    Rule("r", "a", reached("b", at_least=0.6, by=2), 3, "first", cancels="stop"),
    Rule("r", "open", None, 2, "each", cancels="stop", keeps_alive="a"),
]
LATE = 3


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_stream_tells_what_the_fold_decides_though_it_is_stopped_and_started_again(
    spark: SparkSession, tmp_path: Path, rule: Rule
) -> None:
    random = Random(1)
    log = moved([event for event in random_rules.log(random, 150) if event not in random_rules.UNUSABLE])
    arriving = sorted(log, key=lambda event: event.at + random.uniform(0, LATE))
    scene = Scene(spark, tmp_path, late=f"{LATE} ms")
    cuts = sorted(random.sample(range(len(arriving) * 2 // 3, len(arriving)), 3))
    for start, end in [(0, cuts[0]), (cuts[0], cuts[1])]:
        scene.add(arriving[start:end])
    scene.run(rule)
    as_of = status(spark, str(scene.checkpoint)).as_of
    assert as_of == max(event.at for event in arriving[: cuts[1]]) - LATE - 1
    held = as_outcomes(stream.pending(str(scene.checkpoint), spark).toArrow())
    assert held or rule.per == "first"  # whose operations may all have ended
    assert sorted([*scene.outcomes(), *held]) == sorted(map(as_told, by_fold([rule], log, as_of)))
    for start, end in [(cuts[1], cuts[2]), (cuts[2], len(arriving))]:
        scene.add(arriving[start:end])
    scene.add([flush(EPOCH + 10**6)])
    scene.run(rule)
    decided = sorted(map(as_told, by_fold([rule], log)))
    assert len(decided) >= 5
    assert scene.outcomes() == decided
    assert scene.table("quarantine").num_rows == 0
    assert scene.counted("opened") == len(decided)
    assert stream.pending(str(scene.checkpoint)).count() == 0
