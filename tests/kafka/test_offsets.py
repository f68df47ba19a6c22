"""Offsets that a group commits: who may, when, and that a commit is a sign of life."""

from __future__ import annotations

import pytest

from kafka.scene import Scene
from kafka.test_groups import Member, group, stable
from kafka.test_static_members import with_static
from sojourn.kafka import Error, TopicPartition

T0 = TopicPartition("t", 0)


def commit(member: Member, offset: int = 1, instance_id: str | None = None) -> Error:
    groups, generation = member.scene.groups, member.joined.generation
    return groups.commit_offsets("g", {T0: offset}, generation, member.id, instance_id=instance_id)


def test_what_a_member_commits_its_group_can_fetch(scene: Scene) -> None:
    one, two = stable(scene)
    assert [commit(one, 5), commit(two, 7)] == [Error.NONE, Error.NONE]
    assert scene.groups.commit_offsets("g", {("t", 1): 9}, 1, one.id) is Error.NONE
    assert scene.groups.fetch_offsets("g") == {T0: 7, TopicPartition("t", 1): 9}
    assert scene.groups.fetch_offsets("g", [("t", 1), ("t", 2)]) == {TopicPartition("t", 1): 9}
    assert scene.groups.fetch_offsets("nobody") == {}


def test_committing_offsets_keeps_a_member_alive(scene: Scene) -> None:
    one = stable(scene, 1, session_ms=500)[0]
    for offset in range(8):
        scene.advance(499)
        assert commit(one, offset) is Error.NONE
    scene.advance(499)
    assert set(group(scene).members) == {one.id}
    scene.advance(1)
    assert group(scene).members == {}


def test_offsets_may_be_committed_while_the_others_join_and_that_too_is_a_sign_of_life(scene: Scene) -> None:
    one, two = stable(scene, session_ms=500, rebalance_ms=5_000)
    one.join()
    for _ in range(4):
        scene.advance(400)
        assert commit(two) is Error.NONE
    assert set(group(scene).members) == {one.id, two.id}


def test_no_offset_is_committed_between_joining_and_syncing(scene: Scene) -> None:
    one = Member(scene, session_ms=500)
    one.join()
    scene.advance(300)
    scene.advance(499)
    assert commit(one) is Error.REBALANCE_IN_PROGRESS
    scene.advance(1)  # which was no sign of life
    assert group(scene).members == {}
    assert scene.groups.fetch_offsets("g") == {}


def test_only_a_member_of_the_generation_may_commit(scene: Scene) -> None:
    one, two = with_static(scene)
    groups = scene.groups
    assert groups.commit_offsets("g", {T0: 1}, 7, one.id) is Error.ILLEGAL_GENERATION
    assert groups.commit_offsets("g", {T0: 1}, 1, "stranger") is Error.UNKNOWN_MEMBER_ID
    assert (
        groups.commit_offsets("g", {T0: 1}) is Error.UNKNOWN_MEMBER_ID
    )  # the group has members: it is one's own no more
    assert commit(one, instance_id="node") is Error.FENCED_INSTANCE_ID
    assert commit(two, instance_id="stranger") is Error.UNKNOWN_MEMBER_ID
    assert commit(two, instance_id="node") is Error.NONE
    assert groups.commit_offsets("nobody", {T0: 1}, 1, one.id) is Error.ILLEGAL_GENERATION
    assert groups.fetch_offsets("g") == {T0: 1}
    assert list(groups.groups) == ["g"]


def test_who_does_without_a_group_may_still_commit_under_its_name(scene: Scene) -> None:
    assert scene.groups.commit_offsets("alone", {T0: 3}) is Error.NONE
    assert scene.groups.fetch_offsets("alone") == {T0: 3}
    assert scene.groups.describe_group("alone").state.name == "EMPTY"


def test_a_group_that_is_empty_keeps_its_offsets_and_takes_more(scene: Scene) -> None:
    one = stable(scene, 1)[0]
    commit(one, 5)
    one.leave()
    assert scene.groups.fetch_offsets("g") == {T0: 5}
    assert scene.groups.commit_offsets("g", {T0: 6}) is Error.NONE
    assert scene.groups.fetch_offsets("g") == {T0: 6}


@pytest.mark.parametrize("offset", [-1, -7])
def test_a_negative_offset_is_refused(scene: Scene, offset: int) -> None:
    with pytest.raises(ValueError, match=f"offset {offset} of t-0 is negative"):
        scene.groups.commit_offsets("alone", {T0: offset})
