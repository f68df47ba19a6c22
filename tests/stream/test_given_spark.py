"""Operations from a stream of their own, on Spark: the law, though the stream is stopped and started again."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from parity.operations import Given, by_law, operations
from sojourn import ConfigError
from sojourn.pipeline import stream
from sojourn.pipeline.columns.reasons import GIVEN_TWICE
from sojourn.rules import Event, Rule, all_of, reached, seen, total
from stream.given_scene import TABLE, GivenScene, far, later
from stream.scene import EPOCH, flush, moved
from stream.test_given import usable
from stream.test_shard_parity import as_told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LATE = 3
RULES = [
    Rule("r", "open", all_of(seen("a", 2, "source"), total("b", at_least=1)), within=3, cancels="stop"),
    Rule("r", "open", reached("b", at_least=0.6, by=2), within=3),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_operations_from_a_stream_end_as_the_law_says_though_it_is_stopped_and_started_again(
    spark: SparkSession, tmp_path: Path, rule: Rule
) -> None:
    random = Random(5)
    log, given = moved(usable(random, 120)), later(operations(random, [rule], 30, most_keys=4))
    events = sorted(log, key=lambda event: event.at + random.uniform(0, LATE))
    asked = sorted(given, key=lambda each: each.opened_at + random.uniform(0, LATE))
    scene = GivenScene(spark, tmp_path, late=f"{LATE} ms")
    decided = sorted(map(as_told, by_law([rule], given, log)))
    scene.add(events[:50])
    scene.ask(asked[:20])
    scene.add(events[50:80])
    scene.run(rule)
    newest = min(max(e.at for e in events[:80]), max(g.opened_at for g in asked[:20]))
    assert scene.outcomes() == [each for each in decided if each.at is not None and each.at < newest - LATE]
    scene.ask(asked[20:])
    scene.add(events[80:])
    scene.ask([far("far", EPOCH + 10**6), Given("late", "r", ["k"], EPOCH - 10**6, 1), asked[-1]])
    scene.add([flush(EPOCH + 10**6)])
    scene.ask([far("farther", EPOCH + 10**6 + 1)])
    scene.run(rule)
    assert scene.outcomes() == decided
    assert len(decided) == 30
    assert sorted(scene.table("quarantine")["reason"].to_pylist()) == ["more than 3 ms late", GIVEN_TWICE]
    assert scene.counted("opened") == 32
    assert scene.counted("late") == 1


def test_what_is_not_for_operations_from_a_stream_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    scene = GivenScene(spark, tmp_path)
    scene.add([Event("k", "a", EPOCH)])
    scene.ask([far("x", EPOCH)])
    table = spark.createDataFrame([], TABLE)
    with pytest.raises(ConfigError, match="the operations are a table, and the events a stream"):
        stream.outcomes(scene.frame(), RULES[0], operations=table)
    with pytest.raises(ConfigError, match="eager is for operations that events open"):
        stream.outcomes(scene.frame(), RULES[0], operations=scene.operations(), eager=True)
    with pytest.raises(ConfigError, match="the table of operations has no column 'operation_id'"):
        stream.outcomes(scene.frame(), RULES[0], operations=scene.frame())
