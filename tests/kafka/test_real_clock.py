"""On the machine's own clock, with threads: slow, and no virtual time."""

from __future__ import annotations

import threading

import pytest

from kafka.scene import by_log
from sojourn.kafka import Cluster, Error, MemoryLog, Network, Settings, TopicPartition
from sojourn.kafka.cluster.cluster import Cluster as AnyCluster

pytestmark = pytest.mark.stress

THREADS, REQUESTS = 4, 200
QUICK = Settings(replica_fetch_wait_ms=50, session_ms=600_000)  # a busy machine must not look like a dead broker


def produce_many(cluster: AnyCluster, number: int, acknowledged: list[bytes]) -> None:
    for i in range(REQUESTS):
        value = b"%d-%d" % (number, i)
        partition = TopicPartition("t", i % 3)
        result = cluster.leader(*partition).produce({partition: [value]}, timeout_ms=60_000).result(timeout_s=90)
        if result[partition].error is Error.NONE:
            acknowledged.append(value)


def test_threads_produce_and_poll_at_once_and_everything_is_answered_and_kept() -> None:
    log, failures, acknowledged = MemoryLog(), [], []  # type: ignore[var-annotated]
    with Cluster(3, network=Network(latency_ms=(0, 1)), settings=QUICK, log=log, on_error=failures.append) as cluster:
        cluster.create_topic("t", 3)
        threads = [
            threading.Thread(target=produce_many, args=(cluster, number, acknowledged)) for number in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        read: set[bytes] = set()
        offsets = dict.fromkeys([TopicPartition("t", i) for i in range(3)], 0)
        while any(thread.is_alive() for thread in threads) or len(read) < len(acknowledged):
            for partition, offset in offsets.items():
                request = cluster.leader(*partition).fetch({partition: offset}, max_wait_ms=20)
                records = request.result(timeout_s=90)[partition].records
                read |= {record.value for record in records}
                offsets[partition] = records[-1].offset + 1 if records else offset
        for thread in threads:
            thread.join(timeout=60)
    assert failures == []
    assert len(acknowledged) == THREADS * REQUESTS
    assert read == set(acknowledged)
    opened = {event.key for event in log.events}
    assert by_log(log.events).keys() == opened


def test_a_request_expires_on_a_real_clock_too() -> None:
    with Cluster(2, settings=QUICK) as cluster:
        cluster.create_topic("t", 1)
        cluster.network.cut([0], [1])
        result = cluster.leader("t", 0).produce({("t", 0): [b"x"]}, timeout_ms=100).result(timeout_s=90)
        assert result[TopicPartition("t", 0)].error is Error.REQUEST_TIMED_OUT
