from __future__ import annotations

from kafka.scene import Scene, ended, errors
from sojourn.kafka import HIGH_WATERMARK, DeleteResult, Error, TopicPartition

T0 = TopicPartition("t", 0)


def filled(scene: Scene, records: int = 10) -> None:
    scene.topic()
    scene.produce(*(b"x" for _ in range(records))).result()
    scene.advance(200)


def test_records_are_gone_from_every_replica_when_the_request_is_answered(scene: Scene) -> None:
    filled(scene)
    request = scene.cluster.leader("t", 0).delete_records({T0: 4})
    assert request.response is None
    assert request.result() == {T0: DeleteResult(Error.NONE, 4)}
    assert [scene.replica(broker).log.start_offset for broker in (0, 1, 2)] == [4, 4, 4]


def test_the_high_watermark_stands_for_all_that_is_committed(scene: Scene) -> None:
    filled(scene)
    assert scene.cluster.leader("t", 0).delete_records({T0: HIGH_WATERMARK}).result()[T0].low_watermark == 10
    assert scene.replica(0).log.start_offset == scene.replica(0).log.end_offset == 10


def test_what_is_not_committed_cannot_be_deleted(scene: Scene) -> None:
    filled(scene)
    leader = scene.cluster.leader("t", 0)
    for offset in (11, -2):
        request = leader.delete_records({T0: offset})
        assert (ended(request), errors(request)) == (("completed", 0), [Error.OFFSET_OUT_OF_RANGE])


def test_what_is_gone_already_is_answered_at_once(scene: Scene) -> None:
    filled(scene)
    leader = scene.cluster.leader("t", 0)
    leader.delete_records({T0: 4}).result()
    assert ended(leader.delete_records({T0: 3})) == ("completed", 0)


def test_a_replica_that_does_not_follow_makes_the_request_expire(scene: Scene) -> None:
    filled(scene)
    scene.isolate(2)
    request = scene.cluster.leader("t", 0).delete_records({T0: 4}, timeout_ms=400)
    scene.advance(400)
    assert ended(request) == ("expired", 400)
    assert request.response == {T0: DeleteResult(Error.REQUEST_TIMED_OUT, 0)}


def test_a_replica_that_is_down_is_not_waited_for_and_deletes_when_it_is_back(scene: Scene) -> None:
    filled(scene)
    scene.cluster.kill(2)
    request = scene.cluster.leader("t", 0).delete_records({T0: 4})
    scene.advance(500)
    assert request.response is None
    scene.advance(1_000)
    assert errors(request) == [Error.NONE]
    assert scene.replica(2).log.start_offset == 0
    scene.cluster.start(2)
    scene.advance(500)
    assert scene.replica(2).log.start_offset == 4


def test_a_replica_that_missed_all_that_is_left_starts_where_the_leader_does(scene: Scene) -> None:
    scene.topic()
    scene.cluster.kill(2)
    scene.advance(1_500)
    scene.produce(*(b"x" for _ in range(10))).result()
    scene.cluster.leader("t", 0).delete_records({T0: 8}).result()
    scene.cluster.start(2)
    scene.advance(500)
    log = scene.replica(2).log
    assert (log.start_offset, log.end_offset, scene.isr()) == (8, 10, {0, 1, 2})


def test_only_the_partitions_still_pending_at_the_deadline_time_out(scene: Scene) -> None:
    scene.place_each([0], [0, 1], [0, 2])
    leader = scene.cluster.leader("a", 0)
    leader.produce({(name, 0): [b"x"] for name in "abc"}).result()
    scene.isolate(2)
    request = leader.delete_records({(name, 0): 1 for name in "abcd"}, timeout_ms=300)
    scene.advance(300)
    assert request.outcome == "expired"
    assert errors(request) == [
        Error.NONE,
        Error.NONE,
        Error.REQUEST_TIMED_OUT,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def test_a_lead_lost_while_waiting_answers_the_request(scene: Scene) -> None:
    filled(scene)
    scene.isolate(2)
    request = scene.cluster.leader("t", 0).delete_records({T0: 4})
    scene.cluster.controller.elect(T0, 1)
    scene.advance(1)
    assert (ended(request), errors(request)) == (("completed", 1), [Error.NOT_LEADER_OR_FOLLOWER])


def test_several_requests_on_one_partition_complete_together(scene: Scene) -> None:
    filled(scene)
    leader = scene.cluster.leader("t", 0)
    requests = [leader.delete_records({T0: 4}) for _ in range(3)]
    scene.advance(300)
    assert {request.ended_ms for request in requests} == {requests[0].ended_ms}
    assert "delete-records" not in scene.cluster.waiting


def test_a_broker_that_dies_cuts_off_those_who_wait(scene: Scene) -> None:
    filled(scene)
    request = scene.cluster.leader("t", 0).delete_records({T0: 4})
    scene.cluster.kill(0)
    assert (request.outcome, errors(request)) == ("cancelled", [Error.NETWORK_EXCEPTION])
