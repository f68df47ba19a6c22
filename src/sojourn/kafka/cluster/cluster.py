"""A cluster in one process: brokers, a controller, the network between them, topics and groups."""

from __future__ import annotations

from typing import Any, Self

from ...clock import Clock
from ...errors import ConfigError
from ..engine import Engine, OnError, log_error
from ..error import Error
from ..groups.coordinator import GroupCoordinator
from ..meters import ClusterStats
from ..operation_log import OperationLog
from ..settings import Settings
from ..topic import TopicPartition
from .admin import AdminManager, NewTopic
from .broker import Broker
from .controller import Controller
from .metadata import PartitionState
from .network import Network
from .replica_manager import ReplicaManager


class Cluster:
    """Brokers numbered from 0, which replicate to each other in real time, or in virtual time on a `ManualClock`.

    With the same seed on a `ManualClock` everything happens again exactly as before. Clients talk to a broker directly;
    only what brokers tell each other and the controller goes through the network. From any thread::

        clock = ManualClock()
        with Cluster(brokers=3, clock=clock) as cluster:
            cluster.create_topic("orders", partitions=3, replicas=3)
            request = cluster.leader("orders", 0).produce({("orders", 0): [b"one", b"two"]}, acks="all")
            print(request.result())

    `log` gets the events of every delayed request; it is the caller's to close. What fails inside goes to `on_error`.
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        name: str = "cluster",
        clock: Clock | None = None,
        network: Network | None = None,
        settings: Settings | None = None,
        log: OperationLog | None = None,
        on_error: OnError = log_error,
    ) -> None:
        if brokers < 1:
            raise ConfigError(f"brokers={brokers} is less than 1")
        self.name = name
        self.settings = settings or Settings()
        self.engine = Engine(clock, log, on_error, name)
        self.network = network or Network()
        self.network.attach(self.engine)
        with self.engine.turns:
            self.controller = Controller(self)
            self.admin = AdminManager(self)
            self.groups = GroupCoordinator(self.engine, self.settings)
            self.brokers = {broker: Broker(broker, self) for broker in range(brokers)}
            for broker in self.brokers.values():
                broker.start()
            self.controller.bootstrap()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        up = sum(broker.is_up for broker in self.brokers.values())
        return f"<Cluster of {len(self.brokers)} brokers, {up} up, {len(self.controller.partitions)} partitions>"

    def create_topic(self, name: str, partitions: int = 1, replicas: int | None = None, **config: Any) -> None:
        """Create a topic and wait until all know it; with virtual time, that moves the clock.

        Settings are Kafka's with underscores: `min_insync_replicas=2`.
        """
        settings = {setting.replace("_", "."): value for setting, value in config.items()}
        topic = NewTopic(name, partitions, len(self.brokers) if replicas is None else replicas, config=settings)
        result = self.admin.create_topics([topic]).result()[name]
        if result.error is not Error.NONE:
            raise ConfigError(f"topic {name!r}: {result.error.name}: {result.message or result.error.value}")

    def state(self, topic: str, partition: int) -> PartitionState:
        """Who leads and who is in sync, as the controller has it."""
        return self.controller.partitions[TopicPartition(topic, partition)]

    def leader(self, topic: str, partition: int) -> ReplicaManager:
        """The replicas of the broker that leads a partition, for its requests."""
        leader = self.state(topic, partition).leader
        if leader is None:
            raise LookupError(f"nobody leads {topic}-{partition}: none of {self.state(topic, partition).isr} is up")
        return self.brokers[leader].replicas

    def kill(self, broker: int) -> None:
        """Stop a broker without warning; its disk stays."""
        with self.engine.turns:
            self.brokers[broker].kill()

    def start(self, broker: int) -> None:
        """Start a broker again."""
        with self.engine.turns:
            self.brokers[broker].start()

    @property
    def waiting(self) -> dict[str, int]:
        """How many operations of each kind wait just now, where any does."""
        return {kind: count for kind, count in self.engine.waiting.items() if count}

    def stats(self) -> ClusterStats:
        """What waits just now, and what has expired so far; `sojourn.metrics` can scrape it."""
        with self.engine.turns:
            return self.engine.meters.stats(self.engine.waiting)

    def close(self) -> None:
        """Stop everything. Requests that wait end as cancelled. Idempotent."""
        with self.engine.turns:
            for broker in self.brokers.values():
                broker.kill()
            self.admin.close()
            self.groups.close()
        self.engine.close()
