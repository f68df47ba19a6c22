"""What a group waits for: its members to join, to sync, and to give a sign of life."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..requests.request import DelayedRequest, MultiPartRequest
from .group import Group, Member
from .messages import GroupState

if TYPE_CHECKING:
    from .rebalance import Rebalancer


class DelayedJoin(MultiPartRequest[str, None]):
    """A rebalance: waits until every member that there was when it began has joined again, or has left.

    Whoever is new has joined by coming. At the deadline, the longest rebalance timeout of the members, those missing
    are dropped and the others go on.
    """

    kind = "join"

    def __init__(self, rebalancer: Rebalancer, group: Group) -> None:
        super().__init__(rebalancer.engine, group.rebalance_ms, group.members)
        self._rebalancer = rebalancer
        self._group = group

    def settle(self, part: str) -> bool:
        member = self._group.members.get(part)
        return member is None or member.joining is not None

    def respond(self) -> None:
        if not self.is_cancelled:
            self._rebalancer.joined(self._group)


class InitialDelayedJoin(DelayedRequest[None]):
    """The first rebalance of a group that was empty: waits for members to arrive, and a bit longer as long as they do.

    As in Kafka nothing but time ends it. When it has waited its delay and somebody came meanwhile, another one takes
    over, until `remaining_ms` is used up: so all of them together never wait longer than the rebalance timeout.
    """

    kind = "initial-join"

    def __init__(self, rebalancer: Rebalancer, group: Group, delay_ms: int, remaining_ms: int) -> None:
        super().__init__(rebalancer.engine, delay_ms)
        self._rebalancer = rebalancer
        self._group = group
        self._remaining_ms = remaining_ms

    def respond(self) -> None:
        if self.is_cancelled:
            return
        if self._group.has_newcomer and self._remaining_ms > 0:
            self._rebalancer.wait_for_arrivals(self._group, self._remaining_ms)
        else:
            self._rebalancer.joined(self._group)


class DelayedSync(MultiPartRequest[str, None]):
    """Waits until every member of a generation has asked for its assignment; those who have not by the deadline are
    dropped, which begins the next rebalance."""

    kind = "sync"

    def __init__(self, rebalancer: Rebalancer, group: Group) -> None:
        super().__init__(rebalancer.engine, group.rebalance_ms, group.members)
        self._rebalancer = rebalancer
        self._group = group
        self._generation = group.generation

    def settle(self, part: str) -> bool:
        member = self._group.members.get(part)
        return member is None or member.has_synced or self._is_past

    @property
    def _is_past(self) -> bool:
        """Whether another rebalance has begun, so that nobody is to sync any more."""
        is_rebalancing = self._group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
        return is_rebalancing or self._group.generation != self._generation

    def respond(self) -> None:
        if self.outcome == "expired" and not self._is_past:
            self._rebalancer.drop(self._group, list(self.pending))


class DelayedHeartbeat(DelayedRequest[None]):
    """A member's session: if nothing was heard from the member for its session timeout, it is dropped.

    Kafka completes one of these at each heartbeat and makes the next; here the deadline of one is moved. A session is
    cancelled while the member waits for us (it cannot heartbeat then), and begins anew when it is answered. A member
    that is new waits within a session too: as in Kafka (KAFKA-7610), since it may be gone.
    """

    kind = "session"

    def __init__(self, rebalancer: Rebalancer, group: Group, member: Member, timeout_ms: int) -> None:
        super().__init__(rebalancer.engine, timeout_ms)
        self._rebalancer = rebalancer
        self._group = group
        self._member = member
        self._timeout_ms = timeout_ms

    def beat(self) -> None:
        """A sign of life: the time starts again."""
        if self.extend(self._timeout_ms):
            self.report("heartbeat", self._member.id)

    def respond(self) -> None:
        is_current = self._member.session is self  # another thread may have heard from the member since
        if self.outcome == "expired" and is_current:
            self._rebalancer.drop(self._group, [self._member.id])
