"""How many requests have expired, for whom: Kafka's `ExpiresPerSec`, as counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from .topic import TopicPartition


class ClusterStats(NamedTuple):
    """A frozen snapshot."""

    waiting: Mapping[str, int]
    """Operations that wait just now, for each kind of which there has been one."""
    expired_produces: Mapping[TopicPartition, int]
    """Produce requests that expired, for each partition that was still pending then."""
    expired_fetches: Mapping[str, int]
    """Fetches that expired, by who fetches: "consumer" or "follower"."""
    expired_delete_records: int
    """Partitions whose records were not deleted everywhere in time."""


class Meters:
    """Counts up for as long as the cluster is there, whoever is killed meanwhile."""

    def __init__(self) -> None:
        self.expired_produces: Counter[TopicPartition] = Counter()
        self.expired_fetches: Counter[str] = Counter()
        self.expired_delete_records = 0

    def stats(self, waiting: Mapping[str, int]) -> ClusterStats:
        return ClusterStats(
            dict(waiting), dict(self.expired_produces), dict(self.expired_fetches), self.expired_delete_records
        )
