"""What a broker answers when something went wrong: Kafka's own names, each with its meaning."""

from __future__ import annotations

from enum import Enum

from ..errors import SojournError


class Error(Enum):
    """The error of one partition, topic or member in a response."""

    NONE = "all is well"
    REQUEST_TIMED_OUT = "the deadline came first; what was asked for may still happen"
    NETWORK_EXCEPTION = "the broker went away before it answered"
    NOT_LEADER_OR_FOLLOWER = "this broker does not lead the partition; ask for the leader again"
    UNKNOWN_TOPIC_OR_PARTITION = "this broker knows no such partition"
    NOT_ENOUGH_REPLICAS = "fewer replicas are in sync than min.insync.replicas; nothing was appended"
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = "appended, but fewer replicas are in sync than min.insync.replicas"
    RECORD_TOO_LARGE = "a record is larger than max.message.bytes"
    OFFSET_OUT_OF_RANGE = "the log holds no such offset"
    FENCED_LEADER_EPOCH = "the request knows an older leader epoch than the broker"
    UNKNOWN_LEADER_EPOCH = "the request knows a newer leader epoch than the broker"

    TOPIC_ALREADY_EXISTS = "there is a topic of that name"
    INVALID_TOPIC_EXCEPTION = "no topic can have that name"
    INVALID_PARTITIONS = "a topic has at least one partition"
    INVALID_REPLICATION_FACTOR = "there are not so many brokers"
    INVALID_REPLICA_ASSIGNMENT = "the assignment names no possible set of brokers"
    INVALID_CONFIG = "the setting is unknown, or its value makes no sense"
    INVALID_REQUEST = "the request contradicts itself"
    THROTTLING_QUOTA_EXCEEDED = "too many changes; try again after throttle_ms"
    ELECTION_NOT_NEEDED = "the partition is led by that broker already"
    PREFERRED_LEADER_NOT_AVAILABLE = "the preferred leader is down or not in sync"
    ELIGIBLE_LEADERS_NOT_AVAILABLE = "no replica could lead"

    GROUP_ID_NOT_FOUND = "there is no such group"
    GROUP_MAX_SIZE_REACHED = "the group has as many members as group.max.size allows"
    NON_EMPTY_GROUP = "the group has members"
    INVALID_GROUP_ID = "a group needs a name"
    INVALID_SESSION_TIMEOUT = "the session timeout is out of bounds"
    UNKNOWN_MEMBER_ID = "the group has no such member"
    FENCED_INSTANCE_ID = "another member has taken over this group.instance.id"
    ILLEGAL_GENERATION = "the group is in another generation"
    INCONSISTENT_GROUP_PROTOCOL = "the member speaks no protocol that all others speak"
    REBALANCE_IN_PROGRESS = "the group is rebalancing; join again"

    @property
    def is_ok(self) -> bool:
        return self is Error.NONE


class BrokerDownError(SojournError, RuntimeError):
    """The broker is not running; a client would find no connection."""
