"""Events from Kafka, outcomes to Kafka: through brokers on loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from sojourn import ConfigError
from sojourn.pipeline import stream
from sojourn.pipeline.files.json_values import NOT_JSON
from sojourn.pipeline.stream.doors.kafka import Address
from sojourn.pipeline.stream.doors.kafka_source import KafkaReader, Span
from sojourn.pipeline.stream.doors.sinks import sink_of
from sojourn.pipeline.stream.doors.sources import From
from sojourn.rules import Rule, seen
from stream.brokers import Broker, from_maven, in_process
from stream.kafka_victim import TOLD, run
from stream.scene import EPOCH, Scene, flush
from stream.test_crash import TESTS, arriving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.kafka

RULE = Rule("r", "open", "paid", within="1 s")
SCHEMA = "key string, kind string, at long"
TOPIC = "events"
GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "connect-a-stream.md"


@pytest.fixture(params=[in_process, pytest.param(from_maven, marks=pytest.mark.chaos)])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    with request.param(tmp_path) as broker:
        yield broker


def event(key: str, kind: str, at: int) -> str:
    return json.dumps({"key": key, "kind": kind, "at": EPOCH + at})


def test_events_of_a_topic_become_outcomes_in_another(spark: SparkSession, tmp_path: Path, broker: Broker) -> None:
    broker.send(TOPIC, event("a", "open", 0), event("b", "open", 5), "not JSON")
    broker.send(TOPIC, event("a", "paid", 700), event("z", "other", 9000), partition=1)
    events = From(f"kafka:{broker.address}/{TOPIC}", SCHEMA).read(spark, RULE, {})
    outcomes = stream.outcomes(events, RULE, unit="ms", late="1 s", shards=2)
    checkpoint = str(tmp_path / "checkpoint")
    sink = sink_of(spark, f"kafka:{broker.address}/told", checkpoint)
    stream.start(outcomes, sink, checkpoint=checkpoint, available_now=True).awaitTermination()
    told = {key: (row["outcome"], row["waited_ms"]) for key, row in broker.messages("told")}
    assert told == {f"r/a/{EPOCH}": ("completed", 700), f"r/b/{EPOCH + 5}": ("expired", 1000)}
    aside = spark.read.parquet(f"{checkpoint}/aside/quarantine").collect()
    assert [(row.reason, json.loads(row.row)["_corrupt_record"]) for row in aside] == [(NOT_JSON, "not JSON")]


def test_a_micro_batch_takes_a_fair_share_of_each_partition(broker: Broker) -> None:
    for partition in (0, 1):
        broker.send(TOPIC, *map(str, range(10)), partition=partition)
    reader = KafkaReader({"servers": broker.address, "topic": TOPIC, "maxOffsetsPerTrigger": "6"})
    start = reader.initialOffset()
    limit = reader.getDefaultReadLimit()
    assert {place: start[place] for place in ("0", "1")} == {"0": 0, "1": 0}
    end = reader.latestOffset(start, limit)
    assert {place: end[place] for place in ("0", "1")} == {"0": 2, "1": 2}
    spans = reader.partitions(start, end)
    assert [(span.partition, span.start, span.end) for span in spans if isinstance(span, Span)] == [
        (0, 0, 2),
        (1, 0, 2),
    ]
    values = [batch["value"].to_pylist() for span in spans for batch in reader.read(span)]
    assert values == [[b"0", b"1"], [b"0", b"1"]]
    assert reader.partitions(end, end) == []


@pytest.mark.parametrize("text", ["broker:9092", "/topic", "broker:9092/"])
def test_an_address_without_a_broker_or_a_topic_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not kafka:HOST:PORT/TOPIC"):
        Address.of(text)


def recipe(heading: str, place: int = 0) -> str:
    """A snippet of the guide."""
    section = GUIDE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"```python3\n(.*?)```", section, re.DOTALL)[place]


def test_a_stream_killed_after_sending_leaves_each_outcome_once_under_its_key(
    spark: SparkSession, tmp_path: Path, broker: Broker
) -> None:
    log, decided = arriving(Random(2), 120)
    scene = Scene(spark, tmp_path)
    for start in range(0, len(log), 40):
        scene.add(log[start : start + 40])
    scene.add([flush(EPOCH + 10**6)])
    broker.create_compacted(TOLD)
    killed = subprocess.Popen(
        [sys.executable, "-m", "stream.kafka_victim", str(tmp_path), broker.address, "2"],
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert killed.wait() == -signal.SIGKILL
    assert not (scene.checkpoint / "commits" / "2").exists()
    before = len(broker.messages(TOLD))
    run(spark, tmp_path, broker.address)
    told = broker.messages(TOLD)
    assert 0 < before < len(decided) < len(told)  # what was sent before the kill is there twice
    by_key = dict(told)
    assert all(by_key[key] == value for key, value in told)
    wanted = {each.operation_id: (each.key, each.outcome, each.waited_ms) for each in decided}
    assert {key: (row["key"], row["outcome"], row["waited_ms"]) for key, row in by_key.items()} == wanted


def test_json_messages_and_their_headers_become_columns_as_the_guide_shows(
    spark: SparkSession, tmp_path: Path, broker: Broker
) -> None:
    for number, (kind, region) in enumerate([("open", "north"), ("paid", "north"), ("paid", "south"), ("x", "south")]):
        at = f"2024-01-01T00:00:0{number}Z"
        broker.send_with_headers("payments", json.dumps({"id": "a", "type": kind, "at": at}), {"region": region})
    broker.send("payments", "not JSON")
    given: dict[str, Any] = {"spark": spark, "stream": stream, "broker": broker.address}
    exec(recipe("Messages: JSON, Avro, headers"), given)
    rule = Rule("r", "open", seen("paid", times=2, distinct="source"), within="1 min")
    outcomes = stream.outcomes(given["events"], rule, late="0 s", shards=2)
    query = stream.write(outcomes, str(tmp_path / "out"), checkpoint=str(tmp_path / "state"), available_now=True)
    query.awaitTermination()
    told = spark.read.parquet(str(tmp_path / "out" / "outcomes")).collect()
    assert [(row.key, row.outcome, row.waited_ms) for row in told] == [("a", "completed", 2000)]
    aside = spark.read.parquet(str(tmp_path / "out" / "quarantine")).collect()
    assert [row.reason for row in aside] == ["no key"]


def test_a_bound_on_a_micro_batch_is_kept_on_spark(spark: SparkSession, tmp_path: Path, broker: Broker) -> None:
    for number in range(10):
        broker.send(TOPIC, event(f"k{number}", "open", number))
    events = From(f"kafka:{broker.address}/{TOPIC}", SCHEMA, options={"maxOffsetsPerTrigger": "4"}).read(
        spark, RULE, {}
    )
    query = events.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "state"))
    running = query.trigger(availableNow=True).start()
    running.awaitTermination()
    rows = [report.numInputRows for report in running.recentProgress if report.numInputRows]
    assert sum(rows) == 10
    assert max(rows) <= 4
