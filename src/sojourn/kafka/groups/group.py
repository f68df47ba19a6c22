"""A consumer group: its members, its state, and who supports which protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..error import Error
from ..requests.request import Reply
from ..topic import TopicPartition
from .messages import GroupDescription, GroupState, JoinRequest, JoinResponse, MemberDescription, SyncResponse

if TYPE_CHECKING:
    from .delayed_group import DelayedHeartbeat


class Member:
    """One member. It owes heartbeats, unless it waits for an answer of ours."""

    def __init__(self, member_id: str, request: JoinRequest) -> None:
        self.id = member_id
        self.instance_id = request.instance_id
        self.update(request)
        self.assignment = b""
        self.joining: Reply[JoinResponse] | None = None
        self.syncing: Reply[SyncResponse] | None = None
        self.has_synced = False
        """In this generation."""
        self.is_new = True
        """It has not been in any generation: nobody can tell whether it still waits to be in one."""
        self.session: DelayedHeartbeat | None = None

    def update(self, request: JoinRequest) -> None:
        """It joins again, perhaps with other protocols and other timeouts."""
        self.protocols = request.protocols
        self.session_ms = request.session_ms
        self.rebalance_ms = request.rebalance_ms


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
        self.offsets: dict[TopicPartition, int] = {}
        """As committed: the next record to read."""
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
        if instance_id is None:
            return None
        return next((member for member in self.members.values() if member.instance_id == instance_id), None)

    def member_fault(self, member_id: str, instance_id: str | None) -> Error:
        """What is wrong with somebody who claims to be this member; NONE if nothing is.

        Whoever names an instance must be the member that has it now. A static member need not name its instance.
        """
        if instance_id is not None:
            static = self.static_member(instance_id)
            if static is None:
                return Error.UNKNOWN_MEMBER_ID
            if static.id != member_id:
                return Error.FENCED_INSTANCE_ID
        return Error.NONE if member_id in self.members else Error.UNKNOWN_MEMBER_ID

    def generation_fault(self, member_id: str, instance_id: str | None, generation: int) -> Error:
        """The same for somebody who claims to be this member in this generation."""
        fault = self.member_fault(member_id, instance_id)
        if fault.is_ok and generation != self.generation:
            return Error.ILLEGAL_GENERATION
        return fault

    def commit_fault(self, member_id: str, instance_id: str | None, generation: int) -> Error:
        """Why no offsets can be committed so. Who names no generation may commit while the group is empty."""
        if generation < 0 and self.state is GroupState.EMPTY:
            return Error.NONE
        fault = self.generation_fault(member_id, instance_id, generation)
        if fault.is_ok and self.state is GroupState.COMPLETING_REBALANCE:
            return Error.REBALANCE_IN_PROGRESS
        return fault

    def has_room_for(self, member: Member | None, max_size: int) -> bool:
        """Whether one that joins fits in; `member` is what it has been in the group so far.

        While a rebalance goes on those who have joined count, as in Kafka: whoever joins last is left out, new or not.
        """
        if self.state is GroupState.EMPTY:
            return True
        if self.state is GroupState.PREPARING_REBALANCE:
            joined = sum(other.joining is not None for other in self.members.values())
            return joined < max_size or (member is not None and member.joining is not None)
        return member is not None or len(self.members) < max_size

    def describe(self) -> GroupDescription:
        if self.state is not GroupState.STABLE:
            members = [MemberDescription(member.id, member.instance_id) for member in self.members.values()]
            return GroupDescription(Error.NONE, self.state, self.generation, "", members)
        members = [
            MemberDescription(member.id, member.instance_id, member.protocols[self.protocol], member.assignment)
            for member in self.members.values()
        ]
        return GroupDescription(Error.NONE, self.state, self.generation, self.protocol, members)

    def supports_any(self, protocols: Mapping[str, bytes], except_for: str = "") -> bool:
        """Whether all members support one of these protocols; `except_for` one, which is about to change its own."""
        others = [member for member in self.members.values() if member.id != except_for]
        return bool(protocols) and (not others or any(all(p in o.protocols for o in others) for p in protocols))

    def choose_protocol(self) -> str:
        """Each member votes for the first of its protocols that all support; the most votes win."""
        votes: Counter[str] = Counter()
        for member in self.members.values():
            votes[next(p for p in member.protocols if all(p in m.protocols for m in self.members.values()))] += 1
        return votes.most_common(1)[0][0]
