from __future__ import annotations

import pytest

from kafka.scene import Scene, ended, errors, values
from sojourn.kafka import Error, Position, TopicPartition

T0 = TopicPartition("t", 0)


def test_a_fetch_waits_until_min_bytes_are_there(scene: Scene) -> None:
    scene.topic(replicas=1)
    request = scene.fetch(min_bytes=10, max_wait_ms=1_000)
    scene.advance(5)
    scene.produce(b"12345")
    scene.advance(5)
    assert request.response is None
    scene.produce(b"67890")
    assert (ended(request), values(request)) == (("completed", 10), [b"12345", b"67890"])


def test_min_bytes_that_are_there_already_are_answered_at_once(scene: Scene) -> None:
    scene.topic(replicas=1)
    scene.produce(b"12345")
    assert ended(scene.fetch(min_bytes=5)) == ("completed", 0)


def test_a_fetch_gives_what_there_is_at_its_deadline(scene: Scene) -> None:
    scene.topic(replicas=1)
    scene.produce(b"12345")
    request = scene.fetch(min_bytes=6, max_wait_ms=70)
    scene.advance(70)
    assert (ended(request), errors(request), values(request)) == (("expired", 70), [Error.NONE], [b"12345"])


@pytest.mark.parametrize("max_wait_ms", [0, -1])
def test_a_fetch_that_does_not_wait_gives_what_there_is(scene: Scene, max_wait_ms: int) -> None:
    scene.topic(replicas=1)
    request = scene.fetch(min_bytes=6, max_wait_ms=max_wait_ms)
    assert (ended(request), values(request), request.key) == (("completed", 0), [], None)


def test_a_fetch_of_nothing_is_answered_at_once(scene: Scene) -> None:
    assert scene.cluster.brokers[0].replicas.fetch({}).response == {}


def test_min_bytes_are_counted_over_all_partitions_together(scene: Scene) -> None:
    scene.place("t", [0], [0])
    leader = scene.cluster.leader("t", 0)
    request = leader.fetch({("t", 0): 0, ("t", 1): 0}, min_bytes=6, max_wait_ms=1_000)
    scene.produce(b"123")
    assert request.response is None
    scene.produce(b"456", partition=1)
    assert (values(request), values(request, 1)) == ([b"123"], [b"456"])


def test_a_partition_counts_no_more_than_its_own_max_bytes(scene: Scene) -> None:
    scene.place("t", [0], [0])
    scene.produce(b"1234", b"5678")
    leader = scene.cluster.leader("t", 0)
    request = leader.fetch({("t", 0): Position(0, max_bytes=4), ("t", 1): 0}, min_bytes=5, max_wait_ms=1_000)
    assert request.response is None
    scene.produce(b"x", partition=1)
    assert (values(request), values(request, 1)) == ([b"1234"], [b"x"])


def test_max_bytes_bounds_the_whole_answer_but_one_record_always_comes(scene: Scene) -> None:
    scene.place("t", [0], [0])
    scene.produce(b"12345", b"67890")
    scene.produce(b"abcde", partition=1)
    leader = scene.cluster.leader("t", 0)
    small = leader.fetch({("t", 0): 0, ("t", 1): 0}, max_bytes=3)
    assert (values(small), values(small, 1)) == ([b"12345"], [])
    larger = leader.fetch({("t", 0): 0, ("t", 1): 0}, max_bytes=15)
    assert (values(larger), values(larger, 1)) == ([b"12345", b"67890"], [b"abcde"])
    between = leader.fetch({("t", 0): 0, ("t", 1): 0}, max_bytes=12)
    assert (values(between), values(between, 1)) == ([b"12345", b"67890"], [])


def test_consumers_read_to_the_high_watermark_only(scene: Scene) -> None:
    scene.topic()
    scene.isolate(2)
    scene.produce(b"x", acks=1)
    request = scene.fetch(max_wait_ms=50)
    scene.advance(50)
    assert (ended(request), values(request)) == (("expired", 50), [])
    scene.network.heal()
    scene.advance(1_000)
    assert values(scene.fetch()) == [b"x"]


def test_a_consumer_that_waits_is_answered_when_the_high_watermark_moves(scene: Scene) -> None:
    scene.topic()
    request = scene.fetch(max_wait_ms=1_000)
    produced = scene.produce(b"x")
    scene.advance(50)
    assert request.ended_ms == produced.ended_ms
    assert values(request) == [b"x"]


def test_several_fetches_on_one_partition_are_answered_together(scene: Scene) -> None:
    scene.topic(replicas=1)
    requests = [scene.fetch(max_wait_ms=1_000) for _ in range(5)]
    scene.advance(3)
    scene.produce(b"x")
    assert [(ended(request), values(request)) for request in requests] == [(("completed", 3), [b"x"])] * 5
    assert "fetch" not in scene.cluster.waiting


def test_one_partition_in_error_answers_the_whole_fetch_at_once(scene: Scene) -> None:
    scene.place("t", [0], [1])
    leader = scene.cluster.leader("t", 0)
    request = leader.fetch({("t", 0): 0, ("t", 1): 0, ("u", 0): 0}, max_wait_ms=1_000)
    assert ended(request) == ("completed", 0)
    assert errors(request) == [Error.NONE, Error.NOT_LEADER_OR_FOLLOWER, Error.UNKNOWN_TOPIC_OR_PARTITION]


