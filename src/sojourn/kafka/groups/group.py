"""A consumer group: its members, its state, and who speaks which protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from ..error import Error
from ..requests.request import Reply

if TYPE_CHECKING:
    from .delayed_group import DelayedHeartbeat


class GroupState(Enum):
    EMPTY = "no members"
    PREPARING_REBALANCE = "waits for its members to join"
    COMPLETING_REBALANCE = "waits for its leader's assignment"
    STABLE = "all have their assignment"


class JoinResponse(NamedTuple):
    """What a member gets to know when it has joined."""

    error: Error
    member_id: str = ""
    generation: int = -1
    protocol: str = ""
    leader: str = ""
    members: Mapping[str, bytes] = {}
    """For the leader, who assigns: all members, with what each said under the protocol."""


class SyncResponse(NamedTuple):
    """A member's assignment."""

    error: Error
    assignment: bytes = b""


class Member:
    """One member. It owes heartbeats, unless it waits for an answer of ours."""

    def __init__(self, member_id: str, instance_id: str | None, session_ms: int, rebalance_ms: int) -> None:
        self.id = member_id
        self.instance_id = instance_id
        self.session_ms = session_ms
        self.rebalance_ms = rebalance_ms
        self.protocols: dict[str, bytes] = {}
        self.assignment = b""
        self.joining: Reply[JoinResponse] | None = None
        self.syncing: Reply[SyncResponse] | None = None
        self.has_synced = False
        """In this generation."""
        self.session: DelayedHeartbeat | None = None

    @property
    def is_awaited(self) -> bool:
        """Whether it waits for us, and so owes no heartbeat."""
        return self.joining is not None or self.syncing is not None


class Group:
    """Members by id, in the order in which they came.

    Invariant: in every state but EMPTY there is a member, and `leader` is one.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = GroupState.EMPTY
        self.generation = 0
        self.protocol = ""
        self.leader = ""
        self.members: dict[str, Member] = {}
        self.has_newcomer = False
        """Somebody has come since the initial delay was last extended."""

    def __repr__(self) -> str:
        return f"<Group {self.name!r} generation {self.generation}, {len(self.members)} members, {self.state.name}>"

    @property
    def rebalance_ms(self) -> int:
        """How long to wait for members to join: as long as the most patient asks for."""
        return max((member.rebalance_ms for member in self.members.values()), default=0)

    def static_member(self, instance_id: str | None) -> Member | None:
        """The member that has this group.instance.id."""
        found = (member for member in self.members.values() if instance_id is not None)
        return next((member for member in found if member.instance_id == instance_id), None)

    def speaks(self, protocols: Mapping[str, bytes], but: str = "") -> bool:
        """Whether one of these protocols is spoken by all members; `but` one, who is about to change."""
        others = [member for member in self.members.values() if member.id != but]
        return bool(protocols) and (not others or any(all(p in o.protocols for o in others) for p in protocols))

    def choose_protocol(self) -> str:
        """Each member votes for the first of its protocols that all speak; the most votes win."""
        votes: Counter[str] = Counter()
        for member in self.members.values():
            votes[next(p for p in member.protocols if all(p in m.protocols for m in self.members.values()))] += 1
        return votes.most_common(1)[0][0]
