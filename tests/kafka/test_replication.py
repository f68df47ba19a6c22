from __future__ import annotations

import pytest

from kafka.scene import Scene, errors, values
from sojourn.kafka import Error, NewTopic, TopicPartition
from sojourn.kafka.cluster.leadership import Leadership
from sojourn.kafka.cluster.metadata import PartitionState
from sojourn.kafka.log import Log
from sojourn.kafka.requests.fetch_session import FetchSession

T0 = TopicPartition("t", 0)


def test_followers_hold_the_leaders_records(scene: Scene) -> None:
    scene.topic()
    for i in range(20):
        scene.produce(b"%d" % i, acks=1)
        scene.advance(3)
    scene.advance(300)
    logs = [[scene.replica(broker).log[i] for i in range(20)] for broker in (0, 1, 2)]
    assert logs[0] == logs[1] == logs[2]
    assert [scene.replica(broker).high_watermark for broker in (0, 1, 2)] == [20, 20, 20]


def test_a_follower_that_lags_too_long_is_out_of_sync_and_back_when_it_has_caught_up(scene: Scene) -> None:
    scene.topic()
    scene.advance(3_000)  # with nothing to fetch it is not lagging
    scene.isolate(2)
    scene.produce(b"x", acks=1)
    scene.advance(900)
    assert scene.isr() == {0, 1, 2}
    scene.advance(1_000)
    assert scene.isr() == {0, 1}
    scene.network.heal()
    scene.advance(1_000)
    assert scene.isr() == {0, 1, 2}


def test_a_follower_that_is_cut_off_stays_in_sync_while_nothing_is_written(scene: Scene) -> None:
    scene.topic()
    scene.isolate(2)
    scene.advance(3_000)
    assert scene.isr() == {0, 1, 2}


def test_a_busy_follower_that_is_always_a_little_behind_stays_in_sync(scene: Scene) -> None:
    scene.topic()
    for _ in range(1_500):
        scene.produce(b"x", acks=1)
        scene.advance(1)
        assert scene.isr() == {0, 1, 2}
    assert scene.replica(2).log.end_offset > 1_400


def test_the_high_watermark_waits_for_a_follower_that_is_about_to_be_in_sync() -> None:
    log = Log()
    log.append([b"a", b"b"], 0)
    lead = Leadership(0, PartitionState((0, 1, 2), (0, 1), 0), log, now=0)
    lead.followers[1].fetched(2, 0, now=100, leader_end=2)
    lead.followers[2].fetched(1, 0, now=50, leader_end=1)
    assert lead.high_watermark(2, now=100, lag_ms=60, live={0, 1, 2}) == 1
    assert lead.high_watermark(2, now=111, lag_ms=60, live={0, 1, 2}) == 2
    assert lead.high_watermark(2, now=100, lag_ms=60, live={0, 1}) == 2


def test_while_the_controller_has_not_answered_the_high_watermark_waits_for_both_sets() -> None:
    log = Log()
    log.append([b"a"], 0)
    lead = Leadership(0, PartitionState((0, 1), (0,), 0), log, now=0)
    lead.pending = frozenset({0, 1})
    assert lead.high_watermark(1, now=10**9, lag_ms=60, live={0, 1}) == -1
    lead.update(PartitionState((0, 1), (0,), 0, partition_epoch=1))
    assert lead.high_watermark(1, now=10**9, lag_ms=60, live={0, 1}) == 1


def test_a_follower_joins_only_with_all_that_is_committed_and_the_start_of_the_epoch() -> None:
    log = Log()
    log.append([b"a", b"b"], 0)
    lead = Leadership(0, PartitionState((0, 1), (0,), 0, leader_epoch=1), log, now=0)
    session = lead.followers[1].session = FetchSession(1, 0)
    session.fetched_ms = 100
    for offset, can_join in ((0, False), (1, False), (2, True)):
        lead.followers[1].fetched(offset, 0, now=100, leader_end=2)
        assert lead.can_join(1, high_watermark=1, since_ms=100) is can_join
    assert not lead.can_join(1, high_watermark=1, since_ms=101)


