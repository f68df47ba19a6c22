"""Create topics, delete topics, elect leaders: wait until every live broker knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..error import Error
from ..topic import TopicPartition
from .request import MultiPartRequest, Part

if TYPE_CHECKING:
    from ..cluster.controller import Controller


class TopicResult(NamedTuple):
    """What became of one topic, or of one election."""

    error: Error
    message: str = ""
    throttle_ms: int = 0
    """After how long to try again, where a quota is exceeded."""


class DelayedMetadataRequest(MultiPartRequest[Part, dict[Part, TopicResult]]):
    """A request that is done when every live broker knows its changes.

    `parts` gives for each part how many of the controller's changes a broker must know. Kafka's own looks into the
    metadata of the one broker that was asked; here all live brokers must know, so whoever gets the answer can go to any
    of them. A broker that dies meanwhile is no longer waited for.
    """

    def __init__(
        self, controller: Controller, timeout_ms: int, parts: Mapping[Part, int], results: dict[Part, TopicResult]
    ) -> None:
        super().__init__(controller.engine, timeout_ms, parts)
        self._controller = controller
        self._offsets = parts
        self._results = results

    def settle(self, part: Part) -> bool:
        return self._controller.is_known_everywhere(self._offsets[part])

    def respond(self) -> dict[Part, TopicResult]:
        error = Error.NETWORK_EXCEPTION if self.is_cancelled else Error.REQUEST_TIMED_OUT
        return self._results | dict.fromkeys(self.pending, TopicResult(error))


class DelayedDeleteTopics(DelayedMetadataRequest[str]):
    """Done when no live broker knows the topics any more."""

    kind = "delete-topics"


class DelayedElectLeader(DelayedMetadataRequest[TopicPartition]):
    """Done when every live broker knows who leads now."""

    kind = "elect-leaders"


class DelayedCreatePartitions(MultiPartRequest[TopicPartition, dict[str, TopicResult]]):
    """Done when every partition has a leader that every live broker knows. At the deadline topics with a
    partition that is not ready are answered REQUEST_TIMED_OUT; they have been created all the same.

    A partition that was ready stays so for this request. Kafka counts anew each time, so that a leader lost while
    another partition is waited for prolongs the wait; but the answer can be outdated by then in any case.
    """

    kind = "create-topics"

    def __init__(self, controller: Controller, timeout_ms: int, results: dict[str, TopicResult]) -> None:
        created = [topic for topic, result in results.items() if result.error.is_ok]
        partitions = [
            partition for topic in created for partition in controller.partitions_of(topic)
        ]  # none if they were only validated
        super().__init__(controller.engine, timeout_ms, partitions)
        self._controller = controller
        self._offset = len(controller.changes)
        self._results = results

    def settle(self, part: TopicPartition) -> bool:
        state = self._controller.partitions.get(part)
        if state is None:
            return True  # deleted meanwhile: nothing to wait for
        return state.leader is not None and self._controller.is_known_everywhere(self._offset)

    def respond(self) -> dict[str, TopicResult]:
        error = Error.NETWORK_EXCEPTION if self.is_cancelled else Error.REQUEST_TIMED_OUT
        return self._results | {part.topic: TopicResult(error) for part in self.pending}
