"""A broker's replicas, and the client requests that wait for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from ...errors import ConfigError
from ...purgatory import Purgatory
from ..engine import Engine
from ..error import BrokerDownError, Error
from ..requests.delayed_delete_records import DelayedDeleteRecords, DeleteResult
from ..requests.delayed_fetch import DelayedFetch
from ..requests.delayed_produce import DelayedProduce, ProduceResult
from ..requests.fetch import MAX_BYTES, FetchResult, Position
from ..settings import Settings
from ..topic import Name, TopicConfig, TopicPartition
from .metadata import Image, PartitionState
from .replica import Replica
from .replication import ProposeIsr, Replication

Acks = Literal[0, 1, -1, "all"]
"""-1 is Kafka's other name for "all"."""
HIGH_WATERMARK = -1
"""As an offset in `delete_records`: everything that is committed."""


class ReplicaManager:
    """Takes produce, fetch and delete-records requests for the partitions that this broker leads."""

    def __init__(self, broker: int, engine: Engine, settings: Settings, propose_isr: ProposeIsr) -> None:
        self.broker = broker
        self.engine = engine
        self.settings = settings
        self.image = Image()
        self.replicas: dict[TopicPartition, Replica] = {}
        self.replication = Replication(self, propose_isr)
        self._is_open = False

    def open(self) -> None:
        """Begin to serve, knowing nothing yet of who leads what."""
        self.image = Image()
        self.produces = self.engine.purgatory(f"produce-{self.broker}")
        self.fetches = self.engine.purgatory(f"fetch-{self.broker}")
        self.deletes = self.engine.purgatory(f"delete-records-{self.broker}")
        self._is_open = True

    def close(self) -> None:
        """Stop. Clients that wait are cut off: their requests end as cancelled."""
        self._is_open = False
        for purgatory in self.purgatories():
            purgatory.close(cancel_pending=True)
        self.replication.reset()
        for replica in self.replicas.values():
            replica.step_down()

    def purgatories(self) -> tuple[Purgatory, ...]:
        return self.produces, self.fetches, self.deletes

    # For clients

    def produce(
        self, records: Mapping[Name, Sequence[bytes]], acks: Acks = "all", timeout_ms: int = 30_000
    ) -> DelayedProduce:
        """Append records. acks=0 and 1 are answered when this broker has them, "all" (or -1) when all in sync do."""
        if acks not in (0, 1, -1, "all"):
            raise ConfigError(f'acks={acks!r} is not known; allowed are 0, 1 and "all", which may be written -1')
        acks = "all" if acks == -1 else acks
        with self.engine.turns:
            self._check_open()
            results = {
                TopicPartition(*name): self._append(TopicPartition(*name), values, acks)
                for name, values in records.items()
            }
            request = DelayedProduce(self, timeout_ms, results)
            if acks == "all" and request.pending:
                request.wait_in(self.produces, list(request.pending), self._name)
            else:
                request.answer_now()
        return request

    def fetch(
        self,
        positions: Mapping[Name, int | Position],
        min_bytes: int = 1,
        max_wait_ms: int = 500,
        max_bytes: int = 50 * MAX_BYTES,
    ) -> DelayedFetch:
        """Read from each position on, as a consumer, up to the high watermark.

        The first partition that has any gives one record however large, so that no reader is stuck before it.
        """
        with self.engine.turns:
            self._check_open()
            wanted = {
                TopicPartition(*name): Position(offset) if isinstance(offset, int) else offset
                for name, offset in positions.items()
            }
            request = DelayedFetch(self, max_wait_ms, wanted, min_bytes, max_bytes)
            if wanted and max_wait_ms > 0:
                request.wait_in(self.fetches, wanted, self._name)
            else:
                request.answer_now()
        return request

    def delete_records(self, offsets: Mapping[Name, int], timeout_ms: int = 30_000) -> DelayedDeleteRecords:
        """Delete what is before each offset; `HIGH_WATERMARK` (-1) deletes all that is committed."""
        with self.engine.turns:
            self._check_open()
            wanted: dict[TopicPartition, int] = {}
            results: dict[TopicPartition, DeleteResult] = {}
            for name, offset in offsets.items():
                partition = TopicPartition(*name)
                error, start = self._delete(partition, offset)
                results[partition] = DeleteResult(error)
                if error.is_ok:
                    wanted[partition] = start
            request = DelayedDeleteRecords(self, timeout_ms, wanted, results)
            if wanted:
                request.wait_in(self.deletes, list(wanted), self._name)
            else:
                request.answer_now()
        return request

    # For the delayed requests

    def acknowledged(self, partition: TopicPartition, end_offset: int) -> Error | None:
        """NONE if all in sync have the log up to `end_offset`, an error if this broker cannot tell, None if not yet."""
        replica = self.replicas.get(partition)
        if replica is None or replica.lead is None:
            return self.fault(partition)
        if replica.high_watermark < end_offset:
            return None
        is_enough = len(replica.lead.isr) >= self._config(partition).min_insync
        return Error.NONE if is_enough else Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    def read(
        self, partition: TopicPartition, position: Position, is_replica: bool, max_bytes: int, *, at_least_one: bool
    ) -> FetchResult:
        replica = self.replicas.get(partition)
        if replica is None:
            return FetchResult(self.fault(partition))
        return replica.read(position, is_replica, max_bytes, at_least_one=at_least_one)

    def low_watermark(self, partition: TopicPartition) -> DeleteResult:
        """The low watermark, if this broker leads the partition."""
        replica = self.replicas.get(partition)
        if replica is None or replica.lead is None:
            return DeleteResult(self.fault(partition))
        return DeleteResult(Error.NONE, replica.lead.low_watermark(replica.log.start_offset, self.image.live))

    def fault(self, partition: TopicPartition) -> Error:
        """Why a partition is not led here."""
        known = partition in self.image.partitions
        return Error.NOT_LEADER_OR_FOLLOWER if known else Error.UNKNOWN_TOPIC_OR_PARTITION

    # For the broker

    def become(self, partition: TopicPartition, state: PartitionState | None) -> Replica | None:
        """Lead or follow a partition as the controller has decided; return the replica, if there is one here."""
        replica = self.replicas.get(partition)
        lead, sessions = (None, []) if replica is None else (replica.lead, self.replication.sessions(replica))
        if state is None or self.broker not in state.replicas:
            self.replicas.pop(partition, None)
            replica = None
        else:
            replica = self.replicas.setdefault(partition, Replica(partition, self.broker))
            replica.become(state, self.engine.now_ms())
            self.replication.advance(replica)
            self.replication.expand(replica)
        if replica is None or replica.lead is not lead:
            self.replication.interrupt(partition, sessions)  # whoever followed the former lead must hear of it
        self.check(partition)
        return replica

    def led(self) -> Iterable[Replica]:
        return (replica for replica in self.replicas.values() if replica.lead is not None)

    def live_brokers_changed(self) -> None:
        """Brokers have come or gone: live ones may be in sync again, and low watermarks wait for these only."""
        for replica in self.led():
            self.replication.advance(replica)
            self.replication.expand(replica)
            self.engine.later(self.deletes.check_and_complete, replica.partition)

    def check(self, partition: TopicPartition) -> None:
        """Look at all requests that wait for the partition, at the end of the turn."""
        for purgatory in (self.fetches, self.produces, self.deletes):
            self.engine.later(purgatory.check_and_complete, partition)

    # Inside

    @property
    def _name(self) -> str:
        return f"broker-{self.broker}"

    def _check_open(self) -> None:
        if not self._is_open:
            raise BrokerDownError(f"broker {self.broker} is down; start({self.broker}) it, or ask another one")

    def _config(self, partition: TopicPartition) -> TopicConfig:
        return self.image.topics.get(partition.topic) or TopicConfig()

    def _append(self, partition: TopicPartition, values: Sequence[bytes], acks: Acks) -> ProduceResult:
        replica = self.replicas.get(partition)
        if replica is None or replica.lead is None:
            return ProduceResult(self.fault(partition))
        config = self._config(partition)
        if acks == "all" and len(replica.lead.isr) < config.min_insync:
            return ProduceResult(Error.NOT_ENOUGH_REPLICAS)
        if any(len(value) > config.max_message_bytes for value in values):
            return ProduceResult(Error.RECORD_TOO_LARGE)
        self.replication.before_append(replica)
        base = replica.log.append(values, replica.lead.epoch)
        self.replication.tell_followers(replica)
        self.replication.advance(replica)
        return ProduceResult(Error.NONE, -1 if acks == 0 else base, base + len(values))

    def _delete(self, partition: TopicPartition, offset: int) -> tuple[Error, int]:
        replica = self.replicas.get(partition)
        if replica is None or replica.lead is None:
            return self.fault(partition), offset
        start = replica.high_watermark if offset == HIGH_WATERMARK else offset
        if not 0 <= start <= replica.high_watermark:
            return Error.OFFSET_OUT_OF_RANGE, start
        if start > replica.log.start_offset:
            replica.log.delete_before(start)
            self.replication.tell_followers(replica)
            self.check(partition)
        return Error.NONE, start
