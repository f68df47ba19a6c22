"""Produce with acks=all: waits until every replica in sync has the records."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..error import Error
from ..topic import TopicPartition
from .request import MultiPartRequest

if TYPE_CHECKING:
    from ..cluster.replica_manager import ReplicaManager


class ProduceResult(NamedTuple):
    """What became of one partition's records."""

    error: Error
    base_offset: int = -1
    """The offset of the first; -1 if nothing was appended, or acks=0 did not ask."""
    end_offset: int = -1
    """The offset after the last, which the high watermark must reach."""


class DelayedProduce(MultiPartRequest[TopicPartition, dict[TopicPartition, ProduceResult]]):
    """Each partition is acknowledged once its high watermark has passed the records, or fails once this broker cannot
    know any more because it no longer leads. Those still pending at the deadline, and only those, are answered
    REQUEST_TIMED_OUT: their records stay in the log and may well be replicated later.

    As in Kafka the deadline does not look at the high watermark again, and min.insync.replicas is checked twice: before
    the append (NOT_ENOUGH_REPLICAS, nothing written) and again when the high watermark gets there
    (NOT_ENOUGH_REPLICAS_AFTER_APPEND: written, and by then on all that are in sync, but those are too few).
    """

    kind = "produce"

    def __init__(self, manager: ReplicaManager, timeout_ms: int, results: dict[TopicPartition, ProduceResult]) -> None:
        super().__init__(manager.engine, timeout_ms, (p for p, result in results.items() if result.error.is_ok))
        self._manager = manager
        self._results = results

    def settle(self, part: TopicPartition) -> bool:
        result = self._results[part]
        error = self._manager.acknowledged(part, result.end_offset)
        if error is None:
            return False
        self._results[part] = result._replace(error=error)
        return True

    def on_expiration(self) -> None:
        with self.engine.turns:
            self.engine.meters.expired_produces.update(self.pending.keys())

    def respond(self) -> dict[TopicPartition, ProduceResult]:
        error = Error.NETWORK_EXCEPTION if self.is_cancelled else Error.REQUEST_TIMED_OUT
        if self.key is not None:
            self._results |= {part: self._results[part]._replace(error=error) for part in self.pending}
        return self._results
