"""The fetch of a follower: a long poll for whatever its leader has that it has not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .fetch_session import FetchSession, Results
from .request import DelayedRequest

if TYPE_CHECKING:
    from ..cluster.replica_manager import ReplicaManager


class DelayedReplicaFetch(DelayedRequest[Results]):
    """Waits like a consumer's fetch, but reads to the end of the log, and looks only at partitions that have changed.

    A high watermark that has moved is told with the next answer, but is no reason to answer: as in Kafka, a follower
    may learn of it up to a fetch wait later.
    """

    kind = "replica-fetch"

    def __init__(self, manager: ReplicaManager, session: FetchSession) -> None:
        settings = manager.settings
        super().__init__(manager.engine, settings.replica_fetch_wait_ms)
        self._manager = manager
        self._session = session
        self._min_bytes = settings.replica_fetch_min_bytes
        self._max_bytes = settings.replica_fetch_max_bytes

    def try_complete(self) -> bool:
        with self.engine.turns:
            total = 0
            for partition in self._session.changed:
                replica = self._manager.replicas.get(partition)
                position = self._session.positions[partition]
                available = None if replica is None else replica.available(position, is_replica=True)
                if available is None:
                    self.report("interrupted", str(partition))
                    return True
                total += available
            self.report("available", None, total - self._min_bytes)
            return total >= self._min_bytes

    def on_expiration(self) -> None:
        with self.engine.turns:
            self.engine.meters.expired_fetches["follower"] += 1

    def respond(self) -> Results:
        """What has changed, as far as it fits; the rest comes first next time."""
        results: Results = {}
        room = self._max_bytes
        for partition in self._session.changed:
            if room <= 0 or self.is_cancelled:
                break
            position = self._session.positions[partition]
            is_first = room == self._max_bytes
            result = self._manager.read(partition, position, True, room, at_least_one=is_first)
            results[partition] = result
            room -= sum(len(record.value) for record in result.records)
        return results
