"""A cluster in virtual time for tests; when a test is over, nothing may be left behind and the law must agree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sojourn.kafka import (
    RULES,
    Cluster,
    DelayedFetch,
    DelayedProduce,
    Error,
    MemoryLog,
    Network,
    NewTopic,
    Position,
    Settings,
    TopicPartition,
)
from sojourn.kafka.requests.request import DelayedRequest
from sojourn.kafka.simulation.audit import Audit
from sojourn.rules import Event
from sojourn.rules.law import outcomes
from sojourn.testing import ManualClock

ENDS = ("completed", "expired", "cancelled")


class Scene:
    """Three brokers a millisecond apart, with settings that make things happen soon."""

    def __init__(self, brokers: int = 3, **settings: Any) -> None:
        self.clock = ManualClock()
        self.log = MemoryLog()
        self.errors: list[BaseException] = []
        self.network = Network(latency_ms=(1, 1))
        quick = {
            "replica_lag_ms": 1_000,
            "replica_fetch_wait_ms": 100,
            "replica_fetch_backoff_ms": 50,
            "replica_fetch_timeout_ms": 200,
            "heartbeat_ms": 200,
            "session_ms": 900,
            "group_initial_delay_ms": 300,
            "group_min_session_ms": 100,
        }
        self.cluster = Cluster(
            brokers,
            clock=self.clock,
            network=self.network,
            settings=Settings(**(quick | settings)),
            log=self.log,
            on_error=self.errors.append,
        )
        self.audit = Audit(self.cluster)
        self.admin, self.groups = self.cluster.admin, self.cluster.groups

    def topic(self, name: str = "t", partitions: int = 1, replicas: int | None = None, **config: Any) -> None:
        self.cluster.create_topic(name, partitions, replicas, **config)
        self.advance(100)

    def place(self, name: str, *replicas: list[int]) -> None:
        """A topic with a partition for each list of brokers, the first of which leads."""
        request = self.admin.create_topics([NewTopic(name, assignment=dict(enumerate(replicas)))])
        assert request.result()[name].error is Error.NONE
        self.advance(100)

    def place_each(self, *replicas: list[int]) -> None:
        """Topics a, b, c ... of one partition each, on these brokers."""
        for name, brokers in zip("abcdefgh", replicas, strict=False):
            self.place(name, brokers)

    def advance(self, ms: int) -> None:
        """A millisecond at a time, looking at the watermarks after each."""
        for _ in range(ms):
            self.clock.advance(1)
            self.audit.check()
        self.check()

    def check(self) -> None:
        if self.errors:
            raise self.errors[0]

    def produce(self, *values: bytes, partition: int = 0, **options: Any) -> DelayedProduce:
        """At the leader."""
        return self.cluster.leader("t", partition).produce({("t", partition): values}, **options)

    def fetch(self, offset: int | Position = 0, *, partition: int = 0, **options: Any) -> DelayedFetch:
        """At the leader."""
        return self.cluster.leader("t", partition).fetch({("t", partition): offset}, **options)

    def replica(self, broker: int, partition: int = 0) -> Any:
        return self.cluster.brokers[broker].replicas.replicas[TopicPartition("t", partition)]

    def isr(self, partition: int = 0) -> set[int]:
        return set(self.cluster.state("t", partition).isr)

    def isolate(self, broker: int) -> None:
        """Cut a broker off from the other brokers; the controller still hears of it."""
        self.network.cut([broker], [other for other in self.cluster.brokers if other != broker])

    def close(self) -> None:
        self.cluster.close()
        self.check()
        assert self.cluster.waiting == {}
        assert self.cluster.engine.timer.size == 0
        assert by_law(self.log.events) == by_log(self.log.events)


def by_law(events: Iterable[Event]) -> dict[str, tuple[str, int]]:
    """How each operation in a log ended, and when, as the rules have it."""
    by_kind: dict[str, list[Event]] = {kind: [] for kind in RULES}
    for event in events:  # a key says of which kind it is: `produce-17`
        by_kind[event.key.rpartition("-")[0]].append(event)
    return {o.key: (o.outcome, o.at) for kind, own in by_kind.items() for o in outcomes(RULES[kind], own)}


def by_log(events: Iterable[Event]) -> dict[str, tuple[str, int]]:
    """How each operation in a log ended, and when, as it said itself."""
    return {event.key: (event.kind, event.at) for event in events if event.kind in ENDS}


def ended(request: DelayedRequest[Any]) -> tuple[str | None, int | None]:
    """How a request ended, and after how long."""
    return request.outcome, None if request.ended_ms is None else request.ended_ms - request.opened_ms


def errors(request: DelayedRequest[Any]) -> list[Error]:
    """Of the response, in the order of the request."""
    assert request.response is not None
    return [result.error for result in request.response.values()]


def values(request: DelayedFetch, partition: int = 0) -> list[bytes]:
    assert request.response is not None
    return [record.value for record in request.response[TopicPartition("t", partition)].records]
