"""A consumer's fetch with min bytes and max wait: a long poll."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..error import Error
from ..topic import TopicPartition
from .fetch import FetchResult, Position
from .request import DelayedRequest

if TYPE_CHECKING:
    from ..cluster.replica_manager import ReplicaManager


class DelayedFetch(DelayedRequest[dict[TopicPartition, FetchResult]]):
    """Waits until min bytes are there over all partitions together, each counted up to its own max bytes.

    It does not wait where waiting may not help: a partition that this broker does not lead or does not know, another
    leader epoch than the reader's, an offset that the log does not hold, logs that diverge, a reader that is ahead
    of what it may read (after a truncation, or a new leader that has yet to learn the high watermark). All partitions
    are answered then, with what there is. At the deadline too: nothing has gone wrong if there is too little.

    The log is read when the response is made, never before, so a fetch that waited sees what arrived meanwhile.
    """

    kind = "fetch"

    def __init__(
        self,
        manager: ReplicaManager,
        max_wait_ms: int,
        positions: Mapping[TopicPartition, Position],
        min_bytes: int,
        max_bytes: int,
    ) -> None:
        super().__init__(manager.engine, max_wait_ms)
        self._manager = manager
        self._positions = positions
        self._min_bytes = min_bytes
        self._max_bytes = max_bytes

    def try_complete(self) -> bool:
        with self.engine.turns:
            total = 0
            for partition, position in self._positions.items():
                replica = self._manager.replicas.get(partition)
                available = None if replica is None else replica.available(position, is_replica=False)
                if available is None:
                    self.report("interrupted", str(partition))
                    return True
                total += available
            self.report("available", None, total - self._min_bytes)
            return total >= self._min_bytes

    def on_expiration(self) -> None:
        with self.engine.turns:
            self.engine.meters.expired_fetches["consumer"] += 1

    def respond(self) -> dict[TopicPartition, FetchResult]:
        if self.is_cancelled:
            return dict.fromkeys(self._positions, FetchResult(Error.NETWORK_EXCEPTION))
        results, room = {}, self._max_bytes
        for partition, position in self._positions.items():
            is_first = room == self._max_bytes
            result = self._manager.read(partition, position, False, room, at_least_one=is_first)
            results[partition] = result
            room = max(0, room - sum(len(record.value) for record in result.records))
        return results
