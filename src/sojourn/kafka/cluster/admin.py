"""Topics are created and deleted, and leaders elected, here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ...errors import ConfigError
from ..error import Error
from ..requests.delayed_topics import DelayedCreatePartitions, DelayedDeleteTopics, DelayedElectLeader, TopicResult
from ..topic import TopicConfig, TopicPartition, name_fault, topic_config
from .quota import MutationQuota

if TYPE_CHECKING:
    from .cluster import Cluster

METADATA = "metadata"
"""The one key that these requests watch: what a broker gets to know may concern any of them."""


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to be created: a number of partitions and replicas, or an `assignment` of brokers to each partition."""

    name: str
    partitions: int | None = None
    replicas: int | None = None
    assignment: Mapping[int, Sequence[int]] | None = None
    """For each partition the brokers that hold it, the preferred leader first."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Under Kafka's names, such as `min.insync.replicas`."""


class RefusedError(Exception):
    """A request that is refused, with what the client is told."""

    def __init__(self, error: Error, message: str = "", throttle_ms: int = 0) -> None:
        super().__init__(message)
        self.result = TopicResult(error, message, throttle_ms)


class AdminManager:
    """Checks what a broker would check, has the controller do it, and waits until all know."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._engine = cluster.engine
        self._controller = cluster.controller
        settings = cluster.settings
        self.purgatory = self._engine.purgatory("topic")
        self._quota = MutationQuota(settings.mutation_rate, settings.mutation_burst_s, self._engine.now_ms())
        self._placed = 0

    def create_topics(
        self, topics: Iterable[NewTopic], timeout_ms: int = 30_000, *, validate_only: bool = False
    ) -> DelayedCreatePartitions:
        """Create topics, independently: one that is refused does not keep the others from being created.

        As in Kafka, `timeout_ms <= 0` creates them and answers REQUEST_TIMED_OUT at once: the caller does not want to
        wait, and nobody knows of them yet. A name that is given twice in one request is refused.
        """
        with self._engine.turns:
            asked = list(topics)
            names = [topic.name for topic in asked]
            twice = {name for name in names if names.count(name) > 1}
            results = {topic.name: self._create(topic, topic.name in twice, validate_only) for topic in asked}
            if timeout_ms <= 0 and not validate_only:
                results = {name: _without_waiting(result) for name, result in results.items()}
            request = DelayedCreatePartitions(self._controller, timeout_ms, results)
            self._admit(request, bool(request.pending))
        return request

    def delete_topics(self, topics: Iterable[str], timeout_ms: int = 30_000) -> DelayedDeleteTopics:
        """Delete topics, independently; `timeout_ms <= 0` as in `create_topics`."""
        with self._engine.turns:
            results = {topic: self._delete(topic) for topic in topics}
            done = {name: len(self._controller.changes) for name, result in results.items() if result.error.is_ok}
            if timeout_ms <= 0:
                results, done = {name: _without_waiting(result) for name, result in results.items()}, {}
            request = DelayedDeleteTopics(self._controller, timeout_ms, done, results)
            self._admit(request, bool(done))
        return request

    def elect_leaders(
        self,
        partitions: Iterable[tuple[str, int]],
        election: Literal["preferred", "unclean"] = "preferred",
        timeout_ms: int = 30_000,
    ) -> DelayedElectLeader:
        """Let the preferred replicas lead; or, where nobody does, any live replica, though records may be lost so."""
        if election not in ("preferred", "unclean"):
            raise ConfigError(f'election={election!r} is not known; allowed are "preferred" and "unclean"')
        with self._engine.turns:
            results = {TopicPartition(*name): self._elect(TopicPartition(*name), election) for name in partitions}
            done = {name: len(self._controller.changes) for name, result in results.items() if result.error.is_ok}
            request = DelayedElectLeader(self._controller, timeout_ms, done, results)
            self._admit(request, bool(done))
        return request

    def progressed(self) -> None:
        """A broker knows more, or is no longer waited for."""
        self._engine.later(self.purgatory.check_and_complete, METADATA)

    def close(self) -> None:
        self.purgatory.close(cancel_pending=True)

    # Inside

    def _admit(self, request: Any, must_wait: bool) -> None:
        if must_wait:
            request.wait_in(self.purgatory, [METADATA], "controller")
        else:
            request.answer_now()

    def _create(self, topic: NewTopic, is_twice: bool, validate_only: bool) -> TopicResult:
        try:
            if is_twice:
                raise RefusedError(Error.INVALID_REQUEST, f"topic {topic.name!r} is named twice in one request")
            config = self._check(topic)
            assignment = self._assignment(topic)
            self._charge(len(assignment), is_free=validate_only)
            if not validate_only:
                self._controller.create_topic(topic.name, assignment, config)
                self._placed += len(assignment)
            return TopicResult(Error.NONE)
        except RefusedError as refused:
            return refused.result

    def _check(self, topic: NewTopic) -> TopicConfig:
        known = self._controller.topics
        if topic.name in known:
            raise RefusedError(Error.TOPIC_ALREADY_EXISTS, f"topic {topic.name!r} exists already")
        if fault := name_fault(topic.name, known):
            raise RefusedError(Error.INVALID_TOPIC_EXCEPTION, fault)
        try:
            return topic_config(topic.config)
        except ConfigError as error:
            raise RefusedError(Error.INVALID_CONFIG, str(error)) from None

    def _assignment(self, topic: NewTopic) -> Mapping[int, Sequence[int]]:
        if topic.assignment is not None:
            if topic.partitions is not None or topic.replicas is not None:
                raise RefusedError(
                    Error.INVALID_REQUEST, "an assignment says how many partitions and replicas there are; give either"
                )
            self._check_assignment(topic.assignment)
            return topic.assignment
        partitions = 1 if topic.partitions is None else topic.partitions
        replicas = 1 if topic.replicas is None else topic.replicas
        if partitions < 1:
            raise RefusedError(Error.INVALID_PARTITIONS, f"partitions={partitions} is less than 1")
        live = sorted(self._controller.live)
        if not 1 <= replicas <= len(live):
            message = f"replicas={replicas}, but there are {len(live)} live brokers"
            raise RefusedError(Error.INVALID_REPLICATION_FACTOR, message)
        return {
            partition: [live[(self._placed + partition + i) % len(live)] for i in range(replicas)]
            for partition in range(partitions)
        }

    def _check_assignment(self, assignment: Mapping[int, Sequence[int]]) -> None:
        if sorted(assignment) != list(range(len(assignment))) or not assignment:
            message = f"partitions {sorted(assignment)} are not numbered from 0 on"
            raise RefusedError(Error.INVALID_REPLICA_ASSIGNMENT, message)
        for partition, brokers in assignment.items():
            if len({len(brokers), len(set(brokers)), len(assignment[0])}) > 1 or not brokers:
                message = (
                    f"partition {partition}: brokers {list(brokers)} repeat, or are not as many as partition 0 has"
                )
                raise RefusedError(Error.INVALID_REPLICA_ASSIGNMENT, message)
            unknown = set(brokers) - set(self._cluster.brokers)
            if unknown or not self._controller.live.intersection(brokers):
                message = f"partition {partition}: of brokers {list(brokers)} some are unknown, or none is live"
                raise RefusedError(Error.INVALID_REPLICA_ASSIGNMENT, message)

    def _delete(self, topic: str) -> TopicResult:
        if topic not in self._controller.topics:
            return TopicResult(Error.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic!r}")
        try:
            self._charge(len(self._controller.partitions_of(topic)))
        except RefusedError as refused:
            return refused.result
        self._controller.delete_topic(topic)
        return TopicResult(Error.NONE)

    def _charge(self, partitions: int, *, is_free: bool = False) -> None:
        """Take the change out of the quota, or refuse it; what is only checked is not charged."""
        throttle_ms = self._quota.throttle_ms(self._engine.now_ms())
        if throttle_ms:
            message = f"too many partitions created or deleted; try again in {throttle_ms} ms"
            raise RefusedError(Error.THROTTLING_QUOTA_EXCEEDED, message, throttle_ms)
        if not is_free:
            self._quota.take(partitions)

    def _elect(self, partition: TopicPartition, election: str) -> TopicResult:
        state = self._controller.partitions.get(partition)
        if state is None:
            return TopicResult(Error.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {partition}")
        live = [replica for replica in state.replicas if replica in self._controller.live]
        preferred = state.replicas[0]
        if state.leader == preferred if election == "preferred" else state.leader is not None:
            return TopicResult(Error.ELECTION_NOT_NEEDED, f"{partition} is led by broker {state.leader}")
        if election == "unclean" and live:
            self._controller.elect(partition, live[0])
        elif election == "preferred" and preferred in live and preferred in state.isr:
            self._controller.elect(partition, preferred)
        else:
            is_unclean = election == "unclean"
            error = Error.ELIGIBLE_LEADERS_NOT_AVAILABLE if is_unclean else Error.PREFERRED_LEADER_NOT_AVAILABLE
            return TopicResult(error, f"{partition}: live are {live}, in sync {list(state.isr)}")
        return TopicResult(Error.NONE)


def _without_waiting(result: TopicResult) -> TopicResult:
    """The answer to a client that does not wait."""
    return TopicResult(Error.REQUEST_TIMED_OUT) if result.error.is_ok else result