def test_followers_of_a_leader_that_lost_its_lead_are_answered_at_once(scene: Scene) -> None:
    scene.topic()
    scene.advance(50)
    assert scene.cluster.waiting == {"replica-fetch": 2}
    scene.network.cut([1, 2], ["controller"])  # they do not know yet
    before = len(scene.log.events)
    scene.cluster.controller.elect(T0, 1)
    scene.advance(1)
    interrupted = [event for event in scene.log.events[before:] if event.kind == "interrupted"]
    assert [event.source for event in interrupted] == ["t-0", "t-0"]


def test_a_follower_that_knows_the_new_leader_before_it_does_itself_asks_again_later(scene: Scene) -> None:
    scene.topic()
    scene.network.cut([1], ["controller"])
    scene.cluster.controller.elect(T0, 1)
    scene.advance(20)
    scene.network.heal()
    scene.advance(400)
    request = scene.produce(b"x")
    scene.advance(20)
    assert errors(request) == [Error.NONE]


def test_a_broker_that_dies_says_nothing_more(scene: Scene) -> None:
    scene.topic()
    scene.advance(50)
    assert scene.cluster.waiting == {"replica-fetch": 2}
    sent = scene.network.sent
    scene.cluster.kill(0)
    assert scene.network.sent == sent


def test_a_leader_that_has_forgotten_what_its_followers_told_is_told_again(scene: Scene) -> None:
    scene.topic()
    scene.produce(b"x").result()
    scene.cluster.brokers[0].replicas.replication.reset()
    for broker in (1, 2):
        scene.replica(0).lead.followers[broker].session = None
    scene.advance(150)
    request = scene.produce(b"y")
    scene.advance(20)
    assert errors(request) == [Error.NONE]


def test_when_the_leader_dies_another_one_in_sync_leads_in_a_new_epoch(scene: Scene) -> None:
    scene.topic()
    scene.produce(b"kept").result()
    scene.cluster.kill(0)
    scene.advance(1_500)
    state = scene.cluster.state("t", 0)
    assert (state.leader, set(state.isr), state.leader_epoch) == (1, {1, 2}, 1)
    scene.produce(b"more").result()
    assert values(scene.fetch()) == [b"kept", b"more"]


def test_a_leader_that_comes_back_drops_what_nobody_else_had(scene: Scene) -> None:
    scene.topic()
    scene.produce(b"kept").result()
    scene.network.cut([0], [1, 2])
    lost = scene.produce(b"only", b"here", acks=1)
    assert errors(lost) == [Error.NONE]
    scene.cluster.kill(0)
    scene.advance(1_500)
    scene.produce(b"instead").result()
    scene.network.heal()
    scene.cluster.start(0)
    scene.advance(1_000)
    assert [scene.replica(0).log[i].value for i in range(2)] == [b"kept", b"instead"]
    assert scene.replica(0).log.end_offset == 2
    assert scene.isr() == {0, 1, 2}


def test_the_last_one_in_sync_stays_so_when_it_dies_and_nobody_leads_until_it_is_back(scene: Scene) -> None:
    scene.topic()
    scene.cluster.kill(1)
    scene.cluster.kill(2)
    scene.advance(1_500)
    scene.produce(b"precious").result()
    scene.cluster.kill(0)
    scene.cluster.start(1)
    scene.cluster.start(2)
    scene.advance(1_500)
    assert (scene.cluster.state("t", 0).leader, scene.isr()) == (None, {0})
    with pytest.raises(LookupError, match="nobody leads t-0"):
        scene.cluster.leader("t", 0)
    scene.cluster.start(0)
    scene.advance(1_500)
    assert values(scene.fetch()) == [b"precious"]


def test_an_unclean_election_loses_what_only_the_dead_had_and_goes_on(scene: Scene) -> None:
    scene.topic(unclean_leader_election_enable=True)
    scene.isolate(0)
    scene.produce(b"lost", acks=1)
    scene.advance(2_500)
    assert scene.isr() == {0}
    scene.cluster.kill(0)
    scene.clock.advance(1_500)
    assert scene.cluster.state("t", 0).leader == 1
    scene.produce(b"new", acks=1)
    scene.network.heal()
    scene.cluster.start(0)
    scene.clock.advance(1_500)
    assert values(scene.fetch()) == [b"new"]
    assert scene.replica(0).log[0].value == b"new"


