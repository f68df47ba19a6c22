"""The rules of a checkpoint: added and removed between two runs, on Spark; and what is refused, without it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from parity import random_rules
from parity.tables import as_outcomes, by_fold
from sojourn import ConfigError
from sojourn.pipeline import stream
from sojourn.pipeline.plan import Plan
from sojourn.pipeline.stream.checkpoint.changes import FOLDER, History, OnRemoval, identified
from sojourn.pipeline.stream.checkpoint.settings import NAME, SINCE, settings_of
from sojourn.pipeline.stream.checkpoint.status import pending_count, status
from sojourn.pipeline.stream.shard.shape import Shape
from sojourn.rules import Event, Rule, all_of, reached, seen, total
from stream.local_files import LocalFiles
from stream.scene import EPOCH, Scene, flush, moved
from stream.test_several_rules import cancelled_by_removal
from stream.test_shard_parity import as_told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LATE = 3
GONE = Rule("gone", "open", seen("a", times=3), 60, "each")
STAYS = [
    Rule("adds", "open", all_of(seen("a", 2, "source"), total("b", of="amount", at_least=1)), {"column": "allowed"}),
    Rule("alive", "open", None, 2, "each", cancels="stop", keeps_alive="a"),
]
ADDED = Rule("added", "a", reached("b", at_least=0.6, by=2), 3, "each", cancels="stop")


def some_log(random: Random, count: int, later: int) -> list[Event]:
    log = [event for event in random_rules.log(random, 2 * count) if event not in random_rules.UNUSABLE][:count]
    return [
        event._replace(at=event.at + later, columns={**event.columns, "due": event.columns["due"] + later})
        if event.columns
        else event._replace(at=event.at + later)
        for event in log
    ]


def test_rules_are_added_to_a_stream_and_removed_from_it_and_the_others_go_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    random = Random(2)
    early, late = (some_log(random, count, later) for count, later in ((100, 0), (50, 5)))
    log = moved([*early, *late])
    arriving = sorted(log, key=lambda event: event.at + random.uniform(0, LATE))
    scene = Scene(spark, tmp_path, late=f"{LATE} ms")
    for start, end in [(0, 60), (60, 100)]:
        scene.add(arriving[start:end])
    scene.run([GONE, *STAYS])
    read, rest = arriving[:100], arriving[100:]
    newest = max(event.at for event in read)
    found = status(spark, str(scene.checkpoint))
    assert found.as_of == newest - LATE - 1
    held = as_outcomes(stream.pending(str(scene.checkpoint), spark).toArrow())
    decided = sorted(map(as_told, by_fold([GONE, *STAYS], log, found.as_of)))
    assert sorted([*scene.outcomes(), *held]) == decided
    assert found.pending >= len(held) > 0
    assert [rule.name for rule in found.rules] == ["gone", "adds", "alive"]
    assert pending_count(spark, str(scene.checkpoint)) == found.pending
    assert pending_count(spark, str(scene.checkpoint), ["adds", "alive"]) == sum(r.pending for r in found.rules[1:])
    with pytest.raises(ConfigError, match="has also rule 'gone'; give it too, or say"):
        scene.run([*STAYS, ADDED])

    for start, end in [(100, 125), (125, 150)]:
        scene.add(arriving[start:end])
    scene.run([*STAYS, ADDED], removed="cancel")
    scene.add([flush(EPOCH + 10**6)])
    scene.run([*STAYS, ADDED])
    told = scene.outcomes()
    assert [o for o in told if o.rule in ("adds", "alive")] == sorted(map(as_told, by_fold(STAYS, log)))
    assert [o for o in told if o.rule == "gone"] == sorted(
        cancelled_by_removal(outcome, newest) for outcome in by_fold([GONE], read, newest)
    )
    later = [event for event in rest if event.at > newest]
    assert [o for o in told if o.rule == "added"] == sorted(map(as_told, by_fold([ADDED], later)))
    assert {o.rule for o in told} == {"gone", "adds", "alive", "added"}
    assert scene.counted("opened") == len(told)
    assert stream.pending(str(scene.checkpoint)).count() == 0


def test_all_shards_are_woken_to_tell_what_a_removed_rule_held(spark: SparkSession, tmp_path: Path) -> None:
    goes, stays = (Rule(name, "open", "paid", "1 h") for name in ("goes", "stays"))
    scene = Scene(spark, tmp_path, late="1 s")
    scene.add([Event(key, "open", EPOCH) for key in "abcdefgh"])
    scene.run([goes, stays])
    scene.add([flush(EPOCH + 1)])  # it concerns no shard
    scene.run([stays], removed="cancel")
    assert [(o.key, o.outcome, o.at) for o in scene.outcomes()] == [(key, "cancelled", EPOCH) for key in "abcdefgh"]
    assert {outcome.rule for outcome in scene.outcomes()} == {"goes"}


def entries(*rules: Rule, **options: Any) -> dict[str, Any]:
    shape = Shape(Plan.of(rules, "ms"), {})
    return {**settings_of(shape, 5, 3), **options}


A, B, C = (Rule(name, "open", "paid", 5) for name in ("a", "b", "c"))


def started(path: Path, *rules: Rule, removed: OnRemoval | None = None) -> History:
    return identified(LocalFiles(), str(path), entries(*rules), removed).history  # type: ignore[arg-type]


def completed(path: Path, batch: int, watermark: int, *, is_begun_only: bool = False) -> None:
    """A micro-batch, as Spark's logs have it."""
    for log in ("offsets",) if is_begun_only else ("offsets", "commits"):
        (path / log).mkdir(exist_ok=True)
        (path / log / str(batch)).write_text(f"v1\n{json.dumps({'nextBatchWatermarkMs': watermark})}")


