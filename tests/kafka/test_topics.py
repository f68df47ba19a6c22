from __future__ import annotations

from typing import Any

import pytest

from kafka.scene import Scene, ended, errors
from sojourn.errors import ConfigError
from sojourn.kafka import DelayedCreatePartitions, Error, NewTopic, TopicPartition

NONE = Error.NONE


def create(scene: Scene, *topics: NewTopic, **options: Any) -> DelayedCreatePartitions:
    return scene.admin.create_topics(topics, **options)


def test_a_topic_is_answered_when_every_live_broker_knows_its_leaders(scene: Scene) -> None:
    scene.network.pause(2)
    request = create(scene, NewTopic("t", 2, 3))
    scene.advance(50)
    assert request.response is None
    scene.network.resume(2)
    scene.advance(2)
    assert errors(request) == [NONE]
    for broker in scene.cluster.brokers.values():
        assert [broker.replicas.image.partitions[TopicPartition("t", i)].leader for i in (0, 1)] == [0, 1]


def test_a_broker_that_dies_is_no_longer_waited_for(scene: Scene) -> None:
    scene.cluster.kill(2)
    request = create(scene, NewTopic("t", 1, 2))
    scene.advance(500)
    assert request.response is None
    scene.advance(500)
    assert errors(request) == [NONE]


def test_topics_that_are_not_known_everywhere_at_the_deadline_time_out_and_are_there(scene: Scene) -> None:
    scene.network.pause(2)
    request = create(scene, NewTopic("t"), NewTopic("t"), NewTopic("u"), timeout_ms=100)
    scene.advance(100)
    assert (ended(request), request.response and request.response["u"].error) == (
        ("expired", 100),
        Error.REQUEST_TIMED_OUT,
    )
    assert list(scene.cluster.controller.topics) == ["u"]
    scene.network.resume(2)


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_one_who_does_not_wait_gets_a_timeout_at_once_and_the_topic_is_created(scene: Scene, timeout_ms: int) -> None:
    request = create(scene, NewTopic("t"), NewTopic("b/d"), timeout_ms=timeout_ms)
    assert (ended(request), errors(request)) == (
        ("completed", 0),
        [Error.REQUEST_TIMED_OUT, Error.INVALID_TOPIC_EXCEPTION],
    )
    assert list(scene.cluster.controller.topics) == ["t"]


def test_what_is_only_validated_is_answered_at_once_and_not_created(scene: Scene) -> None:
    request = create(scene, NewTopic("t"), NewTopic("u", 0), timeout_ms=0, validate_only=True)
    assert (ended(request), errors(request)) == (("completed", 0), [NONE, Error.INVALID_PARTITIONS])
    assert scene.cluster.controller.topics == {}


def test_a_request_of_which_all_is_refused_is_answered_at_once(scene: Scene) -> None:
    request = create(scene, NewTopic(".."))
    assert (ended(request), request.key) == (("completed", 0), None)


@pytest.mark.parametrize(
    ("topic", "error", "message"),
    [
        (NewTopic("old"), Error.TOPIC_ALREADY_EXISTS, "'old' exists already"),
        (NewTopic(""), Error.INVALID_TOPIC_EXCEPTION, "1 to 249"),
        (NewTopic("a" * 250), Error.INVALID_TOPIC_EXCEPTION, "1 to 249"),
        (NewTopic("a b"), Error.INVALID_TOPIC_EXCEPTION, "1 to 249"),
        (NewTopic("."), Error.INVALID_TOPIC_EXCEPTION, "or is '.' or '..'"),
        (NewTopic("with_underscore"), Error.INVALID_TOPIC_EXCEPTION, "collides with 'with.underscore'"),
        (NewTopic("new", 0), Error.INVALID_PARTITIONS, "partitions=0 is less than 1"),
        (NewTopic("new", 1, 4), Error.INVALID_REPLICATION_FACTOR, "replicas=4, but there are 3 live brokers"),
        (NewTopic("new", 1, 0), Error.INVALID_REPLICATION_FACTOR, "replicas=0"),
        (NewTopic("new", 1, assignment={0: [0]}), Error.INVALID_REQUEST, "give either"),
        (NewTopic("new", replicas=1, assignment={0: [0]}), Error.INVALID_REQUEST, "give either"),
        (NewTopic("new", assignment={}), Error.INVALID_REPLICA_ASSIGNMENT, "not numbered from 0 on"),
        (NewTopic("new", assignment={1: [0]}), Error.INVALID_REPLICA_ASSIGNMENT, "not numbered from 0 on"),
        (NewTopic("new", assignment={0: [0, 0]}), Error.INVALID_REPLICA_ASSIGNMENT, "repeat"),
        (NewTopic("new", assignment={0: [0], 1: [0, 1]}), Error.INVALID_REPLICA_ASSIGNMENT, "as partition 0 has"),
        (NewTopic("new", assignment={0: []}), Error.INVALID_REPLICA_ASSIGNMENT, "repeat, or are not"),
        (NewTopic("new", assignment={0: [7]}), Error.INVALID_REPLICA_ASSIGNMENT, "some are unknown"),
        (NewTopic("new", config={"colour": 1}), Error.INVALID_CONFIG, "there are min.insync.replicas"),
        (NewTopic("new", config={"min.insync.replicas": 0}), Error.INVALID_CONFIG, "min.insync.replicas=0"),
        (NewTopic("new", config={"min.insync.replicas": "two"}), Error.INVALID_CONFIG, "'two' is not a whole number"),
        (
            NewTopic("new", config={"unclean.leader.election.enable": 2}),
            Error.INVALID_CONFIG,
            "2 is neither true nor false",
        ),
    ],
)
def test_a_topic_that_cannot_be_is_refused_with_the_reason(
    scene: Scene, topic: NewTopic, error: Error, message: str
) -> None:
    create(scene, NewTopic("old"), NewTopic("with.underscore")).result()
    result = create(scene, topic).result()[topic.name]
    assert result.error is error
    assert message in result.message
    assert topic.name == "old" or topic.name not in scene.cluster.controller.topics


