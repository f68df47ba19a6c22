"""Clients for a simulated cluster: they produce, consume and administer, from one seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from random import Random

from ..cluster.admin import NewTopic
from ..cluster.cluster import Cluster
from ..cluster.replica_manager import HIGH_WATERMARK, Acks, ReplicaManager
from ..error import Error
from ..requests.fetch import FetchResult
from ..topic import TopicPartition
from .audit import Audit

Range = tuple[int, int]
ACKS: tuple[Acks, ...] = ("all", "all", "all", 1, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How much clients ask for. Times are in milliseconds, from and to."""

    producers: int = 2
    consumers: int = 2
    members: int = 3
    produce_every_ms: Range = (100, 900)
    produce_timeout_ms: Range = (1_000, 30_000)
    poll_every_ms: Range = (50, 500)
    poll_wait_ms: Range = (100, 2_000)
    administer_every_ms: Range = (20_000, 120_000)
    administer_timeout_ms: Range = (0, 10_000)
    session_ms: int = 10_000
    rebalance_ms: int = 30_000


class Client:
    """Does a step now and then, until stopped."""

    every_ms: Range

    def __init__(self, cluster: Cluster, audit: Audit, load: Load, seed: int) -> None:
        self.cluster = cluster
        self.engine = cluster.engine
        self.audit = audit
        self.load = load
        self.random = Random(seed)
        self.is_stopped = False

    def start(self) -> None:
        self._again()

    def stop(self) -> None:
        self.is_stopped = True

    def step(self) -> None:
        raise NotImplementedError

    def _again(self) -> None:
        if not self.is_stopped:
            self.engine.schedule(self.random.randint(*self.every_ms), self._step)

    def _step(self) -> None:
        if not self.is_stopped:
            self.step()

    def some_leader(self, topic: str) -> tuple[ReplicaManager, list[TopicPartition]] | None:
        """A broker that is up and, as some other broker believes, leads these partitions of the topic."""
        up = [broker for broker in self.cluster.brokers.values() if broker.is_up]
        if not up:
            return None
        believed = self.random.choice(up).replicas.image.partitions
        broker = self.random.choice(up)
        led = [p for p, state in believed.items() if state.leader == broker.id and p.topic == topic]
        return (broker.replicas, led) if led else None


class Producer(Client):
    """Sends batches of records, each of them different from all others, to one to three partitions at a time."""

    def __init__(self, cluster: Cluster, audit: Audit, load: Load, seed: int, topic: str) -> None:
        super().__init__(cluster, audit, load, seed)
        self.every_ms = load.produce_every_ms
        self._topic = topic
        self._records = self._new_records(seed)

    def step(self) -> None:
        target = self.some_leader(self._topic)
        if target is not None:
            broker, led = target
            chosen = self.random.sample(led, min(len(led), self.random.randint(1, 3)))
            values = {p: [next(self._records) for _ in range(self.random.randint(1, 3))] for p in chosen}
            acks = self.random.choice(ACKS)
            request = broker.produce(values, acks, self.random.randint(*self.load.produce_timeout_ms))
            self.audit.follow(request)
            if acks == "all":
                request.then(partial(self.audit.produced, values))
        self._again()

    def _new_records(self, seed: int) -> Iterator[bytes]:
        number = 0
        while True:
            number += 1
            yield b"%d-%d-" % (seed, number) + b"." * self.random.randint(0, 100)


class Consumer(Client):
    """Polls one broker after another for what it leads, and goes on where it was."""

    def __init__(self, cluster: Cluster, audit: Audit, load: Load, seed: int, topic: str) -> None:
        super().__init__(cluster, audit, load, seed)
        self.every_ms = load.poll_every_ms
        self._topic = topic
        self._offsets: dict[TopicPartition, int] = {}

    def step(self) -> None:
        target = self.some_leader(self._topic)
        if target is None:
            self._again()
            return
        broker, led = target
        positions = {partition: self._offsets.get(partition, 0) for partition in led}
        request = broker.fetch(positions, self.random.randint(1, 300), self.random.randint(*self.load.poll_wait_ms))
        self.audit.follow(request)
        request.then(self._polled)

    def _polled(self, results: dict[TopicPartition, FetchResult]) -> None:
        with self.engine.turns:
            for partition, result in results.items():
                self.audit.read(partition, result)
                if result.records:
                    self._offsets[partition] = result.records[-1].offset + 1
                elif result.error is Error.OFFSET_OUT_OF_RANGE:
                    is_early = self._offsets.get(partition, 0) < result.start_offset
                    self._offsets[partition] = result.start_offset if is_early else result.end_offset
            self._again()


class Administrator(Client):
    """Creates and deletes topics, deletes records, and lets the preferred leaders lead."""

    def __init__(self, cluster: Cluster, audit: Audit, load: Load, seed: int, topic: str) -> None:
        super().__init__(cluster, audit, load, seed)
        self.every_ms = load.administer_every_ms
        self._topic = topic
        self._created = 0

    def step(self) -> None:
        self.random.choice((self._create, self._delete, self._elect, self._trim, self._trim))()
        self._again()

    def _create(self) -> None:
        self._created += 1
        topics = [NewTopic(f"extra-{self._created}-{i}", 2, self.random.randint(1, 4)) for i in range(2)]
        self.audit.follow(self.cluster.admin.create_topics(topics, self._timeout_ms()))

    def _delete(self) -> None:
        extra = [topic for topic in self.cluster.controller.topics if topic != self._topic]
        if extra:
            self.audit.follow(self.cluster.admin.delete_topics(extra[:1], self._timeout_ms()))

    def _elect(self) -> None:
        partitions = self.cluster.controller.partitions_of(self._topic)
        self.audit.follow(self.cluster.admin.elect_leaders(partitions, timeout_ms=self._timeout_ms()))

    def _trim(self) -> None:
        target = self.some_leader(self._topic)
        if target is not None:
            broker, led = target
            offset = self.random.choice((HIGH_WATERMARK, self.random.randint(0, 20)))
            self.audit.follow(broker.delete_records(dict.fromkeys(led, offset), self._timeout_ms()))

    def _timeout_ms(self) -> int:
        return self.random.randint(*self.load.administer_timeout_ms)
