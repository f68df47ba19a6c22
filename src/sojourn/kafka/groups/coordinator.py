"""The group coordinator: members join, sync, heartbeat, commit offsets and leave; the rest is waiting.

Kafka's classic protocol. Not modelled: where the coordinator lives, how it stores offsets and when they expire, the
handshake that gives a member its id before it may join (KIP-394), and the newer protocol in which the broker assigns
(KIP-848).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ..engine import Engine
from ..error import Error
from ..requests.request import Reply
from ..settings import Settings
from ..topic import Name, TopicPartition
from .group import Group, Member
from .messages import GroupDescription, GroupState, JoinRequest, JoinResponse, MemberIdentity, SyncResponse
from .rebalance import Rebalancer

CONSUMER = {"range": b""}


class GroupCoordinator:
    """All groups of the cluster. What a member gets at once is a value, what it has to wait for a `Reply`."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.engine = engine
        self.settings = settings
        self.groups: dict[str, Group] = {}
        self._rebalancer = Rebalancer(engine, settings)

    def join_group(
        self,
        group_id: str,
        member_id: str = "",
        *,
        instance_id: str | None = None,
        protocols: Mapping[str, bytes] = CONSUMER,
        session_ms: int = 10_000,
        rebalance_ms: int = 60_000,
    ) -> Reply[JoinResponse]:
        """Join, or join again: answered when the rebalance is over. A new member leaves `member_id` empty.

        A member with an `instance_id` (a static member) that comes back without its id, after a restart, takes over
        its former place. If the group is stable and its protocols are the same as before, there is no rebalance.

        A new member that has waited for `group_new_member_join_ms` is answered UNKNOWN_MEMBER_ID, and may try again:
        nobody can tell whether it is still there.
        """
        reply: Reply[JoinResponse] = Reply(self.engine)
        request = JoinRequest(member_id, instance_id, dict(protocols), session_ms, rebalance_ms)
        with self.engine.turns:
            group = self.groups.get(group_id) or Group(group_id)
            error = self._join_fault(group, request)
            if error.is_ok:
                self.groups[group_id] = group
                self._join(group, request, reply)
            else:
                reply.answer(JoinResponse(error, member_id))
        return reply

    def sync_group(
        self,
        group_id: str,
        generation: int,
        member_id: str,
        assignments: Mapping[str, bytes] | None = None,
        *,
        instance_id: str | None = None,
    ) -> Reply[SyncResponse]:
        """Ask for one's assignment; the leader brings everybody's, and all are answered then."""
        reply: Reply[SyncResponse] = Reply(self.engine)
        with self.engine.turns:
            group = self.groups.get(group_id)
            error = _fault(group, member_id, generation, instance_id)
            if group is None or not error.is_ok:
                reply.answer(SyncResponse(error))
            elif group.state is GroupState.PREPARING_REBALANCE:
                reply.answer(SyncResponse(Error.REBALANCE_IN_PROGRESS))
            else:
                self._rebalancer.sync(group, group.members[member_id], assignments or {}, reply)
        return reply

    def heartbeat(self, group_id: str, generation: int, member_id: str, *, instance_id: str | None = None) -> Error:
        """A sign of life. REBALANCE_IN_PROGRESS counts as one, and asks the member to join again."""
        with self.engine.turns:
            group = self.groups.get(group_id)
            error = _fault(group, member_id, generation, instance_id)
            if group is None or not error.is_ok:
                return error
            self._keep_alive(group.members[member_id])
            is_rebalancing = group.state is GroupState.PREPARING_REBALANCE
            return Error.REBALANCE_IN_PROGRESS if is_rebalancing else Error.NONE

    def leave_group(self, group_id: str, member_id: str = "", *, instance_id: str | None = None) -> Error:
        """Leave. A static member may be named by its `instance_id` alone, as an administrator would: it is not meant
        to leave when it merely restarts."""
        return self.leave_members(group_id, [MemberIdentity(member_id, instance_id)])[0]

    def leave_members(self, group_id: str, members: Iterable[MemberIdentity]) -> list[Error]:
        """Have several leave at once, with one rebalance for those who stay: an error for each, in order."""
        with self.engine.turns:
            group = self.groups.get(group_id)
            return [Error.UNKNOWN_MEMBER_ID if group is None else self._leave(group, member) for member in members]

    # Offsets

    def commit_offsets(
        self,
        group_id: str,
        offsets: Mapping[Name, int],
        generation: int = -1,
        member_id: str = "",
        *,
        instance_id: str | None = None,
    ) -> Error:
        """Keep how far the group has read. From a member that is a sign of life, like a heartbeat.

        Who has no members but wants to keep its offsets here leaves `generation` and `member_id` out.
        """
        committed = {TopicPartition(*name): offset for name, offset in offsets.items()}
        for partition, offset in committed.items():
            if offset < 0:
                raise ValueError(f"offset {offset} of {partition} is negative; the first record has offset 0")
        with self.engine.turns:
            group = self.groups.get(group_id) or Group(group_id)
            if group_id not in self.groups and generation >= 0:
                return Error.ILLEGAL_GENERATION  # of a group that has been deleted
            error = group.commit_fault(member_id, instance_id, generation)
            if error.is_ok:
                self.groups[group_id] = group
                group.offsets.update(committed)
                self._keep_alive(group.members.get(member_id))
            return error

    def fetch_offsets(self, group_id: str, partitions: Iterable[Name] | None = None) -> dict[TopicPartition, int]:
        """What was committed, for all partitions or for these; those of which nothing is known are left out."""
        with self.engine.turns:
            group = self.groups.get(group_id)
            offsets = {} if group is None else dict(group.offsets)
        wanted = offsets if partitions is None else {TopicPartition(*name) for name in partitions}
        return {partition: offset for partition, offset in offsets.items() if partition in wanted}

    # For administrators

    def list_groups(self, states: Collection[GroupState] = tuple(GroupState)) -> dict[str, GroupState]:
        """The groups that are in one of these states, by name."""
        with self.engine.turns:
            return {name: group.state for name, group in self.groups.items() if group.state in states}

    def describe_group(self, group_id: str) -> GroupDescription:
        """Who is in a group, and how it stands."""
        with self.engine.turns:
            group = self.groups.get(group_id)
            if group is None:
                return GroupDescription(Error.GROUP_ID_NOT_FOUND, GroupState.DEAD)
            return group.describe()

    def delete_groups(self, group_ids: Iterable[str]) -> dict[str, Error]:
        """Forget groups that have no members, and their offsets."""
        with self.engine.turns:
            return {group_id: self._delete(group_id) for group_id in group_ids}

    def close(self) -> None:
        self._rebalancer.close()

    # Inside

    def _join_fault(self, group: Group, request: JoinRequest) -> Error:
        if not group.name:
            return Error.INVALID_GROUP_ID
        if not self.settings.group_min_session_ms <= request.session_ms <= self.settings.group_max_session_ms:
            return Error.INVALID_SESSION_TIMEOUT
        if request.member_id:
            fault = group.member_fault(request.member_id, request.instance_id)
            if not fault.is_ok:
                return fault
        static = group.static_member(request.instance_id)
        itself = request.member_id or ("" if static is None else static.id)
        is_supported = group.supports_any(request.protocols, except_for=itself)
        return Error.NONE if is_supported else Error.INCONSISTENT_GROUP_PROTOCOL

    def _join(self, group: Group, request: JoinRequest, reply: Reply[JoinResponse]) -> None:
        former = group.static_member(request.instance_id)
        member = group.members.get(request.member_id, former)
        if not group.has_room_for(member, self.settings.group_max_size):
            self._rebalancer.drop(group, [request.member_id])
            reply.answer(JoinResponse(Error.GROUP_MAX_SIZE_REACHED))
        elif member is None:
            self._rebalancer.add(group, request, reply)
        elif request.member_id:
            self._rebalancer.rejoin(group, member, request, reply)
        else:
            self._rebalancer.take_over(group, member, request, reply)

    def _leave(self, group: Group, leaving: MemberIdentity) -> Error:
        static = group.static_member(leaving.instance_id)
        member_id = leaving.member_id or ("" if static is None else static.id)
        error = group.member_fault(member_id, leaving.instance_id)
        if error.is_ok:
            self._rebalancer.drop(group, [member_id])
        return error

    def _keep_alive(self, member: Member | None) -> None:
        if member is not None and member.session is not None:
            member.session.beat()

    def _delete(self, group_id: str) -> Error:
        group = self.groups.get(group_id)
        if group is None:
            return Error.GROUP_ID_NOT_FOUND
        if group.state is not GroupState.EMPTY:
            return Error.NON_EMPTY_GROUP
        del self.groups[group_id]
        return Error.NONE


def _fault(group: Group | None, member_id: str, generation: int, instance_id: str | None) -> Error:
    return Error.UNKNOWN_MEMBER_ID if group is None else group.generation_fault(member_id, instance_id, generation)
