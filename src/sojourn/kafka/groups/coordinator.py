"""The group coordinator: members join, sync, heartbeat and leave; the rest is waiting.

Kafka's classic protocol. Not modelled: where the coordinator lives and what it stores, offsets, the handshake that
gives a member its id before it may join (KIP-394), and the newer protocol in which the broker assigns (KIP-848).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..engine import Engine
from ..error import Error
from ..requests.request import Reply
from ..settings import Settings
from .delayed_group import DelayedHeartbeat, DelayedJoin, DelayedSync, InitialDelayedJoin
from .group import Group, GroupState, JoinResponse, Member, SyncResponse

EMPTY, PREPARING, COMPLETING, STABLE = GroupState
CONSUMER = {"range": b""}


class GroupCoordinator:
    """All groups of the cluster. What a member gets at once is a value, what it has to wait for a `Reply`."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.engine = engine
        self.settings = settings
        self.groups: dict[str, Group] = {}
        self.rebalances = engine.purgatory("rebalance")
        self.heartbeats = engine.purgatory("heartbeat")
        self._named = 0

    # For members

    def join_group(
        self,
        group: str,
        member_id: str = "",
        *,
        instance_id: str | None = None,
        protocols: Mapping[str, bytes] = CONSUMER,
        session_ms: int = 10_000,
        rebalance_ms: int = 60_000,
    ) -> Reply[JoinResponse]:
        """Join, or join again: answered when the rebalance is over. A new member leaves `member_id` empty.

        A member with an `instance_id` (a static member) that comes back without its id, after a restart, takes over
        its former self's place. If the group is stable and it speaks as before, there is no rebalance.
        """
        reply: Reply[JoinResponse] = Reply(self.engine)
        with self.engine.turns:
            found = self.groups.get(group) or Group(group)
            error = self._join_fault(found, member_id, instance_id, protocols, session_ms)
            if not error.is_ok:
                reply.answer(JoinResponse(error, member_id))
                return reply
            self.groups[group] = found
            former = found.static_member(instance_id)
            if member_id:
                self._rejoin(found, found.members[member_id], dict(protocols), reply)
            elif former is not None:
                self._take_over(found, former, dict(protocols), reply)
            else:
                member = Member(self._new_id(instance_id), instance_id, session_ms, rebalance_ms)
                self._add(found, member, dict(protocols), reply)
        return reply

    def sync_group(
        self,
        group: str,
        generation: int,
        member_id: str,
        assignments: Mapping[str, bytes] | None = None,
        *,
        instance_id: str | None = None,
    ) -> Reply[SyncResponse]:
        """Ask for one's assignment; the leader brings everybody's, and all are answered then."""
        reply: Reply[SyncResponse] = Reply(self.engine)
        with self.engine.turns:
            found = self.groups.get(group)
            error = self._fault(found, member_id, generation, instance_id)
            if found is None or not error.is_ok:
                reply.answer(SyncResponse(error))
            elif found.state is PREPARING:
                reply.answer(SyncResponse(Error.REBALANCE_IN_PROGRESS))
            else:
                self._sync(found, found.members[member_id], assignments or {}, reply)
        return reply

    def heartbeat(self, group: str, generation: int, member_id: str, *, instance_id: str | None = None) -> Error:
        """A sign of life. REBALANCE_IN_PROGRESS counts as one, and asks the member to join again."""
        with self.engine.turns:
            found = self.groups.get(group)
            error = self._fault(found, member_id, generation, instance_id)
            if found is None or not error.is_ok:
                return error
            session = found.members[member_id].session
            if session is not None:
                session.beat()
            return Error.REBALANCE_IN_PROGRESS if found.state is PREPARING else Error.NONE

    def leave_group(self, group: str, member_id: str = "", *, instance_id: str | None = None) -> Error:
        """Leave. A static member is named by its `instance_id`: it is not meant to leave when it merely restarts."""
        with self.engine.turns:
            found = self.groups.get(group)
            static = None if found is None else found.static_member(instance_id)
            leaving = member_id or ("" if static is None else static.id)
            if found is None or leaving not in found.members:
                return Error.UNKNOWN_MEMBER_ID
            self.drop(found, [leaving])
            return Error.NONE

    def close(self) -> None:
        self.heartbeats.close(cancel_pending=True)
        self.rebalances.close(cancel_pending=True)

    # For the delayed operations

    def joined(self, group: Group) -> None:
        """The waiting is over: whoever has joined is the next generation.

        Members that have not joined are dropped, static ones excepted: these keep their place until their session ends.
        If only such are left, nobody could lead, and the group waits on.
        """
        missing = [member for member in group.members.values() if member.joining is None]
        for member in missing:
            if member.instance_id is None:
                self._remove(group, member)
        here = [member.id for member in group.members.values() if member.joining is not None]
        if group.members and not here:
            self._wait_in_rebalances(group, DelayedJoin(self, group))
            return
        group.generation += 1
        if not here:
            group.state, group.leader = EMPTY, ""
            return
        group.leader = group.leader if group.leader in here else here[0]
        group.protocol = group.choose_protocol()
        group.state = COMPLETING
        for member in group.members.values():
            member.has_synced, member.assignment = False, b""
            self._answer_join(group, member)
        self._wait_in_rebalances(group, DelayedSync(self, group))

    def wait_for_arrivals(self, group: Group, remaining_ms: int) -> None:
        """Wait for members of a new group to arrive: the initial delay, or what is left of the rebalance timeout."""
        group.has_newcomer = False
        delay_ms = min(self.settings.group_initial_delay_ms, remaining_ms)
        self._wait_in_rebalances(group, InitialDelayedJoin(self, group, delay_ms, remaining_ms - delay_ms))

    def drop(self, group: Group, members: Iterable[str]) -> None:
        """Members have left, or are taken for dead: the others rebalance."""
        found = [group.members[member] for member in members if member in group.members]
        for member in found:
            self._remove(group, member)
        if not found:
            return
        if group.state is not PREPARING:
            self._prepare(group)
        self._check(group)

    # Joining

    def _join_fault(
        self, group: Group, member_id: str, instance_id: str | None, protocols: Mapping[str, bytes], session_ms: int
    ) -> Error:
        if not group.name:
            return Error.INVALID_GROUP_ID
        if not self.settings.group_min_session_ms <= session_ms <= self.settings.group_max_session_ms:
            return Error.INVALID_SESSION_TIMEOUT
        static = group.static_member(instance_id)
        if member_id and static is not None and static.id != member_id:
            return Error.FENCED_INSTANCE_ID
        if member_id and member_id not in group.members:
            return Error.UNKNOWN_MEMBER_ID
        itself = member_id or ("" if static is None else static.id)
        return Error.NONE if group.speaks(protocols, but=itself) else Error.INCONSISTENT_GROUP_PROTOCOL

    def _new_id(self, instance_id: str | None) -> str:
        self._named += 1
        return f"{instance_id or 'member'}-{self._named}"

    def _add(self, group: Group, member: Member, protocols: dict[str, bytes], reply: Reply[JoinResponse]) -> None:
        group.has_newcomer |= group.generation == 0  # as in Kafka: a group that was emptied waits one delay only
        group.members[member.id] = member
        group.leader = group.leader or member.id
        self._joins(group, member, protocols, reply)

    def _rejoin(self, group: Group, member: Member, protocols: dict[str, bytes], reply: Reply[JoinResponse]) -> None:
        """A member that is in the group already. Where nothing has changed it is told how things stand.

        But the leader of a stable group, when it joins again, always wants a rebalance: its topics may have changed.
        """
        is_same = member.protocols == protocols
        is_told = is_same and (group.state is COMPLETING or (group.state is STABLE and member.id != group.leader))
        if is_told and member.joining is None:
            reply.answer(self._join_response(group, member))
        else:
            self._joins(group, member, protocols, reply)

    def _take_over(self, group: Group, former: Member, protocols: dict[str, bytes], reply: Reply[JoinResponse]) -> None:
        """A static member is back under a new id: the former one is fenced, whatever it waits for."""
        member = Member(self._new_id(former.instance_id), former.instance_id, former.session_ms, former.rebalance_ms)
        member.protocols, member.assignment, member.has_synced = former.protocols, former.assignment, former.has_synced
        leads = group.leader == former.id
        self._remove(group, former, Error.FENCED_INSTANCE_ID)
        group.members[member.id] = member
        group.leader = member.id if leads else group.leader
        if group.state is STABLE and protocols == member.protocols:
            self._start_session(group, member)
            reply.answer(self._join_response(group, member)._replace(members={}))
        else:
            self._joins(group, member, protocols, reply)

    def _joins(self, group: Group, member: Member, protocols: dict[str, bytes], reply: Reply[JoinResponse]) -> None:
        if member.joining is not None:
            member.joining.answer(JoinResponse(Error.REBALANCE_IN_PROGRESS, member.id))  # it asked twice
        member.protocols, member.joining = protocols, reply
        self._stop_session(member)
        if group.state is not PREPARING:
            self._prepare(group)
        self._check(group)

    def _prepare(self, group: Group) -> None:
        """Begin a rebalance. Those who wait for an assignment will not get it."""
        if not group.members:
            group.generation += 1
            group.state, group.leader = EMPTY, ""
            return
        was_empty = group.state is EMPTY
        group.state = PREPARING
        for member in group.members.values():
            if member.syncing is not None:
                self._answer_sync(group, member, Error.REBALANCE_IN_PROGRESS)
        if was_empty:
            self.wait_for_arrivals(group, group.rebalance_ms)
        else:
            self._wait_in_rebalances(group, DelayedJoin(self, group))

    def _answer_join(self, group: Group, member: Member) -> None:
        if member.joining is not None:
            reply, member.joining = member.joining, None
            self._start_session(group, member)
            reply.answer(self._join_response(group, member))

    def _join_response(self, group: Group, member: Member) -> JoinResponse:
        is_leader = member.id == group.leader
        members = {m.id: m.protocols[group.protocol] for m in group.members.values()} if is_leader else {}
        return JoinResponse(Error.NONE, member.id, group.generation, group.protocol, group.leader, members)

    # Syncing

    def _sync(self, group: Group, member: Member, assignments: Mapping[str, bytes], reply: Reply[SyncResponse]) -> None:
        member.has_synced = True
        if member.syncing is not None:
            self._answer_sync(group, member, Error.REBALANCE_IN_PROGRESS)  # it asked twice
        member.syncing = reply
        self._stop_session(member)
        if group.state is COMPLETING and member.id == group.leader:
            group.state = STABLE
            for each in group.members.values():
                each.assignment = assignments.get(each.id, b"")
        if group.state is STABLE:
            for each in group.members.values():
                if each.syncing is not None:
                    self._answer_sync(group, each, Error.NONE)
        self._check(group)

    def _answer_sync(self, group: Group, member: Member, error: Error) -> None:
        assert member.syncing is not None
        reply, member.syncing = member.syncing, None
        self._start_session(group, member)
        reply.answer(SyncResponse(error, member.assignment if error.is_ok else b""))

    # Sessions and members

    def _start_session(self, group: Group, member: Member) -> None:
        self._stop_session(member)
        member.session = DelayedHeartbeat(self, group, member)
        member.session.wait_in(self.heartbeats, [member.id], member.id)

    def _stop_session(self, member: Member) -> None:
        session, member.session = member.session, None
        if session is not None:
            session.cancel()

    def _remove(self, group: Group, member: Member, error: Error = Error.UNKNOWN_MEMBER_ID) -> None:
        """Take a member out; whatever it waits for is answered."""
        del group.members[member.id]
        self._stop_session(member)
        if member.joining is not None:
            reply, member.joining = member.joining, None
            reply.answer(JoinResponse(error, member.id))
        if member.syncing is not None:
            sync, member.syncing = member.syncing, None
            sync.answer(SyncResponse(error))
        if group.leader == member.id:
            group.leader = next(iter(group.members), "")

    def _fault(self, group: Group | None, member_id: str, generation: int, instance_id: str | None) -> Error:
        static = None if group is None else group.static_member(instance_id)
        if static is not None and static.id != member_id:
            return Error.FENCED_INSTANCE_ID
        if group is None or member_id not in group.members:
            return Error.UNKNOWN_MEMBER_ID
        return Error.NONE if generation == group.generation else Error.ILLEGAL_GENERATION

    def _wait_in_rebalances(self, group: Group, operation: DelayedJoin | InitialDelayedJoin | DelayedSync) -> None:
        operation.wait_in(self.rebalances, [(operation.kind, group.name)], group.name)

    def _check(self, group: Group) -> None:
        for kind in (DelayedJoin.kind, DelayedSync.kind):
            self.engine.later(self.rebalances.check_and_complete, (kind, group.name))
