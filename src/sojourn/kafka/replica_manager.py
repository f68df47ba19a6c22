"""A broker's replicas, and the client requests that wait for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol, TypeVar

from ..errors import ConfigError
from ..purgatory import Purgatory
from .delayed_delete_records import DelayedDeleteRecords, DeleteResult
from .delayed_fetch import DelayedFetch, DelayedReplicaFetch
from .delayed_produce import DelayedProduce, ProduceResult
from .engine import Engine
from .error import BrokerDownError, Error
from .fetch import MAX_BYTES, FetchResult, Position
from .metadata import Image, PartitionState
from .replica import Replica
from .settings import Settings
from .topic import TopicConfig, TopicPartition

Acks = Literal[0, 1, "all"]
Name = TypeVar("Name", bound=tuple[str, int])
"""Of a partition: a `TopicPartition`, or a plain pair."""
HIGH_WATERMARK = -1
"""As an offset in `delete_records`: everything that is committed."""


class AskForIsr(Protocol):
    """Sends the leader's wish for another set of replicas in sync to the controller."""

    def __call__(self, partition: TopicPartition, wish: PartitionState) -> object: ...


class ReplicaManager:
    """Takes produce, fetch and delete-records requests for the partitions that this broker leads."""

    def __init__(self, broker: int, engine: Engine, settings: Settings, ask_for_isr: AskForIsr) -> None:
        self.broker = broker
        self.engine = engine
        self.settings = settings
        self.image = Image()
        self.replicas: dict[TopicPartition, Replica] = {}
        self._ask_for_isr = ask_for_isr
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
        for replica in self.replicas.values():
            replica.step_down()

    def purgatories(self) -> tuple[Purgatory, ...]:
        return self.produces, self.fetches, self.deletes

    # For clients

    def produce(
        self, records: Mapping[Name, Sequence[bytes]], acks: Acks = "all", timeout_ms: int = 30_000
    ) -> DelayedProduce:
        """Append records. acks=0 and 1 are answered when this broker has them, acks="all" when all in sync do."""
        if acks not in (0, 1, "all"):
            raise ConfigError(f'acks={acks!r} is not known; allowed are 0, 1 and "all"')
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
        *,
        replica: int | None = None,
    ) -> DelayedFetch:
        """Read from each position on; `replica` is the follower that asks, None for a consumer.

        The first partition that has any gives one record however large, so that no reader is stuck before it.
        """
        with self.engine.turns:
            self._check_open()
            places = {
                TopicPartition(*name): Position(at) if isinstance(at, int) else at for name, at in positions.items()
            }
            is_replica = replica is not None
            kind = DelayedReplicaFetch if is_replica else DelayedFetch
            request = kind(self, max_wait_ms, places, min_bytes, max_bytes, is_replica=is_replica)
            if replica is not None:
                self._heard_of(replica, places)
            if places and max_wait_ms > 0:
                request.wait_in(self.fetches, places, self._name if replica is None else f"broker-{replica}")
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
        """NONE if all in sync have the log up to `end_offset`, an error if we shall not know, None if not yet."""
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
        """Take the part in a partition that the controller has decided on; the replica, if there is one here."""
        if state is None or self.broker not in state.replicas:
            self.replicas.pop(partition, None)
            self.check(partition)
            return None
        replica = self.replicas.setdefault(partition, Replica(partition, self.broker))
        replica.become(state, self.engine.now_ms())
        self._advance(replica)
        self.check(partition)
        return replica

    def led(self) -> Iterable[Replica]:
        return (replica for replica in self.replicas.values() if replica.lead is not None)

    def shrink(self) -> None:
        """Ask for laggards to be out of sync, and once more for what was not answered."""
        now, lag_ms = self.engine.now_ms(), self.settings.replica_lag_ms
        for replica in self.led():
            assert replica.lead is not None
            if replica.lead.pending is not None:
                self._ask(replica, replica.lead.pending)
            elif lagging := set(replica.lead.laggards(replica.log.end_offset, now, lag_ms)):
                self._ask(replica, replica.lead.isr - lagging)
            self._advance(replica)  # one that was about to be in sync may have been given up

    def mind_the_dead(self) -> None:
        """Others live now: low watermarks do not wait for the dead, nor do high ones if they were not in sync."""
        for replica in self.led():
            self._advance(replica)
            self.engine.later(self.deletes.check_and_complete, replica.partition)

    def isr_decided(self, partition: TopicPartition, epoch: int, error: Error, state: PartitionState | None) -> None:
        """The controller's answer to a wish.

        After an error the wish stays pending until the controller's own state arrives, because one sent before this one
        may have been granted. Only a wish that was refused for its content is dropped.
        """
        replica = self.replicas.get(partition)
        if replica is None or replica.lead is None or replica.lead.epoch != epoch:
            return
        if state is not None:
            self.become(partition, state)
        elif error is Error.INELIGIBLE_REPLICA:
            replica.lead.pending = None
            self._advance(replica)

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
        base = replica.log.append(values, replica.lead.epoch)
        self.engine.later(self.fetches.check_and_complete, partition)
        self._advance(replica)
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
            self.check(partition)
        return Error.NONE, start

    def _heard_of(self, follower: int, positions: Mapping[TopicPartition, Position]) -> None:
        """A follower fetches, which tells how far it is."""
        now = self.engine.now_ms()
        for partition, position in positions.items():
            replica = self.replicas.get(partition)
            if replica is None or replica.lead is None or follower not in replica.lead.followers:
                continue
            if not replica.read_fault(position).is_ok or replica.divergence(position) is not None:
                continue
            known = replica.lead.followers[follower]
            is_news = (known.end_offset, known.start_offset) != (position.offset, position.start_offset)
            known.fetched(position.offset, position.start_offset, now, replica.log.end_offset)
            self._expand(replica, follower)
            if is_news:
                self._advance(replica)
                self.engine.later(self.deletes.check_and_complete, partition)

    def _expand(self, replica: Replica, follower: int) -> None:
        lead = replica.lead
        assert lead is not None
        if lead.pending is None and lead.can_join(follower, replica.high_watermark, self.image.live):
            self._ask(replica, lead.isr | {follower})

    def _ask(self, replica: Replica, isr: frozenset[int]) -> None:
        lead = replica.lead
        assert lead is not None
        lead.pending = isr
        state = self.image.partitions[replica.partition]
        wish = PartitionState(state.replicas, tuple(sorted(isr)), self.broker, lead.epoch, lead.partition_epoch)
        self._ask_for_isr(replica.partition, wish)

    def _advance(self, replica: Replica) -> None:
        """Move the high watermark as far as those in sync allow."""
        if replica.lead is None:
            return
        end = replica.log.end_offset
        reached = replica.lead.high_watermark(end, self.engine.now_ms(), self.settings.replica_lag_ms, self.image.live)
        if reached > replica.high_watermark:
            replica.high_watermark = reached
            self.check(replica.partition)
