"""The controller: who is alive, who leads, who is in sync. It never fails; it is no model of a quorum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ...timer import TimerTask
from ..topic import TopicConfig, TopicPartition
from .broker import CONTROLLER
from .metadata import BrokerChange, Change, PartitionChange, PartitionState, TopicChange

if TYPE_CHECKING:
    from .cluster import Cluster


class Controller:
    """Decides, keeps every decision as a numbered change, and tells all brokers.

    Invariant: replicas in sync are live, except a last one: that stays, since it alone has all that was acknowledged.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.engine = cluster.engine
        self.changes: list[Change] = []
        self.topics: dict[str, TopicConfig] = {}
        self.partitions: dict[TopicPartition, PartitionState] = {}
        self.live: set[int] = set()
        self.known: dict[int, int] = {}
        """How many changes each broker knows, as far as it has said."""
        self._incarnations: dict[int, int] = {}
        self._sessions: dict[int, TimerTask] = {}

    def bootstrap(self) -> None:
        """The cluster begins with all brokers live, and all knowing it."""
        self.live.update(self._cluster.brokers)
        self.changes += [BrokerChange(broker, True) for broker in self._cluster.brokers]
        for broker, there in self._cluster.brokers.items():
            self._incarnations[broker], self.known[broker] = there.incarnation, len(self.changes)
            self._extend_session(broker)
            there.receive_metadata(there.incarnation, 0, self.changes)

    # What brokers send

    def receive_heartbeat(self, broker: int, incarnation: int, offset: int) -> None:
        """A broker is alive; one that was not, or is another incarnation, begins anew. Sends what it has missed."""
        if incarnation < self._incarnations.get(broker, 0):
            return  # sent before it died
        if incarnation > self._incarnations.get(broker, 0):
            self._incarnations[broker] = incarnation
            self._fence(broker)
        self._extend_session(broker)
        self.receive_offset(broker, incarnation, offset)
        if broker not in self.live:
            self._unfence(broker)
        elif offset < len(self.changes):
            self._send_changes(broker)

    def receive_offset(self, broker: int, incarnation: int, offset: int) -> None:
        """A broker says how many changes it knows."""
        if incarnation == self._incarnations[broker] and offset != self.known.get(broker):
            self.known[broker] = offset
            self._cluster.admin.progressed()

    def receive_proposal(self, broker: int, partition: TopicPartition, proposal: PartitionState) -> None:
        """A leader proposes another set of replicas in sync. If it leads and knows the latest state, that is decided.

        A proposal with a broker that is down is refused; but that too moves the partition's epoch. Otherwise a copy of
        the proposal, sent because this answer took long, might be granted when the leader no longer waits for it.
        """
        state = self.partitions.get(partition)
        if state is None or (state.leader, state.leader_epoch, state.partition_epoch) != (
            proposal.leader,
            proposal.leader_epoch,
            proposal.partition_epoch,
        ):
            return  # the news that it lacks is on its way
        isr = proposal.isr if self.live.issuperset(proposal.isr) else state.isr
        decided = state._replace(isr=isr, partition_epoch=state.partition_epoch + 1)
        self._change(partition, decided)
        self.publish()
        self._cluster.network.send(
            CONTROLLER, broker, self._cluster.brokers[broker].receive_decision, partition, decided
        )

    # What the admin manager asks for

    def create_topic(self, topic: str, assignment: Mapping[int, Sequence[int]], config: TopicConfig) -> None:
        """Create a topic that has been checked. Replicas that are down are not in sync."""
        self.topics[topic] = config
        self.changes.append(TopicChange(topic, config))
        for partition, replicas in assignment.items():
            isr = tuple(broker for broker in replicas if broker in self.live)
            state = PartitionState(tuple(replicas), isr, isr[0])
            self._change(TopicPartition(topic, partition), state)
        self.publish()

    def delete_topic(self, topic: str) -> None:
        del self.topics[topic]
        for partition in self.partitions_of(topic):
            del self.partitions[partition]
            self.changes.append(PartitionChange(partition, None))
        self.changes.append(TopicChange(topic, None))
        self.publish()

    def elect(self, partition: TopicPartition, leader: int, isr: tuple[int, ...] | None = None) -> None:
        """Let another broker lead, in a new epoch."""
        self._elect(partition, leader, self.partitions[partition].isr if isr is None else isr)
        self.publish()

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        return [partition for partition in self.partitions if partition.topic == topic]

    def is_known_everywhere(self, offset: int) -> bool:
        """Whether every live broker knows the first `offset` changes. The dead will when they are back."""
        return all(self.known.get(broker, 0) >= offset for broker in self.live)

    def publish(self) -> None:
        """Tell every live broker what it does not know. What gets lost is sent again upon its next heartbeat."""
        for broker in sorted(self.live):
            self._send_changes(broker)

    # Inside

    def _send_changes(self, broker: int) -> None:
        there, known = self._cluster.brokers[broker], self.known.get(broker, 0)
        incarnation, changes = self._incarnations[broker], self.changes[known:]
        self._cluster.network.send(CONTROLLER, broker, there.receive_metadata, incarnation, known, changes)

    def _extend_session(self, broker: int) -> None:
        session_ms = self._cluster.settings.session_ms
        session = self._sessions.get(broker)
        if session is None or not session.extend(session_ms):
            self._sessions[broker] = self.engine.schedule(session_ms, self._expire, broker)

    def _expire(self, broker: int) -> None:
        self._fence(broker)
        self.publish()
        self._cluster.admin.progressed()

    def _fence(self, broker: int) -> None:
        """A broker that has not been heard from, or has come back, leads nothing and is in sync nowhere."""
        if broker not in self.live:
            return
        self.live.discard(broker)
        self.changes.append(BrokerChange(broker, False))
        for partition, state in list(self.partitions.items()):
            if broker in state.isr:
                self._leave_isr(partition, state, broker)

    def _leave_isr(self, partition: TopicPartition, state: PartitionState, broker: int) -> None:
        isr = tuple(replica for replica in state.isr if replica != broker) or state.isr
        if state.leader != broker:
            self._change(partition, state._replace(isr=isr, partition_epoch=state.partition_epoch + 1))
        else:
            self._elect(partition, self._candidate(state.replicas, isr, self.topics[partition.topic]), isr)

    def _unfence(self, broker: int) -> None:
        self.live.add(broker)
        self.changes.append(BrokerChange(broker, True))
        for partition, state in list(self.partitions.items()):
            if state.leader is None and broker in state.replicas:
                leader = self._candidate(state.replicas, state.isr, self.topics[partition.topic])
                if leader is not None:
                    self._elect(partition, leader, state.isr)
        self.publish()

    def _candidate(self, replicas: Sequence[int], isr: Iterable[int], config: TopicConfig) -> int | None:
        """Who should lead: the first live one in sync; failing that, if the topic allows it, any live one."""
        live = [replica for replica in replicas if replica in self.live]
        in_sync = [replica for replica in live if replica in isr]
        return next(iter(in_sync or (live if config.unclean_election else [])), None)

    def _elect(self, partition: TopicPartition, leader: int | None, isr: tuple[int, ...]) -> None:
        state = self.partitions[partition]
        in_sync = isr if leader is None or leader in isr else (leader,)
        self._change(
            partition,
            PartitionState(state.replicas, in_sync, leader, state.leader_epoch + 1, state.partition_epoch + 1),
        )

    def _change(self, partition: TopicPartition, state: PartitionState) -> None:
        self.partitions[partition] = state
        self.changes.append(PartitionChange(partition, state))
