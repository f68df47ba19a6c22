"""How followers get their records: by fetching from the leader, over and over, through the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..timer import TimerTask
from .error import Error
from .fetch import FetchResult, Position
from .topic import TopicPartition

if TYPE_CHECKING:
    from .broker import Broker

Asked = dict[TopicPartition, Position]
Answer = dict[TopicPartition, FetchResult]


class ReplicaFetcher:
    """One follower's fetches from one leader: at most one at a time, for all its partitions that are ready."""

    def __init__(self, broker: Broker, leader: int) -> None:
        self._broker = broker
        self._engine = broker.engine
        self._settings = broker.settings
        self.leader = leader
        self._ready_ms: dict[TopicPartition, int] = {}
        """When each partition may be fetched again."""
        self._number = 0
        """Of the latest fetch: an answer to an earlier one is ignored."""
        self._is_waiting = False
        self._alarm: TimerTask | None = None
        """The next time to try: the fetch at hand is lost by then, or a partition is ready again."""

    def __len__(self) -> int:
        """How many partitions it fetches."""
        return len(self._ready_ms)

    def add(self, partition: TopicPartition) -> None:
        """Fetch this one too, from the next fetch on."""
        self._ready_ms[partition] = 0
        if not self._is_waiting:
            self._fetch()

    def remove(self, partition: TopicPartition) -> None:
        """Fetch it no longer; what is on its way will be ignored."""
        self._ready_ms.pop(partition, None)

    def stop(self) -> None:
        self._ready_ms.clear()
        self._number += 1
        self._set_alarm(None)

    def _fetch(self) -> None:
        now = self._engine.now_ms()
        replicas = self._broker.replicas.replicas
        max_bytes = self._settings.replica_fetch_max_bytes
        asked = {p: replicas[p].position(max_bytes) for p, ready_ms in self._ready_ms.items() if ready_ms <= now}
        self._number += 1
        self._is_waiting = bool(asked)
        if asked:
            self._set_alarm(self._settings.replica_fetch_wait_ms + self._settings.replica_fetch_timeout_ms)
            self._broker.send_fetch(self.leader, asked, self._answered, self._number)
        else:
            self._set_alarm(min(self._ready_ms.values()) - now if self._ready_ms else None)

    def _answered(self, number: int, asked: Asked, answer: Answer) -> None:
        if number != self._number:
            return
        for partition, result in answer.items():
            if partition in self._ready_ms and not self._take(partition, asked[partition], result):
                self._ready_ms[partition] = self._engine.now_ms() + self._settings.replica_fetch_backoff_ms
        self._fetch()

    def _take(self, partition: TopicPartition, position: Position, result: FetchResult) -> bool:
        """Take in what came for one partition; False if it had better be left alone for a while."""
        replica = self._broker.replicas.replicas[partition]
        if position != replica.position(position.max_bytes):
            return True  # asked as something else than we are now
        if not result.error.is_ok and result.error is not Error.OFFSET_OUT_OF_RANGE:
            return False  # the news of another leader is on its way, to us or to the one we asked
        replica.follow(result)
        return True

    def _set_alarm(self, delay_ms: int | None) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = None if delay_ms is None else self._engine.schedule(delay_ms, self._fetch)


class Fetchers:
    """All fetchers of a broker: `replica_fetchers` for each leader, sharing out the partitions."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._fetchers: dict[int, list[ReplicaFetcher]] = {}
        self._assigned: dict[TopicPartition, ReplicaFetcher] = {}

    def follow(self, partition: TopicPartition, leader: int | None) -> None:
        """Fetch a partition from that leader and from no other; from nobody, if None."""
        former = self._assigned.get(partition)
        if former is not None and former.leader == leader:
            return
        if former is not None:
            former.remove(partition)
            del self._assigned[partition]
        if leader is not None:
            fetcher = self._assigned[partition] = self._idlest(leader)
            fetcher.add(partition)

    def stop(self) -> None:
        for fetchers in self._fetchers.values():
            for fetcher in fetchers:
                fetcher.stop()
        self._fetchers.clear()
        self._assigned.clear()

    def _idlest(self, leader: int) -> ReplicaFetcher:
        """Of the fetchers for a leader the one with the fewest partitions, so that all have about as many.

        Kafka goes by the partition's hash, which can leave a fetcher idle where leaders follow the partition's number.
        """
        if leader not in self._fetchers:
            count = self._broker.settings.replica_fetchers
            self._fetchers[leader] = [ReplicaFetcher(self._broker, leader) for _ in range(count)]
        return min(self._fetchers[leader], key=len)