def test_a_rule_that_is_added_starts_at_the_newest_event_and_keeps_its_start(tmp_path: Path) -> None:
    assert started(tmp_path, A).to_text() == ""
    completed(tmp_path, 0, 100)
    history = started(tmp_path, A, B)
    assert [(entry[NAME], entry.get(SINCE)) for entry in history.rules] == [("a", None), ("b", 106)]
    assert (history.batch, history.number) == (1, 1)
    completed(tmp_path, 1, 200)
    assert started(tmp_path, B, A).rules == history.rules  # in whatever order they are given
    history = started(tmp_path, B, removed="leave")
    assert [(entry[NAME], entry["at"], entry["is_told"]) for entry in history.removed] == [("a", 206, False)]
    assert json.loads(history.to_text())["since"] == {"b": 106}
    completed(tmp_path, 2, 300)
    history = started(tmp_path, A, B)
    assert [(entry[NAME], entry.get(SINCE)) for entry in history.rules] == [("a", 306), ("b", 106)]
    assert len({shape.id for shape in history.shapes}) == 2


def test_before_anything_was_read_rules_change_freely(tmp_path: Path) -> None:
    started(tmp_path, A)
    history = started(tmp_path, B, removed="cancel")
    assert [(entry[NAME], entry[SINCE]) for entry in history.rules] == [("b", None)]
    assert history.removed == ()


def test_a_change_under_which_nothing_was_read_can_be_taken_back(tmp_path: Path) -> None:
    started(tmp_path, A)
    completed(tmp_path, 0, 100)
    started(tmp_path, B, removed="cancel")
    history = started(tmp_path, A)
    assert (history.number, history.removed, history.rules[0].get(SINCE)) == (0, (), None)
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_a_rule_that_is_missing_is_removed_only_if_it_is_said_how(tmp_path: Path) -> None:
    started(tmp_path, A, B)
    completed(tmp_path, 0, 100)
    with pytest.raises(ConfigError, match=r"has also rule 'b'; give it too, or say .*--removed cancel"):
        started(tmp_path, A)
    with pytest.raises(ConfigError, match="removed='drop' is not known; allowed are 'cancel' and 'leave'"):
        started(tmp_path, A, removed="drop")  # type: ignore[arg-type]


def test_rules_do_not_change_in_the_middle_of_a_micro_batch(tmp_path: Path) -> None:
    started(tmp_path, A)
    completed(tmp_path, 0, 100)
    completed(tmp_path, 1, 200, is_begun_only=True)
    with pytest.raises(ConfigError, match="begun and not completed, 1: run it once under the rules"):
        started(tmp_path, A, B)
    assert started(tmp_path, A).number == 0


def test_a_change_that_is_under_way_is_not_taken_back(tmp_path: Path) -> None:
    started(tmp_path, A)
    completed(tmp_path, 0, 100)
    started(tmp_path, A, B)
    completed(tmp_path, 1, 200, is_begun_only=True)
    with pytest.raises(ConfigError, match="begun and not completed, 1"):
        started(tmp_path, A, removed="leave")
    assert started(tmp_path, A, B).number == 1


def test_a_rule_that_keeps_its_name_keeps_its_meaning(tmp_path: Path) -> None:
    started(tmp_path, A, B)
    other = Rule("b", "open", "paid", 6)
    with pytest.raises(
        ConfigError, match=r'rule .b.: within = "5 ms", not within = "6 ms"; .*give the changed rule another'
    ):
        started(tmp_path, A, other)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"rules": [1], "removed": [], "batch": 0}'])
def test_a_change_that_is_garbage_is_refused_in_words(tmp_path: Path, text: str) -> None:
    started(tmp_path, A)
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "000001.json").write_text(text)
    with pytest.raises(ConfigError, match=r"000001\.json, which says .* cannot be read: "):
        started(tmp_path, A)


def test_a_query_that_is_started_by_hand_does_not_change_rules(spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(spark, tmp_path, late="1 s")
    scene.add([Event("k", "open", EPOCH)])
    scene.run([A, B])
    scene.add([Event("k", "open", EPOCH)])
    writer = stream.outcomes(scene.frame(), [A], **scene.options).writeStream.format("noop")
    query = writer.option("checkpointLocation", str(scene.checkpoint)).trigger(availableNow=True).start()
    with pytest.raises(Exception, match="the checkpoint was written under other rules"):
        query.awaitTermination()
