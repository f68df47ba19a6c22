"""One broker's copy of one partition, as leader or as follower."""

from __future__ import annotations

from ..error import Error
from ..log import EpochEnd, Log
from ..requests.fetch import FetchResult, Position
from ..topic import TopicPartition
from .leadership import Leadership
from .metadata import PartitionState


class Replica:
    """A log, the high watermark as far as it is known here, and the lead if this broker has it.

    Invariants: log start <= high watermark <= log end; everything before the high watermark is on all replicas in sync.
    """

    def __init__(self, partition: TopicPartition, broker: int) -> None:
        self.partition = partition
        self.broker = broker
        self.log = Log()
        self.high_watermark = 0
        self.leader_epoch = -1
        self.leader: int | None = None
        self.lead: Leadership | None = None

    def become(self, state: PartitionState, now: int) -> None:
        """Lead or follow, as the controller has decided. Its decisions come in order."""
        is_new_epoch = state.leader_epoch > self.leader_epoch
        self.leader_epoch, self.leader = state.leader_epoch, state.leader
        if state.leader != self.broker:
            self.lead = None
        elif is_new_epoch or self.lead is None:
            self.lead = Leadership(self.broker, state, self.log, now)
            self.log.begin_epoch(state.leader_epoch)
        else:
            self.lead.update(state)

    def step_down(self) -> None:
        """The broker has stopped: when it is back, it will be told what to do. Its log stays, as on disk."""
        self.leader, self.lead, self.leader_epoch = None, None, -1

    # As a leader

    def read_fault(self, position: Position) -> Error:
        """Why nothing can be read here from a position; NONE if something can, or could later.

        The epoch comes first, as in Kafka: whoever knows an old one must learn the new one, wherever the leader is.
        """
        if position.leader_epoch is not None and position.leader_epoch != self.leader_epoch:
            is_old = position.leader_epoch < self.leader_epoch
            return Error.FENCED_LEADER_EPOCH if is_old else Error.UNKNOWN_LEADER_EPOCH
        if self.lead is None:
            return Error.NOT_LEADER_OR_FOLLOWER
        if not self.log.start_offset <= position.offset <= self.log.end_offset and self.divergence(position) is None:
            return Error.OFFSET_OUT_OF_RANGE
        return Error.NONE

    def divergence(self, position: Position) -> EpochEnd | None:
        """Where the reader's log diverges from this one; None if it does not."""
        if position.last_epoch is None or position.offset < self.log.start_offset:
            return None
        if position.last_epoch == self.log.last_epoch and position.offset <= self.log.end_offset:
            return None  # nearly always
        end = self.log.end_of(position.last_epoch)
        if end is None or (end.epoch == position.last_epoch and end.offset >= position.offset):
            return None
        return end

    def readable_end(self, is_replica: bool) -> int:
        """Followers read to the end of the log, consumers to the high watermark."""
        return self.log.end_offset if is_replica else self.high_watermark

    def available(self, position: Position, is_replica: bool) -> int | None:
        """How many bytes wait at a position; None if its reader must be answered at once."""
        if not self.read_fault(position).is_ok or self.divergence(position) is not None:
            return None
        end = self.readable_end(is_replica)
        if position.offset > end:
            return None
        return min(self.log.bytes_between(position.offset, end), position.max_bytes)

    def has_nothing_for(self, position: Position) -> bool:
        """Whether a follower at this position has everything, and knows the high watermark and the start of the log."""
        return (
            position.offset == self.log.end_offset
            and position.high_watermark >= self.high_watermark
            and position.start_offset >= self.log.start_offset
        )

    def read(self, position: Position, is_replica: bool, max_bytes: int, *, at_least_one: bool) -> FetchResult:
        """What there is at a position."""
        result = FetchResult(
            self.read_fault(position),
            high_watermark=self.high_watermark,
            start_offset=self.log.start_offset,
            end_offset=self.log.end_offset,
        )
        if not result.error.is_ok:
            return result
        diverging = self.divergence(position)
        if diverging is not None:
            return result._replace(diverging=diverging)
        end = max(position.offset, self.readable_end(is_replica))
        room = min(max_bytes, position.max_bytes)
        return result._replace(records=self.log.read(position.offset, end, room, at_least_one=at_least_one))

    # As a follower

    def position(self, max_bytes: int) -> Position:
        """Where to fetch from next."""
        log = self.log
        return Position(
            log.end_offset, max_bytes, self.leader_epoch, log.last_epoch, log.start_offset, self.high_watermark
        )

    def follow(self, result: FetchResult) -> None:
        """Take in what the leader sent: records, or the news that our log diverges."""
        if result.diverging is not None:
            self._truncate(result.diverging)
        elif result.error is Error.OFFSET_OUT_OF_RANGE:
            self._start_over(result)
        else:
            self.log.append_records(result.records)
        self.high_watermark = max(
            self.log.start_offset, min(self.log.end_offset, max(self.high_watermark, result.high_watermark))
        )
        if self.log.start_offset < result.start_offset <= self.high_watermark:
            self.log.delete_before(result.start_offset)

    def _truncate(self, leader: EpochEnd) -> None:
        """Drop what the leader does not have: up to where both have the same epoch, or the nearest before it."""
        own = self.log.end_of(leader.epoch)
        if own is None:
            cut = leader.offset
        else:
            cut = own.offset if own.epoch != leader.epoch else min(own.offset, leader.offset)
        self.log.truncate_to(min(cut, self.log.end_offset))

    def _start_over(self, leader: FetchResult) -> None:
        if leader.end_offset < self.log.end_offset:
            self.log.truncate_to(leader.end_offset)
        elif self.log.end_offset < leader.start_offset:
            self.log.restart_at(leader.start_offset)
