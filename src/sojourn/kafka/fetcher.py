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
        self._leader = leader
        self._ready_ms: dict[TopicPartition, int] = {}
        """When each partition may be fetched again."""
        self._number = 0
        """Of the latest fetch: an answer to an earlier one is ignored."""
        self._is_waiting = False
        self._alarm: TimerTask | None = None
        """The next time to try: the fetch at hand is lost by then, or a partition is ready again."""

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
            self._broker.send_fetch(self._leader, asked, self._answered, self._number)
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
        self._fetchers: dict[tuple[int, int], ReplicaFetcher] = {}
        self._assigned: dict[TopicPartition, tuple[int, int]] = {}

    def follow(self, partition: TopicPartition, leader: int | None) -> None:
        """Fetch a partition from that leader and from no other; from nobody, if None."""
        name = None if leader is None else (leader, partition.partition % self._broker.settings.replica_fetchers)
        if self._assigned.get(partition) == name:
            return
        if (former := self._assigned.pop(partition, None)) is not None:
            self._fetchers[former].remove(partition)
        if name is not None:
            self._assigned[partition] = name
            if name not in self._fetchers:
                self._fetchers[name] = ReplicaFetcher(self._broker, name[0])
            self._fetchers[name].add(partition)

    def stop(self) -> None:
        for fetcher in self._fetchers.values():
            fetcher.stop()
        self._fetchers.clear()
        self._assigned.clear()
