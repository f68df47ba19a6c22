"""Who a member says it is, and how long it may stay silent: checked as Kafka's ClassicGroup does."""

from __future__ import annotations

import pytest

from kafka.scene import Scene
from kafka.test_groups import Member, beat_all, group, stable, sync_all
from kafka.test_static_members import static, with_static
from sojourn.kafka import Error, JoinResponse, Settings, SyncResponse
from sojourn.kafka.groups.messages import GroupState


def error_of(member: Member, instance_id: str | None) -> set[Error]:
    """What heartbeat, sync and join say to a member that names this instance."""
    groups, generation = member.scene.groups, member.joined.generation
    sync = groups.sync_group("g", generation, member.id, instance_id=instance_id).response
    join = groups.join_group("g", member.id, instance_id=instance_id, session_ms=3_000).response
    assert sync is not None
    assert join is not None
    return {groups.heartbeat("g", generation, member.id, instance_id=instance_id), sync.error, join.error}


def test_a_known_member_with_an_unknown_instance_id_is_unknown(scene: Scene) -> None:
    one, two = with_static(scene)
    assert error_of(one, "stranger") == {Error.UNKNOWN_MEMBER_ID}
    assert error_of(two, "stranger") == {Error.UNKNOWN_MEMBER_ID}
    assert group(scene).state is GroupState.STABLE


def test_a_known_member_with_the_instance_id_of_another_is_fenced(scene: Scene) -> None:
    one, two = with_static(scene)
    assert error_of(one, "node") == {Error.FENCED_INSTANCE_ID}
    assert two.beat() is Error.NONE


def test_a_static_member_need_not_name_its_instance(scene: Scene) -> None:
    _, two = with_static(scene)
    assert two.beat() is Error.NONE
    assert two.sync().response == SyncResponse(Error.NONE, two.id.encode())


def test_nobody_leaves_under_the_instance_id_of_another(scene: Scene) -> None:
    one, two = with_static(scene)
    assert scene.groups.leave_group("g", one.id, instance_id="node") is Error.FENCED_INSTANCE_ID
    assert scene.groups.leave_group("g", "bogus", instance_id="node") is Error.FENCED_INSTANCE_ID
    assert scene.groups.leave_group("g", one.id, instance_id="stranger") is Error.UNKNOWN_MEMBER_ID
    assert set(group(scene).members) == {one.id, two.id}
    assert scene.groups.leave_group("g", two.id, instance_id="node") is Error.NONE


def test_a_member_that_joins_again_with_another_session_timeout_gets_it(scene: Scene) -> None:
    one = stable(scene, 1, session_ms=500)[0]
    one.options["session_ms"] = 2_000
    one.join()
    sync_all([one])
    scene.advance(1_999)
    assert set(group(scene).members) == {one.id}
    scene.advance(1)
    assert group(scene).members == {}


def test_a_member_that_joins_again_with_another_rebalance_timeout_gets_it(scene: Scene) -> None:
    one, two = stable(scene, session_ms=60_000, rebalance_ms=2_000)
    one.options["rebalance_ms"] = 1_000
    two.options["rebalance_ms"] = 1_500
    one.join()
    two.join()
    assert group(scene).rebalance_ms == 1_500
    sync_all([one, two])
    one.join()
    scene.advance(1_499)
    assert group(scene).state is GroupState.PREPARING_REBALANCE
    scene.advance(1)
    assert set(one.joined.members) == {one.id}


def test_a_static_member_that_restarts_with_other_timeouts_gets_them(scene: Scene) -> None:
    one, _ = with_static(scene)
    again = static(scene, session_ms=1_000)
    again.options["rebalance_ms"] = 7_000
    again.join()
    assert (again.joined.generation, group(scene).rebalance_ms) == (1, 7_000)
    scene.advance(999)
    assert set(group(scene).members) == {one.id, again.id}
    scene.advance(1)
    assert set(group(scene).members) == {one.id}


def test_a_follower_that_joins_a_stable_group_again_unchanged_is_told_how_things_stand(scene: Scene) -> None:
    _, two = stable(scene, rebalance_ms=2_000)
    two.options["rebalance_ms"] = 9_000
    two.join()
    assert (two.joined.generation, group(scene).rebalance_ms) == (1, 2_000)  # as in Kafka: nothing is updated


def test_a_new_member_that_never_comes_back_is_not_kept_for_the_whole_rebalance() -> None:
    scene = Scene(group_new_member_join_ms=1_000)
    one = stable(scene, 1, session_ms=500, rebalance_ms=60_000)[0]
    gone = Member(scene)
    joining = gone.join()
    beat_all(scene, [one], 900)
    scene.advance(99)
    assert (joining.response, len(group(scene).members)) == (None, 2)
    scene.advance(1)
    assert joining.response is not None
    assert joining.response.error is Error.UNKNOWN_MEMBER_ID
    assert set(group(scene).members) == {one.id}
    one.join()
    assert set(one.joined.members) == {one.id}
    scene.close()


def test_a_new_member_does_not_gain_time_by_asking_again() -> None:
    scene = Scene(group_new_member_join_ms=1_000)
    stable(scene, 1, session_ms=60_000, rebalance_ms=60_000)
    new = Member(scene)
    new.join()
    new.id = list(group(scene).members)[1]
    scene.advance(600)
    again = new.join()
    scene.advance(400)
    assert again.response == JoinResponse(Error.UNKNOWN_MEMBER_ID, new.id)
    scene.close()


def test_a_member_is_new_only_until_its_first_generation() -> None:
    scene = Scene(group_new_member_join_ms=1_000)
    one, two = stable(scene, session_ms=60_000, rebalance_ms=5_000)
    one.join()
    scene.advance(1_001)
    assert set(group(scene).members) == {one.id, two.id}
    scene.close()


def test_a_static_member_that_restarts_before_its_first_generation_is_still_new() -> None:
    scene = Scene(group_new_member_join_ms=1_000)
    stable(scene, 1, session_ms=60_000, rebalance_ms=60_000)
    static(scene).join()
    scene.advance(600)
    joining = static(scene).join()
    scene.advance(999)
    assert joining.response is None
    scene.advance(1)
    assert joining.response is not None
    assert joining.response.error is Error.UNKNOWN_MEMBER_ID
    scene.close()


def test_new_members_have_five_minutes_as_in_kafka() -> None:
    assert Settings().group_new_member_join_ms == 300_000


@pytest.mark.parametrize("silent_ms", [0, 1_000])
def test_the_session_of_a_static_member_that_did_not_join_again_begins_with_the_generation(
    scene: Scene, silent_ms: int
) -> None:
    one, two = with_static(scene)
    patient = Member(scene, session_ms=60_000, rebalance_ms=60_000)  # so that two may be late to sync as well
    scene.advance(silent_ms)
    one.join()
    patient.join()
    scene.advance(1_000)
    assert set(one.joined.members) == {one.id, two.id, patient.id}
    sync_all([one, patient])
    scene.advance(2_999)
    assert two.id in group(scene).members
    scene.advance(1)
    assert two.id not in group(scene).members
