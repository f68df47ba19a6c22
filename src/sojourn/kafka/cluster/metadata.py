"""What the controller decides and every broker gets to know: topics, partitions, and who is alive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..topic import TopicConfig, TopicPartition


class PartitionState(NamedTuple):
    """A partition as the controller last decided."""

    replicas: tuple[int, ...]
    """The preferred leader first."""
    isr: tuple[int, ...]
    leader: int | None
    leader_epoch: int = 0
    """Grows with every election."""
    partition_epoch: int = 0
    """Grows with every change."""


class TopicChange(NamedTuple):
    topic: str
    config: TopicConfig | None
    """None: it has been deleted."""


class PartitionChange(NamedTuple):
    partition: TopicPartition
    state: PartitionState | None


class BrokerChange(NamedTuple):
    broker: int
    is_live: bool


Change = TopicChange | PartitionChange | BrokerChange


class Image:
    """What one broker knows: all changes up to `offset`, applied in order."""

    def __init__(self) -> None:
        self.offset = 0
        self.topics: dict[str, TopicConfig] = {}
        self.partitions: dict[TopicPartition, PartitionState] = {}
        self.live: set[int] = set()

    def apply(self, first: int, changes: Sequence[Change]) -> list[Change]:
        """Take in changes numbered from `first` on; return those that are news. After a gap, none is."""
        if first > self.offset:
            return []  # a message got lost: the next heartbeat brings what is missing
        news = list(changes[self.offset - first :])
        for change in news:
            self._apply(change)
        self.offset += len(news)
        return news

    def _apply(self, change: Change) -> None:
        match change:
            case TopicChange(topic, TopicConfig() as config):
                self.topics[topic] = config
            case TopicChange(topic):
                self.topics.pop(topic, None)
            case PartitionChange(partition, PartitionState() as state):
                self.partitions[partition] = state
            case PartitionChange(partition):
                self.partitions.pop(partition, None)
            case BrokerChange(broker, True):
                self.live.add(broker)
            case BrokerChange(broker, False):
                self.live.discard(broker)
