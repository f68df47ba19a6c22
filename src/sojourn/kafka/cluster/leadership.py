"""What only the leader of a partition knows: how far its followers are, and who is in sync."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..log import Log
from ..requests.fetch_session import LONG_AGO, FetchSession
from .metadata import PartitionState

UNKNOWN = -1
"""The end of a log about which the leader has heard nothing in this epoch."""


class Follower:
    """A follower as its leader sees it: through its fetches."""

    __slots__ = ("_fetched_ms", "_leader_end", "caught_up_ms", "end_offset", "session", "start_offset")

    def __init__(self, caught_up_ms: int) -> None:
        self.end_offset = self.start_offset = UNKNOWN
        self.caught_up_ms = caught_up_ms
        """When it last had all that the leader had at the time of some fetch; counts only while it is behind."""
        self.session: FetchSession | None = None
        self._fetched_ms = LONG_AGO
        self._leader_end = UNKNOWN

    def fetched(self, offset: int, start_offset: int, now: int, leader_end: int) -> None:
        """It asks for `offset`, so it has everything before.

        One that fetches all the leader had when it fetched before counts as caught up since that time: otherwise a
        follower would never catch up with a leader that is written to all the time.
        """
        if offset >= leader_end:
            self.caught_up_ms = now
        elif offset >= self._leader_end:
            self.caught_up_ms = max(self.caught_up_ms, self._fetched_ms)
        self.end_offset, self.start_offset = offset, start_offset
        self._fetched_ms, self._leader_end = now, leader_end


class Leadership:
    """One broker's lead of one partition, for one leader epoch.

    The controller decides who is in sync. While it has not answered a proposal (`pending`), the high watermark waits
    for the replicas of both sets: whatever the answer is, nothing was acknowledged without a replica that counts.
    """

    def __init__(self, me: int, state: PartitionState, log: Log, now: int) -> None:
        self.epoch = state.leader_epoch
        self.epoch_start = log.end_offset
        self.followers = {
            replica: Follower(now if replica in state.isr else LONG_AGO) for replica in state.replicas if replica != me
        }
        self.isr: frozenset[int] = frozenset(state.isr)
        self.partition_epoch = state.partition_epoch
        self.pending: frozenset[int] | None = None
        """The set of replicas in sync that the controller has been asked for."""

    def update(self, state: PartitionState) -> None:
        """The controller has decided, on our proposal or by itself."""
        if state.partition_epoch > self.partition_epoch:
            self.isr, self.partition_epoch, self.pending = frozenset(state.isr), state.partition_epoch, None

    @property
    def awaited(self) -> frozenset[int]:
        """The replicas that the high watermark must wait for."""
        return self.isr if self.pending is None else self.isr | self.pending

    def high_watermark(self, end_offset: int, now: int, lag_ms: int, live: Collection[int]) -> int:
        """The offset that everybody in sync has reached.

        As in Kafka a live follower that is not lagging is waited for even before it is in sync, as it is about to be.
        Kafka since 3.7 also stops here while there are fewer in sync than min.insync.replicas; before that, and here,
        the high watermark goes on and the producer is told NOT_ENOUGH_REPLICAS_AFTER_APPEND.
        """
        reached, awaited = end_offset, self.awaited
        for broker, follower in self.followers.items():
            if follower.end_offset < reached and (
                broker in awaited or (broker in live and now - follower.caught_up_ms <= lag_ms)
            ):
                reached = follower.end_offset
        return reached

    def low_watermark(self, start_offset: int, live: Collection[int]) -> int:
        """The offset before which no live replica has any record. One that is down is not waited for."""
        starts = [follower.start_offset for broker, follower in self.followers.items() if broker in live]
        return min([start_offset, *starts])

    def can_join(self, broker: int, high_watermark: int, since_ms: int) -> bool:
        """Whether a follower may be in sync: it has all that is committed and the start of this epoch, and has fetched
        since `since_ms`."""
        follower = self.followers[broker]
        fetched_ms = LONG_AGO if follower.session is None else follower.session.fetched_ms
        return (
            broker not in self.isr
            and fetched_ms >= since_ms
            and follower.end_offset >= max(high_watermark, self.epoch_start)
        )

    def laggards(self, end_offset: int, now: int, lag_ms: int) -> Iterable[int]:
        """Those in sync that have not caught up for too long."""
        return (
            broker
            for broker, follower in self.followers.items()
            if broker in self.isr and follower.end_offset != end_offset and now - follower.caught_up_ms > lag_ms
        )
