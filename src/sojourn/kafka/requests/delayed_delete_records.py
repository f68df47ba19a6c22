"""Delete records: waits until the records are gone from every live replica."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..error import Error
from ..topic import TopicPartition
from .request import MultiPartRequest

if TYPE_CHECKING:
    from ..cluster.replica_manager import ReplicaManager


class DeleteResult(NamedTuple):
    """What became of one partition."""

    error: Error
    low_watermark: int = -1
    """No live replica has a record before it."""


class DelayedDeleteRecords(MultiPartRequest[TopicPartition, dict[TopicPartition, DeleteResult]]):
    """Each partition is done once the low watermark has reached the offset asked for.

    A follower deletes when it hears of the leader's new start in a fetch, and the leader hears of that in the next one:
    two fetches, so it takes about a replica fetch wait where nothing is produced. A replica that is down is not
    waited for, as in Kafka: it deletes when it is back.
    """

    kind = "delete-records"

    def __init__(
        self,
        manager: ReplicaManager,
        timeout_ms: int,
        wanted: dict[TopicPartition, int],
        results: dict[TopicPartition, DeleteResult],
    ) -> None:
        super().__init__(manager.engine, timeout_ms, wanted)
        self._manager = manager
        self._wanted = wanted
        self._results = results

    def settle(self, part: TopicPartition) -> bool:
        result = self._manager.low_watermark(part)
        self._results[part] = result
        return not result.error.is_ok or result.low_watermark >= self._wanted[part]

    def on_expiration(self) -> None:
        with self.engine.turns:
            self.engine.meters.expired_delete_records += len(self.pending)

    def respond(self) -> dict[TopicPartition, DeleteResult]:
        error = Error.NETWORK_EXCEPTION if self.is_cancelled else Error.REQUEST_TIMED_OUT
        late = {part: DeleteResult(error, self._manager.low_watermark(part).low_watermark) for part in self.pending}
        return self._results | late
