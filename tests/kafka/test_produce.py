from __future__ import annotations

import pytest

from kafka.scene import Scene, ended, errors
from sojourn.errors import ConfigError
from sojourn.kafka import BrokerDownError, Error, ProduceResult, TopicPartition


@pytest.mark.parametrize("acks", ["all", -1])
def test_acks_all_is_answered_when_every_replica_in_sync_has_the_records(scene: Scene, acks: object) -> None:
    scene.topic()
    request = scene.produce(b"one", b"two", acks=acks)
    assert request.response is None
    while request.response is None:
        assert min(scene.replica(broker).log.end_offset for broker in (1, 2)) < 2 or scene.replica(0).high_watermark < 2
        scene.advance(1)
    assert request.response == {("t", 0): ProduceResult(Error.NONE, 0, 2)}
    assert [scene.replica(broker).log.end_offset for broker in (0, 1, 2)] == [2, 2, 2]


def test_acks_1_is_answered_when_the_leader_has_the_records(scene: Scene) -> None:
    scene.topic()
    request = scene.produce(b"one", acks=1)
    assert request.response == {("t", 0): ProduceResult(Error.NONE, 0, 1)}
    assert scene.replica(0).high_watermark == 0


def test_acks_0_does_not_say_where_the_records_are(scene: Scene) -> None:
    scene.topic()
    request = scene.produce(b"one", acks=0)
    assert request.response is not None
    assert request.response[TopicPartition("t", 0)].base_offset == -1
    assert scene.replica(0).log.end_offset == 1


def test_acks_written_as_minus_one_mind_min_insync_replicas_too(scene: Scene) -> None:
    scene.topic(replicas=1, min_insync_replicas=2)
    assert errors(scene.produce(b"one", acks=-1)) == [Error.NOT_ENOUGH_REPLICAS]


def test_acks_all_on_a_single_replica_does_not_wait(scene: Scene) -> None:
    scene.topic(replicas=1)
    assert ended(scene.produce(b"one")) == ("completed", 0)


def test_other_acks_are_refused(scene: Scene) -> None:
    scene.topic()
    with pytest.raises(ConfigError, match='acks=2 is not known; allowed are 0, 1 and "all"'):
        scene.produce(b"one", acks=2)


def test_a_request_that_waits_too_long_expires_at_its_deadline(scene: Scene) -> None:
    scene.topic()
    scene.isolate(2)
    request = scene.produce(b"one", timeout_ms=500)
    scene.advance(500)
    assert (ended(request), errors(request)) == (("expired", 500), [Error.REQUEST_TIMED_OUT])


def test_records_of_a_request_that_timed_out_stay_in_the_log_and_are_replicated_later(scene: Scene) -> None:
    scene.topic()
    scene.isolate(2)
    scene.produce(b"late", timeout_ms=10)
    scene.advance(20)
    scene.network.heal()
    scene.advance(1_000)
    assert [scene.replica(broker).log[0].value for broker in (0, 1, 2)] == [b"late"] * 3
    assert scene.replica(0).high_watermark == 1


def test_only_the_partitions_still_pending_at_the_deadline_time_out(scene: Scene) -> None:
    scene.place_each([0], [0, 1], [0, 2])
    scene.isolate(2)
    request = scene.cluster.leader("a", 0).produce({(name, 0): [b"x"] for name in "abc"}, timeout_ms=50)
    scene.advance(50)
    assert (request.outcome, errors(request)) == ("expired", [Error.NONE, Error.NONE, Error.REQUEST_TIMED_OUT])


def test_partitions_settle_one_by_one_and_the_last_one_completes_the_request(scene: Scene) -> None:
    scene.place_each([0], [0, 1], [0, 2])
    scene.network.pause(2)
    request = scene.cluster.leader("a", 0).produce({(name, 0): [b"x"] for name in "abc"})
    scene.advance(20)
    scene.network.resume(2)
    scene.advance(20)
    settled = [event for event in scene.log.events if (event.key, event.kind) == (request.key, "settled")]
    assert [event.source for event in settled] == ["a-0", "b-0", "c-0"]
    assert settled[0].at < settled[1].at < settled[2].at == request.ended_ms
    assert sum(event.value or 0 for event in settled) == 1_000_000
    assert errors(request) == [Error.NONE] * 3


def test_a_partition_that_fails_at_once_does_not_keep_the_others_from_being_written(scene: Scene) -> None:
    scene.topic(partitions=2)
    leader = scene.cluster.leader("t", 0)
    request = leader.produce({("t", 0): [b"x"], ("t", 1): [b"y"], ("nowhere", 0): [b"z"]})
    assert request.result() == {
        ("t", 0): ProduceResult(Error.NONE, 0, 1),
        ("t", 1): ProduceResult(Error.NOT_LEADER_OR_FOLLOWER),
        ("nowhere", 0): ProduceResult(Error.UNKNOWN_TOPIC_OR_PARTITION),
    }


def test_a_request_of_which_all_fails_does_not_wait(scene: Scene) -> None:
    scene.topic()
    request = scene.cluster.brokers[1].replicas.produce({("t", 0): [b"x"]})
    assert (ended(request), errors(request)) == (("completed", 0), [Error.NOT_LEADER_OR_FOLLOWER])
    assert request.key is None