def test_a_refused_topic_does_not_keep_the_others_from_being_created(scene: Scene) -> None:
    request = create(scene, NewTopic("t"), NewTopic("b/d"), NewTopic("u"), NewTopic("twice"), NewTopic("twice"))
    results = {name: result.error for name, result in request.result().items()}
    assert results == {
        "t": NONE,
        "b/d": Error.INVALID_TOPIC_EXCEPTION,
        "u": NONE,
        "twice": Error.INVALID_REQUEST,
    }


def test_settings_hold_for_the_topic(scene: Scene) -> None:
    config = {"min.insync.replicas": "2", "unclean.leader.election.enable": "TRUE", "max.message.bytes": 9}
    create(scene, NewTopic("t", config=config)).result()
    found = scene.cluster.brokers[2].replicas.image.topics["t"]
    assert (found.min_insync, found.unclean_election, found.max_message_bytes) == (2, True, 9)


def test_partitions_are_spread_over_the_brokers(scene: Scene) -> None:
    scene.topic(partitions=6, replicas=2)
    leaders = [scene.cluster.state("t", i).leader for i in range(6)]
    assert sorted(leaders) == [0, 0, 1, 1, 2, 2]


def test_an_assigned_replica_that_is_down_is_not_in_sync(scene: Scene) -> None:
    scene.cluster.kill(0)
    scene.advance(1_500)
    create(scene, NewTopic("t", assignment={0: [0, 1]})).result()
    state = scene.cluster.state("t", 0)
    assert (state.leader, state.isr) == (1, (1,))
    refused = create(scene, NewTopic("u", assignment={0: [0]})).result()["u"]
    assert refused.error is Error.INVALID_REPLICA_ASSIGNMENT


def test_a_leader_lost_before_all_know_is_waited_for_until_there_is_one(scene: Scene) -> None:
    scene.network.pause(1)
    request = create(scene, NewTopic("t", assignment={0: [0]}), timeout_ms=60_000)
    scene.cluster.kill(0)
    scene.advance(950)
    scene.network.resume(1)
    scene.advance(300)
    assert scene.cluster.state("t", 0).leader is None
    assert request.response is None
    scene.cluster.start(0)
    scene.advance(300)
    assert errors(request) == [NONE]


def test_the_cluster_creates_a_topic_and_says_why_it_cannot(scene: Scene) -> None:
    scene.cluster.create_topic("t", partitions=2)
    assert len(scene.cluster.state("t", 1).replicas) == 3
    with pytest.raises(ConfigError, match="topic 't': TOPIC_ALREADY_EXISTS: topic 't' exists already"):
        scene.cluster.create_topic("t")


def test_a_deleted_topic_is_answered_when_no_live_broker_knows_it(scene: Scene) -> None:
    scene.topic(partitions=2)
    scene.network.pause(1)
    request = scene.admin.delete_topics(["t", "unknown"])
    scene.advance(50)
    assert request.response is None
    scene.network.resume(1)
    scene.advance(3)
    assert errors(request) == [NONE, Error.UNKNOWN_TOPIC_OR_PARTITION]
    assert [broker.replicas.replicas for broker in scene.cluster.brokers.values()] == [{}, {}, {}]


def test_deleting_expires_and_the_topic_is_gone_all_the_same(scene: Scene) -> None:
    scene.topic()
    scene.network.pause(1)
    request = scene.admin.delete_topics(["t"], timeout_ms=30)
    scene.advance(30)
    assert (ended(request), errors(request)) == (("expired", 30), [Error.REQUEST_TIMED_OUT])
    assert scene.cluster.controller.topics == {}


def test_one_who_does_not_wait_for_a_deletion_gets_a_timeout_at_once(scene: Scene) -> None:
    scene.topic()
    request = scene.admin.delete_topics(["t", "u"], timeout_ms=0)
    assert errors(request) == [Error.REQUEST_TIMED_OUT, Error.UNKNOWN_TOPIC_OR_PARTITION]
    assert scene.cluster.controller.topics == {}


