"""The leader's side of replication: what followers fetch, how far they are, and who is in sync."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from ..requests.delayed_replica_fetch import DelayedReplicaFetch
from ..requests.fetch_session import FetchSession, ReplicaFetch
from ..topic import TopicPartition
from .metadata import PartitionState
from .replica import Replica

if TYPE_CHECKING:
    from .replica_manager import ReplicaManager


class ProposeIsr(Protocol):
    """Sends the leader's proposal of another set of replicas in sync to the controller."""

    def __call__(self, partition: TopicPartition, proposal: PartitionState) -> object: ...


class Replication:
    """Serves the followers of what this broker leads, and moves the high watermarks."""

    def __init__(self, manager: ReplicaManager, propose_isr: ProposeIsr) -> None:
        self._manager = manager
        self._engine = manager.engine
        self._propose_isr = propose_isr
        self._sessions: dict[tuple[int, int], FetchSession] = {}

    def reset(self) -> None:
        """The broker has stopped: followers have to start new sessions."""
        self._sessions.clear()

    # For followers

    def fetch(self, fetch: ReplicaFetch) -> DelayedReplicaFetch | None:
        """A follower's fetch; None if it builds on one that is not known here, so that all must be named again.

        Fetches come in order, and one that got lost is followed by a full one: so there is never a gap between two.
        """
        name = (fetch.follower, fetch.fetcher)
        session = FetchSession(*name) if fetch.is_full else self._sessions.get(name)
        if session is None:
            return None
        self._sessions[name] = session
        session.take(fetch, self._engine.now_ms())
        for partition in list(session.changed):
            self._take_position(session, partition)
        request = DelayedReplicaFetch(self._manager, session)
        request.wait_in(self._manager.fetches, [session.key], f"broker-{fetch.follower}")
        return request

    # For the replica manager

    def before_append(self, replica: Replica) -> None:
        """Records are about to be appended: followers that have all until now had it when they last fetched."""
        assert replica.lead is not None
        for follower in replica.lead.followers.values():
            if follower.session is not None and follower.end_offset >= replica.log.end_offset:
                follower.caught_up_ms = max(follower.caught_up_ms, follower.session.fetched_ms)

    def tell_followers(self, replica: Replica) -> None:
        """There is something new for the followers, worth an answer at once."""
        assert replica.lead is not None
        self.interrupt(replica.partition, self.sessions(replica))

    def sessions(self, replica: Replica) -> list[FetchSession]:
        """Of the followers of a replica."""
        followers = replica.lead.followers.values() if replica.lead is not None else ()
        return [follower.session for follower in followers if follower.session is not None]

    def interrupt(self, partition: TopicPartition, sessions: Iterable[FetchSession]) -> None:
        """Have fetches look at a partition, at the end of the turn."""
        for session in sessions:
            session.mark(partition)
            self._engine.later(self._manager.fetches.check_and_complete, session.key)

    def advance(self, replica: Replica) -> None:
        """Move the high watermark as far as those in sync allow."""
        if replica.lead is None:
            return
        lag_ms, live = self._manager.settings.replica_lag_ms, self._manager.image.live
        reached = replica.lead.high_watermark(replica.log.end_offset, self._engine.now_ms(), lag_ms, live)
        if reached > replica.high_watermark:
            replica.high_watermark = reached
            for session in self.sessions(replica):
                session.mark(replica.partition)
            self._manager.check(replica.partition)

    # Who is in sync

    def expand(self, replica: Replica) -> None:
        """Propose followers that may be in sync."""
        lead = replica.lead
        if lead is None or lead.pending is not None or len(lead.isr) > len(lead.followers):
            return
        since_ms = self._engine.now_ms() - self._manager.settings.replica_lag_ms
        joining = {broker for broker in lead.followers if lead.can_join(broker, replica.high_watermark, since_ms)}
        joining &= self._manager.image.live
        if joining:
            self._ask(replica, lead.isr | joining)

    def shrink(self) -> None:
        """Propose to drop laggards from those in sync, and propose again what was not answered."""
        now, lag_ms = self._engine.now_ms(), self._manager.settings.replica_lag_ms
        for replica in self._manager.led():
            assert replica.lead is not None
            if replica.lead.pending is not None:
                self._ask(replica, replica.lead.pending)
            elif lagging := set(replica.lead.laggards(replica.log.end_offset, now, lag_ms)):
                self._ask(replica, replica.lead.isr - lagging)
            else:
                self.expand(replica)
            self.advance(replica)  # one that was about to be in sync may have been given up

    # Inside

    def _take_position(self, session: FetchSession, partition: TopicPartition) -> None:
        """Take in a follower's position, which says how far it is, and see whether there is news for it."""
        position = session.positions[partition]
        replica = self._manager.replicas.get(partition)
        if replica is None or replica.lead is None or session.follower not in replica.lead.followers:
            return
        if not replica.read_fault(position).is_ok or replica.divergence(position) is not None:
            return
        follower = replica.lead.followers[session.follower]
        is_news = (follower.end_offset, follower.start_offset) != (position.offset, position.start_offset)
        follower.fetched(position.offset, position.start_offset, session.fetched_ms, replica.log.end_offset)
        follower.session = session
        self.expand(replica)
        if is_news:
            self.advance(replica)
            self._engine.later(self._manager.deletes.check_and_complete, partition)
        if replica.has_nothing_for(position):
            del session.changed[partition]

    def _ask(self, replica: Replica, isr: frozenset[int]) -> None:
        lead = replica.lead
        assert lead is not None
        lead.pending = isr
        state = self._manager.image.partitions[replica.partition]
        proposal = PartitionState(
            state.replicas, tuple(sorted(isr)), self._manager.broker, lead.epoch, lead.partition_epoch
        )
        self._propose_isr(replica.partition, proposal)