def test_several_requests_on_one_partition_complete_together(scene: Scene) -> None:
    scene.topic()
    requests = [scene.produce(b"%d" % i) for i in range(5)]
    scene.advance(10)
    assert {request.ended_ms for request in requests} == {requests[0].ended_ms}
    assert [errors(request) for request in requests] == [[Error.NONE]] * 5
    assert "produce" not in scene.cluster.waiting


def test_too_few_replicas_in_sync_refuse_the_append(scene: Scene) -> None:
    scene.topic(min_insync_replicas=3)
    scene.cluster.kill(2)
    scene.advance(2_000)
    assert scene.isr() == {0, 1}
    request = scene.produce(b"x", acks="all")
    assert errors(request) == [Error.NOT_ENOUGH_REPLICAS]
    assert scene.replica(0).log.end_offset == 0
    assert errors(scene.produce(b"x", acks=1)) == [Error.NONE]


def test_replicas_that_fall_out_of_sync_while_the_request_waits_make_it_fail_after_the_append(scene: Scene) -> None:
    scene.topic(min_insync_replicas=3)
    scene.isolate(2)
    request = scene.produce(b"x", timeout_ms=60_000)
    scene.advance(2_500)
    assert scene.isr() == {0, 1}
    assert (request.outcome, errors(request)) == ("completed", [Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND])
    assert scene.replica(0).high_watermark == 1


def test_a_request_completes_when_the_laggard_is_taken_out_of_sync(scene: Scene) -> None:
    scene.topic(min_insync_replicas=2)
    scene.isolate(2)
    request = scene.produce(b"x", timeout_ms=60_000)
    scene.advance(2_500)
    assert (request.outcome, errors(request), scene.isr()) == ("completed", [Error.NONE], {0, 1})


def test_a_leader_that_loses_its_lead_answers_those_who_wait(scene: Scene) -> None:
    scene.topic()
    scene.network.cut([0], [1, 2])
    request = scene.produce(b"x", timeout_ms=60_000)
    waiting = scene.produce(b"y", timeout_ms=60_000)
    scene.cluster.controller.elect(TopicPartition("t", 0), 1)
    scene.advance(2)
    assert [errors(request), errors(waiting)] == [[Error.NOT_LEADER_OR_FOLLOWER]] * 2


def test_a_topic_that_is_deleted_answers_those_who_wait(scene: Scene) -> None:
    scene.topic()
    scene.isolate(2)
    request = scene.produce(b"x", timeout_ms=60_000)
    scene.admin.delete_topics(["t"])
    scene.advance(5)
    assert errors(request) == [Error.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_broker_that_dies_cuts_off_those_who_wait(scene: Scene) -> None:
    scene.topic()
    request = scene.produce(b"x")
    scene.cluster.kill(0)
    assert (request.outcome, errors(request)) == ("cancelled", [Error.NETWORK_EXCEPTION])


def test_a_broker_that_is_down_takes_no_requests(scene: Scene) -> None:
    scene.topic()
    scene.cluster.kill(0)
    with pytest.raises(BrokerDownError, match=r"broker 0 is down; start\(0\) it"):
        scene.cluster.brokers[0].replicas.produce({("t", 0): [b"x"]})


def test_a_record_that_is_too_large_is_refused(scene: Scene) -> None:
    scene.topic(max_message_bytes=3)
    assert errors(scene.produce(b"four")) == [Error.RECORD_TOO_LARGE]
    assert errors(scene.produce(b"one", acks=1)) == [Error.NONE]


def test_a_timeout_of_zero_answers_at_once_and_the_records_stay(scene: Scene) -> None:
    scene.topic()
    request = scene.produce(b"x", timeout_ms=0)
    scene.clock.advance(0)
    assert (ended(request), errors(request)) == (("expired", 0), [Error.REQUEST_TIMED_OUT])
    scene.advance(200)
    assert scene.replica(2).log.end_offset == 1


def test_callbacks_are_called_once_before_or_after_the_answer(scene: Scene) -> None:
    scene.topic()
    request = scene.produce(b"x")
    told: list[object] = []
    request.then(told.append)
    response = request.result()
    request.then(told.append)
    assert told == [response, response]


def test_a_callback_that_fails_keeps_nobody_else_from_being_told(scene: Scene) -> None:
    scene.topic()
    request = scene.produce(b"x")
    told: list[object] = []
    request.then(lambda _: 1 / 0)
    request.then(told.append)
    request.result()
    assert told == [request.response]
    assert [type(error) for error in scene.errors] == [ZeroDivisionError]
    scene.errors.clear()


def test_waiting_for_a_result_gives_up_when_asked_and_the_request_goes_on(scene: Scene) -> None:
    scene.topic()
    scene.isolate(2)
    request = scene.produce(b"x", timeout_ms=900)
    with pytest.raises(TimeoutError, match=r"no response after 0.5 s; the request itself goes on waiting"):
        request.result(timeout_s=0.5)
    assert request.outcome is None
    assert request.result()[TopicPartition("t", 0)].error is Error.REQUEST_TIMED_OUT