def test_a_topic_can_be_created_again_and_is_empty(scene: Scene) -> None:
    scene.topic()
    scene.produce(b"old").result()
    scene.admin.delete_topics(["t"]).result()
    scene.topic()
    assert [scene.replica(broker).log.end_offset for broker in (0, 1, 2)] == [0, 0, 0]
    scene.produce(b"new").result()


def test_the_preferred_leader_leads_again_and_all_know(scene: Scene) -> None:
    scene.topic()
    scene.cluster.controller.elect(TopicPartition("t", 0), 2)
    scene.advance(10)
    scene.network.pause(1)
    request = scene.admin.elect_leaders([("t", 0)])
    scene.advance(20)
    assert request.response is None
    scene.network.resume(1)
    scene.advance(3)
    assert errors(request) == [NONE]
    assert scene.cluster.state("t", 0).leader == 0


def test_an_election_that_not_all_know_of_expires(scene: Scene) -> None:
    scene.topic()
    scene.cluster.controller.elect(TopicPartition("t", 0), 2)
    scene.advance(10)
    scene.network.pause(1)
    request = scene.admin.elect_leaders([("t", 0), ("t", 1)], timeout_ms=20)
    scene.advance(20)
    assert errors(request) == [Error.REQUEST_TIMED_OUT, Error.UNKNOWN_TOPIC_OR_PARTITION]


def test_an_election_that_is_not_needed_or_not_possible_is_refused(scene: Scene) -> None:
    scene.topic()
    assert errors(scene.admin.elect_leaders([("t", 0)])) == [Error.ELECTION_NOT_NEEDED]
    assert errors(scene.admin.elect_leaders([("t", 0)], "unclean")) == [Error.ELECTION_NOT_NEEDED]
    scene.cluster.kill(0)
    scene.advance(1_500)
    assert errors(scene.admin.elect_leaders([("t", 0)])) == [Error.PREFERRED_LEADER_NOT_AVAILABLE]
    with pytest.raises(ConfigError, match="election='clean' is not known"):
        scene.admin.elect_leaders([("t", 0)], "clean")  # type: ignore[arg-type]


def test_an_unclean_election_lets_any_live_replica_lead_where_nobody_does(scene: Scene) -> None:
    scene.place("t", [0, 1])
    scene.cluster.kill(1)
    scene.advance(1_500)
    scene.cluster.kill(0)
    scene.advance(1_500)
    assert errors(scene.admin.elect_leaders([("t", 0)], "unclean")) == [Error.ELIGIBLE_LEADERS_NOT_AVAILABLE]
    scene.cluster.start(1)
    scene.advance(300)
    assert scene.cluster.state("t", 0).leader is None
    request = scene.admin.elect_leaders([("t", 0)], "unclean")
    scene.advance(5)
    assert errors(request) == [NONE]
    assert (scene.cluster.state("t", 0).leader, scene.isr()) == (1, {1})


def test_a_quota_lets_a_burst_through_then_throttles_until_it_is_made_good() -> None:
    scene = Scene(mutation_rate=2, mutation_burst_s=3)
    assert errors(create(scene, NewTopic("a", 6), timeout_ms=0)) == [Error.REQUEST_TIMED_OUT]
    assert errors(create(scene, NewTopic("b", 3), timeout_ms=0)) == [Error.REQUEST_TIMED_OUT]  # it may overdraw
    refused = create(scene, NewTopic("c", 1)).result()["c"]
    assert (refused.error, refused.throttle_ms) == (Error.THROTTLING_QUOTA_EXCEEDED, 1_500)
    scene.advance(1_499)
    deletion = scene.admin.delete_topics(["a"]).result()["a"]
    assert (deletion.error, deletion.throttle_ms) == (Error.THROTTLING_QUOTA_EXCEEDED, 1)
    scene.advance(1)
    assert errors(create(scene, NewTopic("c", 1), timeout_ms=0)) == [Error.REQUEST_TIMED_OUT]
    scene.close()


def test_a_quota_that_nobody_used_for_long_lets_no_more_than_its_burst_through() -> None:
    scene = Scene(mutation_rate=2, mutation_burst_s=3)
    scene.clock.advance(60_000)
    create(scene, NewTopic("a", 7), timeout_ms=0)
    refused = create(scene, NewTopic("b", 1)).result()["b"]
    assert (refused.error, refused.throttle_ms) == (Error.THROTTLING_QUOTA_EXCEEDED, 500)
    scene.close()


def test_a_validation_is_not_charged() -> None:
    scene = Scene(mutation_rate=1, mutation_burst_s=1)
    for _ in range(3):
        assert errors(create(scene, NewTopic("a", 9), validate_only=True)) == [NONE]
    assert create(scene, NewTopic("a", 1)).result()["a"].error is NONE
    scene.close()


def test_a_cluster_that_closes_answers_those_who_wait(scene: Scene) -> None:
    request = create(scene, NewTopic("t"))
    scene.cluster.close()
    assert (request.outcome, errors(request)) == ("cancelled", [Error.NETWORK_EXCEPTION])
