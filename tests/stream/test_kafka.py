"""Events from Kafka, outcomes to Kafka: through brokers on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sojourn import ConfigError
from sojourn.pipeline import stream
from sojourn.pipeline.files.json_values import NOT_JSON
from sojourn.pipeline.stream.kafka import Address
from sojourn.pipeline.stream.kafka_source import KafkaReader, Span
from sojourn.pipeline.stream.sinks import sink_of
from sojourn.pipeline.stream.sources import From
from sojourn.rules import Rule
from stream.brokers import Broker, from_maven, in_process
from stream.scene import EPOCH

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.kafka

RULE = Rule("r", "open", "paid", within="1 s")
SCHEMA = "key string, kind string, at long"
TOPIC = "events"


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
