"""What members and administrators ask of the coordinator, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from ..error import Error


class GroupState(Enum):
    EMPTY = "no members"
    PREPARING_REBALANCE = "waits for its members to join"
    COMPLETING_REBALANCE = "waits for its leader's assignment"
    STABLE = "all have their assignment"
    DEAD = "there is no such group"


class JoinRequest(NamedTuple):
    """How a member joins."""

    member_id: str
    """Empty for one that is new, or has restarted."""
    instance_id: str | None
    protocols: dict[str, bytes]
    session_ms: int
    rebalance_ms: int


class JoinResponse(NamedTuple):
    """What a member gets to know when it has joined."""

    error: Error
    member_id: str = ""
    generation: int = -1
    protocol: str = ""
    leader: str = ""
    members: Mapping[str, bytes] = {}
    """For the leader, who assigns: all members, with the metadata of each for the protocol."""


class SyncResponse(NamedTuple):
    """A member's assignment."""

    error: Error
    assignment: bytes = b""


class MemberIdentity(NamedTuple):
    """A member, as somebody names it: by id, by group.instance.id, or by both."""

    member_id: str = ""
    instance_id: str | None = None


class MemberDescription(NamedTuple):
    """What an administrator gets to know of a member."""

    member_id: str
    instance_id: str | None = None
    metadata: bytes = b""
    """For the group's protocol, as given when it joined."""
    assignment: bytes = b""


class GroupDescription(NamedTuple):
    """What an administrator gets to know of a group. Protocol, metadata and assignments are told of stable groups."""

    error: Error
    state: GroupState
    generation: int = -1
    protocol: str = ""
    members: Sequence[MemberDescription] = ()
