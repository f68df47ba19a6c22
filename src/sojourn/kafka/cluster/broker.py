"""A broker: replicas, fetchers, and its messages to and from the controller and the other brokers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...timer import TimerTask
from ..requests.fetch_session import ReplicaFetch, Results
from ..topic import TopicPartition
from .fetcher import Fetchers
from .metadata import BrokerChange, Change, PartitionChange, PartitionState
from .network import Network
from .replica_manager import ReplicaManager

if TYPE_CHECKING:
    from .cluster import Cluster

CONTROLLER = "controller"
Answered = Callable[[int, Results | None], object]


class Broker:
    """One of the cluster's brokers. `replicas` takes the requests of clients."""

    def __init__(self, broker_id: int, cluster: Cluster) -> None:
        self.id = broker_id
        self.engine = cluster.engine
        self.settings = cluster.settings
        self.is_up = False
        self.incarnation = 0
        self._cluster = cluster
        self.replicas = ReplicaManager(broker_id, self.engine, self.settings, self._propose_isr)
        self._fetchers = Fetchers(self)
        self._tasks: dict[str, TimerTask] = {}

    def __repr__(self) -> str:
        leads = sum(1 for _ in self.replicas.led())
        return f"<Broker {self.id} {'up' if self.is_up else 'down'}, leads {leads} of {len(self.replicas.replicas)}>"

    # What users do to it (through the cluster)

    def start(self) -> None:
        """Come up, with the log it had, and register as a new incarnation. Idempotent."""
        if self.is_up:
            return
        self.is_up = True
        self.incarnation += 1
        self.replicas.open()
        self._heartbeat()
        self._watch_isr()

    def kill(self) -> None:
        """Go down without a word to anybody. What is on the disk stays; clients that wait are cut off."""
        if not self.is_up:
            return
        self.is_up = False
        for task in self._tasks.values():
            task.cancel()
        self._fetchers.stop()
        self.replicas.close()

    # With the controller

    def receive_metadata(self, incarnation: int, first: int, changes: Sequence[Change]) -> None:
        """Changes that the controller has decided on; tells it how many we know.

        What was sent to an earlier incarnation is ignored: it may say that we lead where somebody else has led since.
        """
        if not self.is_up or incarnation != self.incarnation:
            return
        image = self.replicas.image
        news = image.apply(first, changes)
        for partition in dict.fromkeys(change.partition for change in news if isinstance(change, PartitionChange)):
            self._apply_state(partition, image.partitions.get(partition))
        if any(isinstance(change, BrokerChange) for change in news):
            self.replicas.live_brokers_changed()
        if news:
            self._to_controller(self._cluster.controller.receive_offset, self.id, incarnation, image.offset)

    def _apply_state(self, partition: TopicPartition, state: PartitionState | None) -> None:
        """Lead, follow or drop the partition, as the last of several changes says."""
        replica = self.replicas.become(partition, state)
        leads_or_gone = replica is None or replica.lead is not None
        self._fetchers.follow(partition, None if leads_or_gone or state is None else state.leader)

    def _heartbeat(self) -> None:
        self._to_controller(
            self._cluster.controller.receive_heartbeat, self.id, self.incarnation, self.replicas.image.offset
        )
        self._tasks["heartbeat"] = self.engine.schedule(self.settings.heartbeat_ms, self._heartbeat)

    def _watch_isr(self) -> None:
        self.replicas.replication.shrink()
        self._tasks["isr"] = self.engine.schedule(max(1, self.settings.replica_lag_ms // 2), self._watch_isr)

    def _propose_isr(self, partition: TopicPartition, proposal: PartitionState) -> None:
        self._to_controller(self._cluster.controller.receive_proposal, self.id, partition, proposal)

    def receive_decision(self, partition: TopicPartition, state: PartitionState) -> None:
        """The controller's answer to a proposal of ours: it comes sooner than other metadata."""
        replica = self.replicas.replicas.get(partition)
        if self.is_up and replica is not None and replica.leader_epoch == state.leader_epoch:
            self.replicas.become(partition, state)

    # With other brokers

    def send_fetch(self, leader: int, fetch: ReplicaFetch, answered: Answered) -> None:
        """Ask a leader for records; `answered(number, results)` is called if there is an answer."""
        self._network.send(self.id, leader, self._cluster.brokers[leader].receive_fetch, fetch, answered)

    def receive_fetch(self, fetch: ReplicaFetch, answered: Answered) -> None:
        """A follower's fetch; it is answered through the network, unless we go down before."""
        if not self.is_up:
            return
        request = self.replicas.replication.fetch(fetch)

        def answer(results: Results | None) -> None:
            if request is None or not request.is_cancelled:
                with self.engine.turns:
                    self._network.send(self.id, fetch.follower, answered, fetch.number, results)

        if request is None:
            answer(None)
        else:
            request.then(answer)

    @property
    def _network(self) -> Network:
        return self._cluster.network

    def _to_controller(self, deliver: Callable[..., object], *args: object) -> None:
        self._network.send(self.id, CONTROLLER, deliver, *args)