def test_a_leader_cut_off_from_everybody_acknowledges_nothing_that_others_do_not_have(scene: Scene) -> None:
    scene.topic()
    scene.network.cut([0], [1, 2, "controller"])
    zombie = scene.cluster.brokers[0].replicas
    request = zombie.produce({T0: [b"zombie"]}, timeout_ms=60_000)
    scene.advance(2_000)
    assert scene.cluster.state("t", 0).leader == 1
    assert request.response is None
    assert zombie.replicas[T0].lead is not None
    scene.network.heal()
    scene.advance(1_000)
    assert errors(request) == [Error.NOT_LEADER_OR_FOLLOWER]
    assert scene.replica(0).log.end_offset == 0


def test_a_broker_that_restarts_sooner_than_its_session_ends_does_not_go_on_leading(scene: Scene) -> None:
    scene.topic()
    scene.cluster.kill(0)
    scene.cluster.start(0)
    scene.advance(500)
    state = scene.cluster.state("t", 0)
    assert (state.leader, state.leader_epoch, scene.isr()) == (1, 1, {0, 1, 2})


def test_what_the_controller_sent_to_an_earlier_incarnation_is_ignored(scene: Scene) -> None:
    scene.topic()
    broker = scene.cluster.brokers[0]
    scene.cluster.kill(0)
    scene.cluster.start(0)
    broker.receive_metadata(1, 0, scene.cluster.controller.changes)
    assert broker.replicas.replicas[T0].lead is None


def test_a_lost_piece_of_metadata_comes_with_the_next_heartbeat(scene: Scene) -> None:
    scene.network.cut([2], ["controller"])
    scene.admin.create_topics([NewTopic("t", assignment={0: [2, 0]})])
    scene.advance(50)
    assert T0 not in scene.cluster.brokers[2].replicas.replicas
    scene.network.heal()
    scene.advance(250)
    assert scene.replica(2).lead is not None


def test_a_proposal_that_was_granted_but_never_answered_does_not_let_the_high_watermark_run_ahead(scene: Scene) -> None:
    scene.topic()
    scene.isolate(2)
    scene.produce(b"x", acks=1)
    scene.advance(2_000)
    assert scene.isr() == {0, 1}
    scene.network.heal()
    while scene.replica(0).lead.pending is None:
        scene.clock.advance(1)
    scene.network.pause("controller")
    scene.clock.advance(1)
    scene.network.cut([2], [0, 1])
    scene.produce(b"y", acks=1)
    scene.advance(100)
    assert scene.replica(0).high_watermark == 1
    scene.network.resume("controller")
    scene.network.heal()
    scene.advance(1_000)
    assert (scene.isr(), scene.replica(0).high_watermark) == ({0, 1, 2}, 2)


def test_a_proposal_from_a_leader_that_was_replaced_is_refused(scene: Scene) -> None:
    scene.topic()
    controller, state = scene.cluster.controller, scene.cluster.state("t", 0)
    controller.elect(T0, 1)
    controller.receive_proposal(0, T0, state._replace(isr=(0,)))
    assert scene.isr() == {0, 1, 2}
    now = scene.cluster.state("t", 0)
    controller.receive_proposal(1, T0, now._replace(isr=(1,), partition_epoch=now.partition_epoch - 1))
    assert scene.isr() == {0, 1, 2}
    controller.receive_proposal(1, T0, now._replace(isr=(1, 2)))
    assert scene.isr() == {1, 2}


def test_a_broker_that_is_down_cannot_be_proposed_as_in_sync(scene: Scene) -> None:
    scene.topic()
    scene.cluster.kill(2)
    scene.advance(1_500)
    proposal = scene.cluster.state("t", 0)._replace(isr=(0, 1, 2))
    scene.cluster.controller.receive_proposal(0, T0, proposal)
    assert scene.isr() == {0, 1}
    scene.cluster.controller.live.add(2)
    scene.cluster.controller.receive_proposal(0, T0, proposal)  # a copy, on its way for longer: void since the refusal
    assert scene.isr() == {0, 1}
    scene.cluster.controller.live.discard(2)


def test_many_fetchers_share_the_partitions_and_replicate_all() -> None:
    scene = Scene(replica_fetchers=3)
    scene.topic(partitions=7)
    for partition in range(7):
        scene.produce(b"x", partition=partition)
    scene.advance(50)
    assert "produce" not in scene.cluster.waiting
    assert scene.cluster.waiting["replica-fetch"] == 3 * 2 * 2 + 2  # two or three partitions of each leader
    scene.close()
