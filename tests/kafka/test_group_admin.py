"""What an administrator asks about groups: how large they may be, which there are, who is in them; and their end."""

from __future__ import annotations

from kafka.scene import Scene
from kafka.test_groups import Member, group, stable, sync_all
from kafka.test_offsets import T0
from kafka.test_static_members import static, with_static
from sojourn.kafka import Error, GroupDescription, JoinResponse, MemberDescription, MemberIdentity
from sojourn.kafka.groups.messages import GroupState

FULL = JoinResponse(Error.GROUP_MAX_SIZE_REACHED)


def test_a_group_has_at_most_its_max_size_while_it_forms() -> None:
    scene = Scene(group_max_size=2)
    members = [Member(scene) for _ in range(4)]
    assert [member.join().response for member in members] == [None, None, FULL, FULL]
    scene.advance(600)
    assert set(members[0].joined.members) == {members[0].id, members[1].id}
    scene.close()


def test_a_stable_group_that_is_full_takes_nobody_new_and_does_not_rebalance() -> None:
    scene = Scene(group_max_size=2)
    one, two = stable(scene)
    assert Member(scene).join().response == FULL
    assert (one.beat(), two.beat()) == (Error.NONE, Error.NONE)
    one.join()
    two.join()
    assert set(one.joined.members) == {one.id, two.id}
    scene.close()


def test_while_a_group_rebalances_whoever_joins_last_is_left_out() -> None:
    scene = Scene(group_max_size=2)
    one, two = stable(scene)
    one.join()
    new = Member(scene)
    new.join()
    assert two.join().response == FULL
    assert set(one.joined.members) == {one.id, new.id}
    assert scene.groups.heartbeat("g", 2, two.id) is Error.UNKNOWN_MEMBER_ID
    scene.close()


def test_one_that_waits_in_a_full_group_may_ask_again() -> None:
    scene = Scene(group_max_size=1)
    one = Member(scene)
    one.join()
    one.id = next(iter(group(scene).members))
    again = one.join()
    scene.advance(300)
    assert again.response is not None
    assert again.response.error is Error.NONE
    scene.close()


def test_a_static_member_that_restarts_takes_its_place_in_a_full_group() -> None:
    scene = Scene(group_max_size=2)
    one, _ = with_static(scene)
    again = static(scene)
    again.join()
    assert (again.joined.error, again.joined.generation) == (Error.NONE, 1)
    one.join()
    assert static(scene, "other").join().response is None
    assert static(scene).join().response == FULL
    assert again.id in group(scene).members  # its former self stays
    scene.close()


def test_groups_are_listed_by_name_and_state(scene: Scene) -> None:
    stable(scene, 1)
    scene.groups.join_group("h")
    scene.groups.commit_offsets("alone", {T0: 1})
    everything = {"g": GroupState.STABLE, "h": GroupState.PREPARING_REBALANCE, "alone": GroupState.EMPTY}
    assert scene.groups.list_groups() == everything
    assert scene.groups.list_groups([GroupState.EMPTY, GroupState.DEAD]) == {"alone": GroupState.EMPTY}


def test_a_stable_group_is_described_with_protocol_and_assignments(scene: Scene) -> None:
    one, two = with_static(scene)
    members = [
        MemberDescription(one.id, None, b"", one.id.encode()),
        MemberDescription(two.id, "node", b"", two.id.encode()),
    ]
    assert scene.groups.describe_group("g") == GroupDescription(Error.NONE, GroupState.STABLE, 1, "range", members)


def test_of_a_group_that_rebalances_only_the_members_are_described(scene: Scene) -> None:
    one, two = stable(scene)
    one.protocols = {"range": b"new"}
    one.join()
    description = scene.groups.describe_group("g")
    members = [MemberDescription(one.id), MemberDescription(two.id)]
    assert description == GroupDescription(Error.NONE, GroupState.PREPARING_REBALANCE, 1, "", members)


def test_a_group_that_is_not_there_is_described_as_dead(scene: Scene) -> None:
    assert scene.groups.describe_group("nobody") == GroupDescription(Error.GROUP_ID_NOT_FOUND, GroupState.DEAD)


def test_only_an_empty_group_can_be_deleted_and_its_offsets_go_with_it(scene: Scene) -> None:
    one = stable(scene, 1)[0]
    scene.groups.commit_offsets("alone", {T0: 1})
    assert scene.groups.delete_groups(["g", "alone", "nobody"]) == {
        "g": Error.NON_EMPTY_GROUP,
        "alone": Error.NONE,
        "nobody": Error.GROUP_ID_NOT_FOUND,
    }
    assert scene.groups.fetch_offsets("alone") == {}
    one.leave()
    assert scene.groups.delete_groups(["g"]) == {"g": Error.NONE}
    assert scene.groups.list_groups() == {}


def test_a_group_that_still_waits_for_members_to_arrive_cannot_be_deleted(scene: Scene) -> None:
    Member(scene).join()
    assert scene.groups.delete_groups(["g"]) == {"g": Error.NON_EMPTY_GROUP}


def test_a_group_can_be_made_again_after_it_was_deleted(scene: Scene) -> None:
    one = stable(scene, 1)[0]
    one.leave()
    scene.groups.delete_groups(["g"])
    again = Member(scene)
    again.join()
    scene.advance(300)
    assert again.joined.generation == 1


def test_several_leave_at_once_each_with_an_error_of_its_own(scene: Scene) -> None:
    one, two = with_static(scene)
    leaving = [
        MemberIdentity("stranger"),
        MemberIdentity(one.id, "node"),
        MemberIdentity(instance_id="node"),
        MemberIdentity(two.id),
        MemberIdentity(),
    ]
    assert scene.groups.leave_members("g", leaving) == [
        Error.UNKNOWN_MEMBER_ID,
        Error.FENCED_INSTANCE_ID,
        Error.NONE,
        Error.UNKNOWN_MEMBER_ID,  # it has left already, by its name
        Error.UNKNOWN_MEMBER_ID,
    ]
    assert set(group(scene).members) == {one.id}
    assert scene.groups.leave_members("nobody", [MemberIdentity(one.id)]) == [Error.UNKNOWN_MEMBER_ID]


def test_those_who_stay_rebalance_once_however_many_leave(scene: Scene) -> None:
    one, two, three = stable(scene, 3)
    scene.groups.leave_members("g", [MemberIdentity(two.id), MemberIdentity(three.id)])
    one.join()
    assert (one.joined.generation, set(one.joined.members)) == (2, {one.id})
    sync_all([one])
    assert sum(event.kind == "join" for event in scene.log.events) == 1


def test_when_all_leave_at_once_the_group_is_empty(scene: Scene) -> None:
    members = stable(scene, 3)
    errors = scene.groups.leave_members("g", [MemberIdentity(member.id) for member in members])
    assert (errors, group(scene).state, group(scene).generation) == ([Error.NONE] * 3, GroupState.EMPTY, 2)
