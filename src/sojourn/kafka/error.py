"""What a broker answers when something went wrong: Kafka's own names, each with its meaning."""

from __future__ import annotations

from enum import Enum

from ..errors import SojournError


class Error(Enum):
    """The error of one partition, topic or member in a response."""

    NONE = "no error"
    REQUEST_TIMED_OUT = "the deadline came first; what was asked for may still happen"
    NETWORK_EXCEPTION = "the broker went away before it answered"
    NOT_LEADER_OR_FOLLOWER = "this broker does not lead the partition; ask for the leader again"
    UNKNOWN_TOPIC_OR_PARTITION = "this broker does not know the partition"
    NOT_ENOUGH_REPLICAS = "fewer replicas are in sync than min.insync.replicas; nothing was appended"
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = "appended, but fewer replicas are in sync than min.insync.replicas"
    RECORD_TOO_LARGE = "a record is larger than max.message.bytes"
    OFFSET_OUT_OF_RANGE = "the log holds no such offset"
    FENCED_LEADER_EPOCH = "the request knows an older leader epoch than the broker"
    UNKNOWN_LEADER_EPOCH = "the request knows a newer leader epoch than the broker"

    TOPIC_ALREADY_EXISTS = "a topic of that name exists"
    INVALID_TOPIC_EXCEPTION = "the topic name is invalid"
    INVALID_PARTITIONS = "a topic has at least one partition"
    INVALID_REPLICATION_FACTOR = "the replication factor is less than 1, or more than the live brokers"
    INVALID_REPLICA_ASSIGNMENT = "the assignment names brokers that are unknown, repeated or all down"
    INVALID_CONFIG = "the setting is unknown, or its value is invalid"
    INVALID_REQUEST = "the request contradicts itself"
    THROTTLING_QUOTA_EXCEEDED = "too many partitions were created or deleted; try again after throttle_ms"
    ELECTION_NOT_NEEDED = "the partition is led by that broker already"
    PREFERRED_LEADER_NOT_AVAILABLE = "the preferred leader is down or not in sync"
    ELIGIBLE_LEADERS_NOT_AVAILABLE = "no replica is live"

    GROUP_ID_NOT_FOUND = "there is no such group"
    GROUP_MAX_SIZE_REACHED = "the group has as many members as group.max.size allows"
    NON_EMPTY_GROUP = "the group has members"
    INVALID_GROUP_ID = "a group needs a name"
    INVALID_SESSION_TIMEOUT = "the session timeout is out of bounds"
    UNKNOWN_MEMBER_ID = "the group has no such member"
    FENCED_INSTANCE_ID = "another member has taken over this group.instance.id"
    ILLEGAL_GENERATION = "the group is in another generation"
    INCONSISTENT_GROUP_PROTOCOL = "the member supports no protocol that all other members support"
    REBALANCE_IN_PROGRESS = "the group is rebalancing; join again"

    @property
    def is_ok(self) -> bool:
        return self is Error.NONE


class BrokerDownError(SojournError, RuntimeError):
    """The broker is not running; a client would find no connection."""
