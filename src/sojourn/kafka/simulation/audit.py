"""What must hold in every run, whatever fails: checked while it goes on, and at its end.

* No record that was acknowledged to acks=all, or read by a consumer, is lost while one replica in sync survives.
* Every request is answered once, and not later than its timeout plus one tick.
* No high watermark is beyond the end of any replica in sync; consumers never read past it.
* The generations of a group strictly increase; what its members have committed is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ..cluster.cluster import Cluster
from ..cluster.metadata import PartitionState
from ..groups.group import Group
from ..groups.messages import JoinResponse
from ..log import Log, Record
from ..requests.delayed_produce import ProduceResult
from ..requests.fetch import FetchResult
from ..requests.request import DelayedRequest
from ..topic import TopicPartition

TICK_MS = 1


class BrokenPromiseError(AssertionError):
    """Something does not hold; the message says what, where and when."""


class Audit:
    """Keeps what clients were told, and holds the cluster to it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.answered: Counter[str] = Counter()
        """Requests answered, by kind."""
        self.acknowledged = 0
        self.consumed = 0
        self._promised: dict[TopicPartition, dict[int, bytes]] = {}
        self._open: dict[int, DelayedRequest[Any]] = {}
        self._generations: dict[Group, int] = {}
        """One that is deleted and made again is another group."""
        self._committed: dict[str, dict[TopicPartition, int]] = {}
        self._rosters: dict[tuple[str, int], set[str]] = {}

    # While it goes on

    def follow(self, request: DelayedRequest[Any]) -> None:
        """This request must be answered once, in time."""
        self._open[id(request)] = request
        request.then(partial(self._answered, request))

    def produced(self, values: Mapping[TopicPartition, Sequence[bytes]], results: Mapping[Any, ProduceResult]) -> None:
        """A producer with acks=all has its answer."""
        for partition, result in results.items():
            if result.error.is_ok:
                self.acknowledged += len(values[partition])
                for i, value in enumerate(values[partition]):
                    self._promise(partition, result.base_offset + i, value)

    def read(self, partition: TopicPartition, result: FetchResult) -> None:
        """A consumer has its answer: all of it must be on every replica in sync by now."""
        state = self._cluster.controller.partitions.get(partition)
        for record in result.records:
            self.consumed += 1
            if record.offset >= result.high_watermark:
                self._fail(f"{partition}: a consumer got {record}, past the high watermark {result.high_watermark}")
            self._promise(partition, record.offset, record.value)
            for broker in state.isr if state is not None else ():
                self._check_has(partition, broker, record)

    def joined(self, group: str, response: JoinResponse, after: int) -> None:
        """A member that was of generation `after` has joined again."""
        if response.generation < after:
            self._fail(f"group {group}: generation {response.generation} follows {after}")
        if response.members:
            roster = self._rosters.setdefault((group, response.generation), set(response.members))
            if roster != set(response.members):
                self._fail(f"group {group}: generation {response.generation} has two rosters")

    def committed(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """A member has committed offsets, and was told that they are kept."""
        self._committed.setdefault(group, {}).update(offsets)

    def check(self) -> None:
        """Look at everything there is just now."""
        with self._cluster.engine.turns:
            for partition, state in self._cluster.controller.partitions.items():
                self._check_watermarks(partition, state)
            for name, group in self._cluster.groups.groups.items():
                if group.generation < self._generations.get(group, 0):
                    self._fail(f"group {name}: generation {group.generation} after {self._generations[group]}")
                self._generations[group] = group.generation
            for request in self._open.values():
                if self._cluster.engine.now_ms() > request.opened_ms + request.delay_ms + TICK_MS:
                    self._fail(f"{request.key}: still unanswered after its timeout")

    # At the end

    def check_survivors(self) -> None:
        """All faults are over: what was promised must be in every leader's log, and in those in sync with it."""
        with self._cluster.engine.turns:
            for partition, state in self._cluster.controller.partitions.items():
                if state.leader is not None and self._cluster.brokers[state.leader].is_up:
                    self._check_leader(partition, state)
        for group, offsets in self._committed.items():
            if self._cluster.groups.fetch_offsets(group) != offsets:
                self._fail(f"group {group}: {offsets} were committed, {self._cluster.groups.fetch_offsets(group)} kept")

    def check_closed(self) -> None:
        """The cluster is closed: nothing waits, nothing is armed, everybody has an answer."""
        if self._open:
            self._fail(f"never answered: {[request.key or request.kind for request in self._open.values()]}")
        if self._cluster.waiting or self._cluster.engine.timer.size:
            self._fail(f"left behind: {self._cluster.waiting}, {self._cluster.engine.timer.size} in the timer")

    # Inside

    def _answered(self, request: DelayedRequest[Any], response: object) -> None:
        if self._open.pop(id(request), None) is None:
            self._fail(f"{request.key}: answered twice")
        assert request.ended_ms is not None
        self.answered[request.kind] += 1
        if request.ended_ms > request.opened_ms + request.delay_ms + TICK_MS:
            self._fail(f"{request.key}: opened at {request.opened_ms} for {request.delay_ms}, ended {request.ended_ms}")

    def _promise(self, partition: TopicPartition, offset: int, value: bytes) -> None:
        """Somebody was told that this record is safe."""
        known = self._promised.setdefault(partition, {}).setdefault(offset, value)
        if known != value:
            self._fail(f"{partition}: offset {offset} was {known!r} and is {value!r}")

    def _check_has(self, partition: TopicPartition, broker: int, record: Record) -> None:
        log = self._log(partition, broker)
        if record.offset >= log.start_offset and (record.offset >= log.end_offset or log[record.offset] != record):
            self._fail(f"{partition}: a consumer read {record}, which broker {broker} in sync does not have")

    def _check_watermarks(self, partition: TopicPartition, state: PartitionState) -> None:
        live = self._cluster.controller.live
        if len(state.isr) > 1 and not live.issuperset(state.isr):
            self._fail(f"{partition}: of {state.isr} in sync only {live} are live")
        slowest = min(self._log(partition, broker).end_offset for broker in state.isr)
        for broker in state.replicas:
            replica = self._cluster.brokers[broker].replicas.replicas.get(partition)
            if replica is None:
                continue
            if replica.high_watermark > slowest:
                watermark = f"high watermark {replica.high_watermark} of broker {broker}"
                self._fail(f"{partition}: {watermark} is beyond {slowest}, the slowest in sync: {state}")
            if not replica.log.start_offset <= replica.high_watermark <= replica.log.end_offset:
                self._fail(f"{partition}: broker {broker} has its high watermark outside its log")

    def _check_leader(self, partition: TopicPartition, state: PartitionState) -> None:
        assert state.leader is not None
        missing = self._cluster.controller.live.intersection(state.replicas).difference(state.isr)
        if missing:
            self._fail(f"{partition}: brokers {missing} are live but not in sync: {state}")
        log = self._log(partition, state.leader)
        for offset, value in self._promised.get(partition, {}).items():
            if offset >= log.start_offset and (offset >= log.end_offset or log[offset].value != value):
                self._fail(
                    f"{partition}: {value!r} at offset {offset} was promised and is not on leader {state.leader}"
                )
        high_watermark = self._cluster.brokers[state.leader].replicas.replicas[partition].high_watermark
        for broker in state.isr:
            other = self._log(partition, broker)
            for offset in range(max(log.start_offset, other.start_offset), high_watermark):
                if other[offset] != log[offset]:
                    self._fail(f"{partition}: brokers {state.leader} and {broker} differ at offset {offset}")

    def _log(self, partition: TopicPartition, broker: int) -> Log:
        replica = self._cluster.brokers[broker].replicas.replicas.get(partition)
        return Log() if replica is None else replica.log

    def _fail(self, message: str) -> None:
        raise BrokenPromiseError(f"at {self._cluster.engine.now_ms()} ms: {message}")
