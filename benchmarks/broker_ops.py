"""What one request costs: three brokers, three replicas, a millisecond or two between brokers, Kafka's settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random

from sojourn.kafka import Cluster, DelayedFetch, DelayedProduce, Network, Settings, TopicPartition
from sojourn.testing import ManualClock

from .measure import Elapsed, timed
from .results import Row
from .timer_ops import SEED

IN_FLIGHT = 100
BUDGET_NS = 1_500_000_000
"""A section is repeated until it has taken that long, and three times at least."""
VALUE = b"x" * 100
WIDTHS = (1, 3)
"""Partitions a request."""
TOPIC = "bench"


class Bench:
    """A cluster whose followers have caught up, and requests for it."""

    def __init__(self, partitions: int, fetchers: int) -> None:
        self.clock = ManualClock()
        self.cluster = Cluster(
            3,
            clock=self.clock,
            network=Network(seed=SEED, latency_ms=(1, 2)),
            settings=Settings(replica_fetchers=fetchers),
        )
        self.cluster.create_topic(TOPIC, partitions, 3)
        self.clock.advance(1_000)
        self._random = Random(SEED)
        states = self.cluster.controller.partitions
        self._led = {b: [p for p, state in states.items() if state.leader == b] for b in self.cluster.brokers}

    def some(self, width: int) -> tuple[int, list[TopicPartition]]:
        """A broker, and so many of the partitions that it leads."""
        broker = self._random.randrange(3)
        return broker, self._random.sample(self._led[broker], width)

    def produce(self, width: int) -> DelayedProduce:
        """A request with acks=all."""
        broker, partitions = self.some(width)
        return self.cluster.brokers[broker].replicas.produce({partition: [VALUE] for partition in partitions}, "all")

    def poll(self, width: int) -> DelayedFetch:
        """A long poll for what is not committed yet in some partitions, and a record for one of them, that wakes it."""
        broker, partitions = self.some(width)
        replicas = self.cluster.brokers[broker].replicas
        ends = {partition: replicas.replicas[partition].high_watermark for partition in partitions}
        request = replicas.fetch(ends, min_bytes=1, max_wait_ms=30_000)
        replicas.produce({partitions[-1]: [VALUE]}, acks=1)
        return request

    def round(self, new: Callable[[], DelayedProduce | DelayedFetch]) -> None:
        """So many requests at once, and virtual time until the last is answered."""
        requests = [new() for _ in range(IN_FLIGHT)]
        while any(request.response is None for request in requests):
            self.clock.advance(1)
        if any(request.outcome != "completed" for request in requests):
            raise AssertionError(f"expired: {[request for request in requests if request.outcome != 'completed']}")


def produce(n: int, fetchers: int) -> list[Row]:
    """Requests with acks=all in a cluster of n partitions."""
    return [_requests(n, fetchers, f"produce_{width}", width) for width in WIDTHS]


def fetch(n: int, fetchers: int) -> list[Row]:
    """Long polls in a cluster of n partitions, each with the write that wakes it."""
    return [_requests(n, fetchers, f"poll_{width}", width) for width in WIDTHS]


def idle(n: int, fetchers: int) -> list[Row]:
    """A cluster of n partitions in which nothing happens but its followers' fetches."""
    bench = Bench(n, fetchers)
    with bench.cluster:
        sections = list(_enough(partial(bench.clock.advance, 2_000)))
    best = min(section.wall_ns for section in sections)
    return [{"op": "idle", "ns": best / 2, "virtual_s": 2e9 / best}]


def _requests(n: int, fetchers: int, op: str, width: int) -> Row:
    bench = Bench(n, fetchers)
    new = partial(bench.produce if op.startswith("produce") else bench.poll, width)
    with bench.cluster:
        bench.round(new)
        began_ms = bench.clock.now_ms
        sections = list(_enough(partial(bench.round, new)))
        virtual_s = (bench.clock.now_ms - began_ms) / 1_000
    wall_ns = sum(section.wall_ns for section in sections)
    return {
        "op": op,
        "ns": min(section.wall_ns for section in sections) / IN_FLIGHT,
        "cpu_ns": min(section.cpu_ns for section in sections) / IN_FLIGHT,
        "virtual_s": virtual_s / (wall_ns / 1e9),
    }


def _enough(section: Callable[[], object]) -> Iterator[Elapsed]:
    """The section again and again, until it has taken its time."""
    spent = count = 0
    while spent < BUDGET_NS or count < 3:
        elapsed = timed(section)
        spent, count = spent + elapsed.wall_ns, count + 1
        yield elapsed
