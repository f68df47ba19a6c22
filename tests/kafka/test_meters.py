"""What has expired, counted as Kafka's ExpiresPerSec does: by partition, and by who fetches."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from kafka.scene import Scene
from sojourn.kafka import Cluster, ClusterStats, TopicPartition
from sojourn.metrics import Metrics
from sojourn.testing import ManualClock

A, B, C = (TopicPartition(topic, 0) for topic in "abc")


def test_a_produce_that_expires_is_counted_for_the_partitions_still_pending(scene: Scene) -> None:
    scene.place_each([0], [0, 1], [0, 2])
    scene.isolate(0)
    leader = scene.cluster.leader("a", 0)
    leader.produce({A: [b"x"], B: [b"x"], C: [b"x"]}, timeout_ms=100)
    leader.produce({B: [b"y"]}, timeout_ms=200)
    scene.advance(200)
    assert scene.cluster.stats().expired_produces == {B: 2, C: 1}


def test_requests_that_complete_or_are_cancelled_do_not_count(scene: Scene) -> None:
    scene.topic()
    scene.produce(b"x")
    scene.advance(200)
    scene.isolate(0)
    scene.produce(b"y")
    scene.fetch(min_bytes=100, max_wait_ms=5_000)
    scene.cluster.kill(0)
    assert scene.cluster.stats().expired_produces == {}
    assert "consumer" not in scene.cluster.stats().expired_fetches


def test_fetches_that_expire_are_counted_by_who_fetches(scene: Scene) -> None:
    scene.topic(replicas=1)
    scene.fetch(min_bytes=100, max_wait_ms=10)
    scene.fetch(min_bytes=100, max_wait_ms=20)
    scene.advance(20)
    assert scene.cluster.stats().expired_fetches == {"consumer": 2}


def test_the_fetches_of_followers_expire_where_nothing_is_produced(scene: Scene) -> None:
    scene.topic()
    before = scene.cluster.stats().expired_fetches["follower"]
    scene.advance(1_000)
    assert scene.cluster.stats().expired_fetches["follower"] > before
    assert "consumer" not in scene.cluster.stats().expired_fetches


def test_partitions_whose_records_are_not_deleted_in_time_are_counted(scene: Scene) -> None:
    scene.place_each([0], [0, 1])
    leader = scene.cluster.leader("a", 0)
    leader.produce({A: [b"x"], B: [b"x"]})
    scene.advance(200)
    scene.isolate(0)
    leader.delete_records({A: 1, B: 1}, timeout_ms=100)
    scene.advance(100)
    assert scene.cluster.stats().expired_delete_records == 1


def test_stats_are_a_snapshot(scene: Scene) -> None:
    scene.topic(replicas=1)
    before = scene.cluster.stats()
    scene.fetch(min_bytes=100, max_wait_ms=10)
    assert (before.waiting.get("fetch"), scene.cluster.stats().waiting["fetch"]) == (None, 1)
    scene.advance(10)
    assert before == ClusterStats(before.waiting, {}, {}, 0)


def test_a_cluster_is_scraped_as_its_stats_say(scene: Scene) -> None:
    scene.topic()
    scene.isolate(0)
    scene.produce(b"x", timeout_ms=10)
    scene.fetch(min_bytes=100, max_wait_ms=10)
    scene.advance(10)
    registry = CollectorRegistry()
    registry.register(Metrics(scene.cluster))
    lines = generate_latest(registry).decode().splitlines()
    assert 'sojourn_kafka_produce_expired_total{name="cluster",partition="0",topic="t"} 1.0' in lines
    assert 'sojourn_kafka_fetch_expired_total{fetcher_type="consumer",name="cluster"} 1.0' in lines
    assert 'sojourn_kafka_delete_records_expired_total{name="cluster"} 0.0' in lines
    assert 'sojourn_kafka_waiting{kind="produce",name="cluster"} 0.0' in lines  # not gone when nothing waits


def test_a_cluster_has_a_name_which_its_metrics_carry() -> None:
    with Cluster(brokers=1, name="orders", clock=ManualClock()) as cluster:
        registry = CollectorRegistry()
        registry.register(Metrics(cluster, cluster.engine.timer))
        text = generate_latest(registry).decode()
    assert 'sojourn_kafka_delete_records_expired_total{name="orders"} 0.0' in text
    assert 'sojourn_timer_pending{name="orders"}' in text