@pytest.mark.parametrize(("epoch", "error"), [(0, Error.FENCED_LEADER_EPOCH), (2, Error.UNKNOWN_LEADER_EPOCH)])
def test_another_leader_epoch_than_the_readers_is_an_error(scene: Scene, epoch: int, error: Error) -> None:
    scene.topic()
    scene.cluster.controller.elect(T0, 1)
    scene.advance(10)
    request = scene.fetch(Position(0, leader_epoch=epoch), max_wait_ms=1_000)
    assert (ended(request), errors(request)) == (("completed", 0), [error])
    assert errors(scene.fetch(Position(0, leader_epoch=1), max_wait_ms=0)) == [Error.NONE]


def test_an_offset_that_the_log_does_not_hold_is_an_error(scene: Scene) -> None:
    scene.topic(replicas=1)
    scene.produce(b"a", b"b")
    scene.cluster.leader("t", 0).delete_records({("t", 0): 1})
    assert [errors(scene.fetch(offset)) for offset in (0, 3)] == [[Error.OFFSET_OUT_OF_RANGE]] * 2
    assert [errors(scene.fetch(offset, max_wait_ms=0)) for offset in (1, 2)] == [[Error.NONE]] * 2


def test_a_reader_that_is_ahead_of_the_high_watermark_does_not_wait(scene: Scene) -> None:
    scene.topic()
    scene.isolate(2)
    scene.produce(b"x", acks=1)
    request = scene.fetch(1, max_wait_ms=1_000)
    assert (ended(request), errors(request), values(request)) == (("completed", 0), [Error.NONE], [])


def test_a_reader_whose_log_went_another_way_is_told_where(scene: Scene) -> None:
    scene.topic(replicas=1)
    scene.produce(b"a", b"b")
    scene.cluster.controller.elect(T0, scene.cluster.leader("t", 0).broker)
    scene.advance(10)
    request = scene.fetch(Position(3, last_epoch=0), max_wait_ms=1_000)
    assert ended(request) == ("completed", 0)
    assert request.response is not None
    assert request.response[T0].diverging == (0, 2)


def test_a_lead_lost_while_waiting_answers_the_fetch(scene: Scene) -> None:
    scene.topic()
    request = scene.fetch(max_wait_ms=10_000)
    scene.advance(10)
    scene.cluster.controller.elect(T0, 1)
    scene.advance(1)
    assert (ended(request), errors(request)) == (("completed", 11), [Error.NOT_LEADER_OR_FOLLOWER])


def test_an_epoch_fenced_while_waiting_answers_the_fetch(scene: Scene) -> None:
    scene.topic()
    request = scene.fetch(Position(0, leader_epoch=0), max_wait_ms=10_000)
    scene.cluster.controller.elect(T0, 0)
    scene.advance(1)
    assert (ended(request), errors(request)) == (("completed", 1), [Error.FENCED_LEADER_EPOCH])


def test_a_reader_of_an_epoch_that_ended_is_told_so_also_when_another_broker_leads(scene: Scene) -> None:
    scene.topic()
    leader = scene.cluster.leader("t", 0)
    waiting = leader.fetch({T0: Position(0, leader_epoch=0)}, max_wait_ms=10_000)
    scene.cluster.controller.elect(T0, 1)
    scene.advance(1)
    assert (ended(waiting), errors(waiting)) == (("completed", 1), [Error.FENCED_LEADER_EPOCH])
    assert errors(leader.fetch({T0: Position(0, leader_epoch=0)})) == [Error.FENCED_LEADER_EPOCH]
    assert errors(leader.fetch({T0: Position(0, leader_epoch=1)})) == [Error.NOT_LEADER_OR_FOLLOWER]
    assert errors(leader.fetch({T0: Position(0, leader_epoch=2)})) == [Error.UNKNOWN_LEADER_EPOCH]


def test_records_deleted_while_waiting_answer_the_fetch(scene: Scene) -> None:
    scene.topic(replicas=1)
    scene.produce(b"a", b"b")
    request = scene.fetch(0, min_bytes=100, max_wait_ms=10_000)
    scene.cluster.leader("t", 0).delete_records({("t", 0): 1})
    assert errors(request) == [Error.OFFSET_OUT_OF_RANGE]


def test_a_topic_deleted_while_waiting_answers_the_fetch(scene: Scene) -> None:
    scene.topic()
    request = scene.fetch(max_wait_ms=10_000)
    scene.admin.delete_topics(["t"]).result()
    assert errors(request) == [Error.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_broker_that_dies_cuts_off_those_who_poll(scene: Scene) -> None:
    scene.topic()
    request = scene.fetch(max_wait_ms=10_000)
    scene.cluster.kill(0)
    assert (request.outcome, errors(request)) == ("cancelled", [Error.NETWORK_EXCEPTION])


def test_an_empty_record_can_be_waited_for(scene: Scene) -> None:
    scene.topic()
    request = scene.produce(b"")
    scene.advance(20)
    assert errors(request) == [Error.NONE]
    assert values(scene.fetch()) == [b""]
