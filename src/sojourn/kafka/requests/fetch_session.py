"""What a leader remembers of a follower's fetches, so that each costs what has changed and not what there is.

A follower of a thousand partitions does not name them all each time. It names those whose position is new; the leader
remembers the others, and answers with those of which there is news. (Kafka has done the same since KIP-227, but
goes through all of them on the leader, and watches each of them while it waits.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..topic import TopicPartition
from .fetch import FetchResult, Position

LONG_AGO = -(2**62)
"""A time before all others."""

Results = dict[TopicPartition, FetchResult]


class ReplicaFetch(NamedTuple):
    """What a follower sends."""

    follower: int
    fetcher: int
    """Which of its fetchers."""
    number: int
    """Comes back with the answer."""
    is_full: bool
    """It names all partitions, and the leader forgets what it knew before."""
    positions: Mapping[TopicPartition, Position]
    """Where it is in partitions that are new, or have been answered last time."""
    forgotten: tuple[TopicPartition, ...]
    """Partitions that it does not want any more."""


class FetchSession:
    """The partitions of one fetcher of one follower.

    Invariant: of a partition that is not in `changed` there is no news: its follower has all records, and knows the
    high watermark and the start of the log.
    """

    def __init__(self, follower: int, fetcher: int) -> None:
        self.follower = follower
        self.key = ("session", follower, fetcher)
        """What its fetches watch in the purgatory: one key, however many partitions."""
        self.fetched_ms = LONG_AGO
        self.positions: dict[TopicPartition, Position] = {}
        self.changed: dict[TopicPartition, None] = {}
        """Those to look at, the longest unanswered first."""

    def take(self, fetch: ReplicaFetch, now: int) -> None:
        """A fetch has come. What it names is to be looked at."""
        self.fetched_ms = now
        for partition in fetch.forgotten:
            self.positions.pop(partition, None)
            self.changed.pop(partition, None)
        for partition, position in fetch.positions.items():
            self.positions[partition] = position
            self.changed.pop(partition, None)  # to the end of the queue
            self.changed[partition] = None

    def mark(self, partition: TopicPartition) -> None:
        """There is news of the partition for the follower."""
        if partition in self.positions:
            self.changed.setdefault(partition)
