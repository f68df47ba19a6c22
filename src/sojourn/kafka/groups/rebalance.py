"""How a group gets from one generation to the next: who has joined, who has synced, whose session has ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..engine import Engine
from ..error import Error
from ..requests.request import Reply
from ..settings import Settings
from .delayed_group import DelayedHeartbeat, DelayedJoin, DelayedSync, InitialDelayedJoin
from .group import Group, Member
from .messages import GroupState, JoinRequest, JoinResponse, SyncResponse

EMPTY = GroupState.EMPTY
PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE


class Rebalancer:
    """Moves groups on, for the coordinator and for the delayed operations. Whoever calls has checked the request, and
    is in a turn."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.engine = engine
        self.settings = settings
        self._rebalances = engine.purgatory("rebalance")
        self._heartbeats = engine.purgatory("heartbeat")
        self._named = 0

    def close(self) -> None:
        self._heartbeats.close(cancel_pending=True)
        self._rebalances.close(cancel_pending=True)

    # Joining

    def add(self, group: Group, request: JoinRequest, reply: Reply[JoinResponse]) -> None:
        """A new member joins."""
        member = Member(self._new_id(request.instance_id), request)
        group.has_newcomer |= group.generation == 0  # as in Kafka: a group that was emptied waits one delay only
        group.members[member.id] = member
        group.leader = group.leader or member.id
        self._join(group, member, reply)

    def rejoin(self, group: Group, member: Member, request: JoinRequest, reply: Reply[JoinResponse]) -> None:
        """A member that is in the group already. Where nothing has changed it is told how things stand, and, as in
        Kafka, keeps the timeouts it had.

        But the leader of a stable group, when it joins again, always wants a rebalance: its topics may have changed.
        """
        is_same = member.protocols == request.protocols
        is_told = is_same and (group.state is COMPLETING or (group.state is STABLE and member.id != group.leader))
        if is_told and member.joining is None:
            reply.answer(self._join_response(group, member))
        else:
            member.update(request)
            self._join(group, member, reply)

    def take_over(self, group: Group, former: Member, request: JoinRequest, reply: Reply[JoinResponse]) -> None:
        """A static member is back under a new id: the former one is fenced, whatever it waits for."""
        member = Member(self._new_id(request.instance_id), request)
        member.assignment, member.has_synced, member.is_new = former.assignment, former.has_synced, former.is_new
        is_leader = group.leader == former.id
        self._remove(group, former, Error.FENCED_INSTANCE_ID)
        group.members[member.id] = member
        group.leader = member.id if is_leader else group.leader
        if group.state is STABLE and member.protocols == former.protocols:
            self._start_session(group, member, member.session_ms)
            reply.answer(self._join_response(group, member)._replace(members={}))
        else:
            self._join(group, member, reply)

    def joined(self, group: Group) -> None:
        """The waiting is over: whoever has joined is the next generation.

        Members that have not joined are dropped, static ones excepted: these keep their place until their session ends.
        If only such are left, nobody could lead, and the group waits on.
        """
        missing = [member for member in group.members.values() if member.joining is None]
        for member in missing:
            if member.instance_id is None:
                self._remove(group, member)
        joined = [member.id for member in group.members.values() if member.joining is not None]
        if group.members and not joined:
            self._wait(group, DelayedJoin(self, group))
            return
        group.generation += 1
        if not joined:
            group.state, group.leader = EMPTY, ""
            return
        group.leader = group.leader if group.leader in joined else joined[0]
        group.protocol = group.choose_protocol()
        group.state = COMPLETING
        for member in group.members.values():
            self._enter_generation(group, member)
        self._wait(group, DelayedSync(self, group))

    def wait_for_arrivals(self, group: Group, remaining_ms: int) -> None:
        """Wait for members of a new group to arrive: the initial delay, or what is left of the rebalance timeout."""
        group.has_newcomer = False
        delay_ms = min(self.settings.group_initial_delay_ms, remaining_ms)
        self._wait(group, InitialDelayedJoin(self, group, delay_ms, remaining_ms - delay_ms))

    def _new_id(self, instance_id: str | None) -> str:
        self._named += 1
        return f"{instance_id or 'member'}-{self._named}"

    def _join(self, group: Group, member: Member, reply: Reply[JoinResponse]) -> None:
        if member.joining is not None:
            member.joining.answer(JoinResponse(Error.REBALANCE_IN_PROGRESS, member.id))  # it asked twice
        member.joining = reply
        if not member.is_new:
            self._stop_session(member)
        elif member.session is None:  # it cannot send heartbeats yet, and may be gone: it is not waited for very long
            self._start_session(group, member, self.settings.group_new_member_join_ms)
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
            self._wait(group, DelayedJoin(self, group))

    def _enter_generation(self, group: Group, member: Member) -> None:
        """Its session begins anew, also that of a static member that did not join."""
        member.has_synced, member.assignment, member.is_new = False, b"", False
        self._start_session(group, member, member.session_ms)
        if member.joining is not None:
            reply, member.joining = member.joining, None
            reply.answer(self._join_response(group, member))

    def _join_response(self, group: Group, member: Member) -> JoinResponse:
        is_leader = member.id == group.leader
        members = {m.id: m.protocols[group.protocol] for m in group.members.values()} if is_leader else {}
        return JoinResponse(Error.NONE, member.id, group.generation, group.protocol, group.leader, members)

    # Syncing

    def sync(self, group: Group, member: Member, assignments: Mapping[str, bytes], reply: Reply[SyncResponse]) -> None:
        """A member asks for its assignment; the leader brings everybody's."""
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
        self._start_session(group, member, member.session_ms)
        reply.answer(SyncResponse(error, member.assignment if error.is_ok else b""))

    # Sessions, and members that go

    def drop(self, group: Group, members: Iterable[str]) -> None:
        """Members have left, or are taken for dead: the others rebalance."""
        dropped = [group.members[member] for member in members if member in group.members]
        for member in dropped:
            self._remove(group, member)
        if not dropped:
            return
        if group.state is not PREPARING:
            self._prepare(group)
        self._check(group)

    def _start_session(self, group: Group, member: Member, timeout_ms: int) -> None:
        self._stop_session(member)
        member.session = DelayedHeartbeat(self, group, member, timeout_ms)
        member.session.wait_in(self._heartbeats, [member.id], member.id)

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

    def _wait(self, group: Group, operation: DelayedJoin | InitialDelayedJoin | DelayedSync) -> None:
        operation.wait_in(self._rebalances, [(operation.kind, group.name)], group.name)

    def _check(self, group: Group) -> None:
        for kind in (DelayedJoin.kind, DelayedSync.kind):
            self.engine.later(self._rebalances.check_and_complete, (kind, group.name))
