"""Kafka brokers on loopback: one that is part of the client's library, and a real one, from Maven's jars."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

POM = Path(__file__).with_name("broker") / "pom.xml"
LONGEST_S = 300
CLUSTER_ID = "c29qb3Vybi10ZXN0LWNsdQ"

PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={logs}
num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""


class Broker:
    """Where a broker is, and a producer to fill it with."""

    def __init__(self, address: str, producer: confluent_kafka.Producer, *, is_real: bool = False) -> None:
        self.address, self._producer, self._is_real = address, producer, is_real

    def send(self, topic: str, *messages: str, partition: int = 0) -> None:
        for message in messages:
            self._producer.produce(topic, message, partition=partition)
        assert self._producer.flush(LONGEST_S) == 0

    def create_compacted(self, topic: str) -> None:
        """A topic that keeps the last message of each key. The broker in the library has no topics of that kind."""
        if self._is_real:
            admin = AdminClient({"bootstrap.servers": self.address})
            made = NewTopic(topic, num_partitions=4, replication_factor=1, config={"cleanup.policy": "compact"})
            admin.create_topics([made])[topic].result(LONGEST_S)

    def send_with_headers(self, topic: str, message: str | bytes, headers: dict[str, str]) -> None:
        self._producer.produce(topic, message, headers=list(headers.items()), partition=0)
        assert self._producer.flush(LONGEST_S) == 0

    def messages(self, topic: str) -> list[tuple[str, Any]]:
        """The keys and values of all messages of a topic."""
        settings = {"bootstrap.servers": self.address, "group.id": "test", "auto.offset.reset": "earliest"}
        consumer = confluent_kafka.Consumer(settings)
        numbers = consumer.list_topics(topic, timeout=LONGEST_S).topics[topic].partitions
        places = [confluent_kafka.TopicPartition(topic, number, 0) for number in numbers]
        count = sum(consumer.get_watermark_offsets(place, timeout=LONGEST_S)[1] for place in places)
        consumer.assign(places)
        found: list[Any] = []
        while len(found) < count:
            found += consumer.consume(count - len(found), 1)
        consumer.close()
        return [(message.key().decode(), json.loads(message.value())) for message in found]


@contextmanager
def in_process(path: Path) -> Iterator[Broker]:
    """It lives as long as the producer in which it runs."""
    producer = confluent_kafka.Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = producer.list_topics(timeout=LONGEST_S).brokers.values()
    yield Broker(f"{broker.host}:{broker.port}", producer)
    producer.flush(LONGEST_S)


@contextmanager
def from_maven(path: Path) -> Iterator[Broker]:
    """A single node that is broker and controller."""
    jars = _jars(path)
    port, controller = _free_port(), _free_port()
    settings = path / "server.properties"
    settings.write_text(PROPERTIES.format(port=port, controller=controller, logs=path / "logs"))
    java = ["java", "-cp", f"{jars}/*"]
    format_ = [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(settings)]
    subprocess.run(format_, check=True, capture_output=True, timeout=LONGEST_S)
    with subprocess.Popen(
        [*java, "kafka.Kafka", str(settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as it:
        try:
            address = f"127.0.0.1:{port}"
            producer = confluent_kafka.Producer({"bootstrap.servers": address, "log_level": 0})
            producer.list_topics(timeout=LONGEST_S)
            yield Broker(address, producer, is_real=True)
        finally:
            it.terminate()
            it.wait(LONGEST_S)


def _jars(path: Path) -> Path:
    if shutil.which("mvn") is None:
        pytest.skip("the jars of a broker come from Maven, which is not installed")
    command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={path / 'jars'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * LONGEST_S, check=False)
    if done.returncode:
        pytest.skip(f"Maven does not give the jars of a broker: {done.stdout.strip()[:300]}")
    return path / "jars"


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
