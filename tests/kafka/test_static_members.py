from __future__ import annotations

from kafka.scene import Scene
from kafka.test_groups import Member, group, stable, sync_all
from sojourn.kafka import Error, SyncResponse
from sojourn.kafka.groups.messages import GroupState


def static(scene: Scene, name: str = "node", session_ms: int = 3_000) -> Member:
    return Member(scene, instance_id=name, session_ms=session_ms, rebalance_ms=1_000)


def with_static(scene: Scene) -> tuple[Member, Member]:
    """A stable group of one dynamic member, who leads, and one static."""
    one, two = Member(scene, session_ms=60_000, rebalance_ms=1_000), static(scene)
    one.join()
    two.join()
    scene.advance(600)
    sync_all([one, two])
    return one, two


def test_a_static_member_that_restarts_keeps_its_place_without_a_rebalance(scene: Scene) -> None:
    one, two = with_static(scene)
    again = static(scene)
    again.join()
    assert again.id != two.id
    assert (again.joined.generation, group(scene).state) == (1, GroupState.STABLE)
    assert again.sync().response == SyncResponse(Error.NONE, two.id.encode())
    assert one.beat() is Error.NONE


def test_its_former_self_is_fenced(scene: Scene) -> None:
    _, two = with_static(scene)
    static(scene).join()
    groups = scene.groups
    assert groups.heartbeat("g", 1, two.id, instance_id="node") is Error.FENCED_INSTANCE_ID
    assert groups.sync_group("g", 1, two.id, instance_id="node").response == SyncResponse(Error.FENCED_INSTANCE_ID)
    reply = groups.join_group("g", two.id, instance_id="node", session_ms=3_000)
    assert reply.response is not None
    assert reply.response.error is Error.FENCED_INSTANCE_ID


def test_a_static_leader_that_restarts_leads_on(scene: Scene) -> None:
    one = static(scene)
    one.join()
    scene.advance(300)
    sync_all([one])
    again = static(scene)
    again.join()
    assert (again.joined.leader, again.joined.members, group(scene).leader) == (again.id, {}, again.id)


def test_one_that_comes_back_with_other_protocols_rebalances(scene: Scene) -> None:
    with_static(scene)
    again = static(scene)
    again.protocols = {"range": b"changed"}
    again.join()
    assert group(scene).state is GroupState.PREPARING_REBALANCE


def test_two_at_once_with_one_name_leave_the_later_one(scene: Scene) -> None:
    first, second = static(scene), static(scene)
    joining = first.join()
    second.join()
    assert joining.response is not None
    assert joining.response.error is Error.FENCED_INSTANCE_ID
    scene.advance(600)
    assert set(second.joined.members) == {second.id}


def test_a_static_member_that_misses_a_rebalance_keeps_its_place_until_it_has_not_synced_either(scene: Scene) -> None:
    one, two = with_static(scene)
    three = Member(scene, session_ms=60_000, rebalance_ms=1_000)
    three.join()
    one.join()
    scene.advance(1_000)
    assert set(one.joined.members) == {one.id, two.id, three.id}
    sync_all([one, three])
    scene.advance(999)
    assert two.id in group(scene).members
    scene.advance(1)  # the time to sync is over, sooner than its session
    assert two.id not in group(scene).members


def test_if_only_static_members_are_missing_and_nobody_is_there_the_group_waits_on(scene: Scene) -> None:
    one, two = with_static(scene)
    one.leave()
    scene.advance(1_000)
    assert (group(scene).state, set(group(scene).members)) == (GroupState.PREPARING_REBALANCE, {two.id})
    two.join()
    assert two.joined.generation == 2


def test_a_static_member_leaves_by_its_name(scene: Scene) -> None:
    _, two = with_static(scene)
    assert scene.groups.leave_group("g", instance_id="other") is Error.UNKNOWN_MEMBER_ID
    assert scene.groups.leave_group("g", instance_id="node") is Error.NONE
    assert two.id not in group(scene).members


def test_a_dynamic_member_that_restarts_is_another_member(scene: Scene) -> None:
    one, _ = stable(scene)
    again = Member(scene)
    again.join()
    assert len(group(scene).members) == 3
    assert one.id in group(scene).members
