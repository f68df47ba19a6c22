"""How followers get their records: by fetching from the leader, over and over, through the network."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...timer import TimerTask
from ..error import Error
from ..requests.fetch import FetchResult, Position
from ..requests.fetch_session import ReplicaFetch, Results
from ..topic import TopicPartition

if TYPE_CHECKING:
    from .broker import Broker


class ReplicaFetcher:
    """One follower's fetches from one leader: at most one at a time, for all its partitions.

    Only positions that the leader does not know are named (see `requests.fetch_session`); after a fetch that got lost,
    all are.
    """

    def __init__(self, broker: Broker, leader: int, index: int) -> None:
        self._broker = broker
        self._engine = broker.engine
        self._settings = broker.settings
        self.leader = leader
        self._index = index
        self._positions: dict[TopicPartition, Position | None] = {}
        """The position of each partition as the leader knows it; None if it does not."""
        self._unsent: dict[TopicPartition, None] = {}
        self._backoff_until: dict[TopicPartition, int] = {}
        """Partitions not to be fetched for a while after an error, and until when."""
        self._forgotten: dict[TopicPartition, None] = {}
        self._number = 0
        self._is_full = True
        self._is_waiting = False
        self._alarm: TimerTask | None = None
        """The next time to try: the current fetch counts as lost by then, or the backoff of a partition is over."""

    def __len__(self) -> int:
        """How many partitions it fetches."""
        return len(self._positions) + len(self._backoff_until)

    def add(self, partition: TopicPartition) -> None:
        """Fetch this one too, from its current position, from the next fetch on."""
        known = self._positions.get(partition)
        if known is not None and known == self._position(partition):
            return
        self._backoff_until.pop(partition, None)
        self._forgotten.pop(partition, None)
        self._positions[partition] = None
        self._unsent[partition] = None
        if not self._is_waiting:
            self._fetch()

    def remove(self, partition: TopicPartition) -> None:
        """Fetch it no longer; what is on its way will be ignored."""
        self._backoff_until.pop(partition, None)
        self._drop(partition)

    def stop(self) -> None:
        self._positions.clear()
        self._number += 1
        self._set_alarm(None)

    def _fetch(self) -> None:
        now = self._engine.now_ms()
        for partition in [partition for partition, until_ms in self._backoff_until.items() if until_ms <= now]:
            del self._backoff_until[partition]
            self._positions[partition] = self._unsent[partition] = None
            self._forgotten.pop(partition, None)
        self._is_waiting = bool(self._positions)
        if self._positions:
            self._set_alarm(self._settings.replica_fetch_wait_ms + self._settings.replica_fetch_timeout_ms, self._lost)
            self._broker.send_fetch(self.leader, self._next_fetch(), self._answered)
        else:
            self._is_full = True
            self._set_alarm(min(self._backoff_until.values()) - now if self._backoff_until else None, self._fetch)

    def _next_fetch(self) -> ReplicaFetch:
        named = {p: self._position(p) for p in (self._positions if self._is_full else self._unsent)}
        self._positions.update(named)
        forgotten = () if self._is_full else tuple(self._forgotten)
        self._number += 1
        fetch = ReplicaFetch(self._broker.id, self._index, self._number, self._is_full, named, forgotten)
        self._unsent.clear()
        self._forgotten.clear()
        self._is_full = False
        return fetch

    def _lost(self) -> None:
        self._is_full = True
        self._fetch()

    def _answered(self, number: int, results: Results | None) -> None:
        """The leader's answer; None if it has no session for us."""
        if number != self._number:
            return
        if results is None:
            self._is_full = True
        for partition, result in (results or {}).items():
            if partition in self._positions:
                self._take(partition, result)
        self._fetch()

    def _take(self, partition: TopicPartition, result: FetchResult) -> None:
        """Take in what came for one partition. After an error it is not fetched for a while."""
        replica = self._broker.replicas.replicas[partition]
        asked = self._positions[partition]
        self._unsent[partition] = None
        if asked != self._position(partition):
            return  # its epoch or its log has changed since we asked
        if result.error.is_ok or result.error is Error.OFFSET_OUT_OF_RANGE:
            replica.follow(result)
        else:  # the news of another leader is on its way, to us or to the one we asked
            self._drop(partition)
            self._backoff_until[partition] = self._engine.now_ms() + self._settings.replica_fetch_backoff_ms

    def _position(self, partition: TopicPartition) -> Position:
        return self._broker.replicas.replicas[partition].position(self._settings.replica_fetch_max_bytes)

    def _drop(self, partition: TopicPartition) -> None:
        if partition in self._positions:
            del self._positions[partition]
            self._unsent.pop(partition, None)
            self._forgotten[partition] = None

    def _set_alarm(self, delay_ms: int | None, action: Callable[[], None] | None = None) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = None if delay_ms is None or action is None else self._engine.schedule(delay_ms, action)


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
            former.add(partition)  # perhaps in another epoch
            return
        if former is not None:
            former.remove(partition)
            del self._assigned[partition]
        if leader is not None:
            fetcher = self._assigned[partition] = self._least_loaded(leader)
            fetcher.add(partition)

    def stop(self) -> None:
        for fetchers in self._fetchers.values():
            for fetcher in fetchers:
                fetcher.stop()
        self._fetchers.clear()
        self._assigned.clear()

    def _least_loaded(self, leader: int) -> ReplicaFetcher:
        """Of the fetchers for a leader the one with the fewest partitions, so that all have about as many.

        Kafka goes by the partition's hash, which can leave a fetcher idle where leaders follow the partition's number.
        """
        if leader not in self._fetchers:
            count = self._broker.settings.replica_fetchers
            self._fetchers[leader] = [ReplicaFetcher(self._broker, leader, index) for index in range(count)]
        return min(self._fetchers[leader], key=len)
