"""The group coordinator: members join, sync, heartbeat and leave; the rest is waiting.

Kafka's classic protocol. Not modelled: where the coordinator lives and what it stores, offsets, the handshake that
gives a member its id before it may join (KIP-394), and the newer protocol in which the broker assigns (KIP-848).
"""

from __future__ import annotations

from collections.abc import Mapping

from ..engine import Engine
from ..error import Error
from ..requests.request import Reply
from ..settings import Settings
from .group import Group
from .messages import GroupState, JoinRequest, JoinResponse, SyncResponse
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
        its former self's place. If the group is stable and it speaks as before, there is no rebalance.

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
            session = group.members[member_id].session
            if session is not None:
                session.beat()
            is_rebalancing = group.state is GroupState.PREPARING_REBALANCE
            return Error.REBALANCE_IN_PROGRESS if is_rebalancing else Error.NONE

    def leave_group(self, group_id: str, member_id: str = "", *, instance_id: str | None = None) -> Error:
        """Leave. A static member may be named by its `instance_id` alone, as an administrator would: it is not meant
        to leave when it merely restarts."""
        with self.engine.turns:
            group = self.groups.get(group_id)
            if group is None:
                return Error.UNKNOWN_MEMBER_ID
            static = group.static_member(instance_id)
            leaving = member_id or ("" if static is None else static.id)
            error = group.member_fault(leaving, instance_id)
            if error.is_ok:
                self._rebalancer.drop(group, [leaving])
            return error

    def close(self) -> None:
        self._rebalancer.close()

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
        return Error.NONE if group.speaks(request.protocols, but=itself) else Error.INCONSISTENT_GROUP_PROTOCOL

    def _join(self, group: Group, request: JoinRequest, reply: Reply[JoinResponse]) -> None:
        former = group.static_member(request.instance_id)
        if request.member_id:
            self._rebalancer.rejoin(group, group.members[request.member_id], request, reply)
        elif former is not None:
            self._rebalancer.take_over(group, former, request, reply)
        else:
            self._rebalancer.add(group, request, reply)


def _fault(group: Group | None, member_id: str, generation: int, instance_id: str | None) -> Error:
    if group is None:
        return Error.UNKNOWN_MEMBER_ID
    fault = group.member_fault(member_id, instance_id)
    if not fault.is_ok:
        return fault
    return Error.NONE if generation == group.generation else Error.ILLEGAL_GENERATION
