from __future__ import annotations

import pytest

from kafka.scene import Scene
from sojourn.kafka import Error, JoinResponse, SyncResponse
from sojourn.kafka.groups.messages import GroupState
from sojourn.kafka.requests.request import Reply


class Member:
    """A member of group g, by hand."""

    def __init__(
        self,
        scene: Scene,
        *,
        instance_id: str | None = None,
        protocols: dict[str, bytes] | None = None,
        rebalance_ms: int = 2_000,
        session_ms: int = 500,
    ) -> None:
        self.scene = scene
        self.options = {"instance_id": instance_id, "rebalance_ms": rebalance_ms, "session_ms": session_ms}
        self.protocols = protocols or {"range": b""}
        self.id = ""
        self.joining: Reply[JoinResponse] | None = None

    def join(self) -> Reply[JoinResponse]:
        self.joining = self.scene.groups.join_group("g", self.id, protocols=self.protocols, **self.options)  # type: ignore[arg-type]
        self.joining.then(self._joined)
        return self.joining

    def _joined(self, response: JoinResponse) -> None:
        self.id = response.member_id or self.id

    @property
    def joined(self) -> JoinResponse:
        assert self.joining is not None
        assert self.joining.response is not None
        return self.joining.response

    def sync(self, assignments: dict[str, bytes] | None = None) -> Reply[SyncResponse]:
        return self.scene.groups.sync_group("g", self.joined.generation, self.id, assignments)

    def beat(self) -> Error:
        return self.scene.groups.heartbeat("g", self.joined.generation, self.id)

    def leave(self) -> Error:
        return self.scene.groups.leave_group("g", self.id)


def stable(scene: Scene, count: int = 2, **options: object) -> list[Member]:
    """Members that have joined and synced; the first leads."""
    members = [Member(scene, **options) for _ in range(count)]  # type: ignore[arg-type]
    for member in members:
        member.join()
    scene.advance(600)
    sync_all(members)
    return members


def sync_all(members: list[Member]) -> None:
    leader = next(member for member in members if member.joined.leader == member.id)
    replies = [member.sync() for member in members if member is not leader]
    replies.append(leader.sync({member.id: member.id.encode() for member in members}))
    assert all(reply.response is not None and reply.response.error.is_ok for reply in replies)


def beat_all(scene: Scene, members: list[Member], ms: int) -> None:
    for _ in range(ms // 100):
        scene.advance(100)
        for member in members:
            member.beat()


def group(scene: Scene):  # type: ignore[no-untyped-def]
    return scene.groups.groups["g"]


def test_a_new_group_waits_its_initial_delay_and_then_all_are_in_one_generation(scene: Scene) -> None:
    one, two = Member(scene), Member(scene)
    one.join()
    two.join()
    scene.advance(599)
    assert one.joining is not None
    assert one.joining.response is None
    scene.advance(1)
    assert [one.joined.generation, two.joined.generation] == [1, 1]
    assert one.joined.leader == two.joined.leader == one.id
    assert set(one.joined.members) == {one.id, two.id}
    assert two.joined.members == {}


def test_a_single_member_waits_the_initial_delay_once(scene: Scene) -> None:
    one = Member(scene)
    one.join()
    scene.advance(300)
    assert one.joined.generation == 1


def test_the_initial_delay_is_extended_while_members_arrive_up_to_the_rebalance_timeout(scene: Scene) -> None:
    members = [Member(scene, rebalance_ms=1_000) for _ in range(12)]
    for member in members[:9]:
        member.join()
        scene.advance(111)
    assert [m.joining is not None and m.joining.response for m in members[:9]] == [None] * 9
    scene.advance(1)
    assert [member.joined.generation for member in members[:9]] == [1] * 9
    assert "initial-join" not in scene.cluster.waiting


def test_without_an_initial_delay_the_first_member_is_alone_in_its_generation() -> None:
    scene = Scene(group_initial_delay_ms=0)
    one = Member(scene)
    one.join()
    scene.advance(1)
    assert one.joined.generation == 1
    scene.close()


def test_a_rebalance_is_over_when_the_last_member_has_joined_again(scene: Scene) -> None:
    one, two = stable(scene)
    three = Member(scene)
    three.join()
    assert one.beat() is Error.REBALANCE_IN_PROGRESS
    one.join()
    scene.advance(100)
    assert three.joining is not None
    assert three.joining.response is None
    two.join()
    assert [member.joined.generation for member in (one, two, three)] == [2, 2, 2]
    assert set(one.joined.members) == {one.id, two.id, three.id}


def test_members_missing_at_the_rebalance_timeout_are_dropped(scene: Scene) -> None:
    one, two = stable(scene, session_ms=5_000)
    three = Member(scene)
    three.join()
    one.join()
    scene.advance(1_999)
    assert one.joining is not None
    assert one.joining.response is None
    scene.advance(1)
    assert set(group(scene).members) == {one.id, three.id}
    assert (one.joined.generation, two.beat()) == (2, Error.UNKNOWN_MEMBER_ID)


def test_the_most_patient_member_says_how_long_a_rebalance_may_take(scene: Scene) -> None:
    one, _ = stable(scene, session_ms=9_000)
    Member(scene, rebalance_ms=4_000).join()
    one.join()
    scene.advance(3_999)
    assert group(scene).state is GroupState.PREPARING_REBALANCE
    scene.advance(1)
    assert group(scene).state is GroupState.COMPLETING_REBALANCE


def test_if_the_leader_is_missing_another_one_leads(scene: Scene) -> None:
    _, two = stable(scene, session_ms=5_000)
    two.protocols = {"range": b"changed"}
    two.join()
    scene.advance(2_000)
    assert (two.joined.leader, set(two.joined.members)) == (two.id, {two.id})


def test_a_member_that_is_not_heard_of_is_dropped_after_its_session_and_the_others_rebalance(scene: Scene) -> None:
    one, two = stable(scene)
    beat_all(scene, [one], 400)
    assert set(group(scene).members) == {one.id, two.id}
    scene.advance(100)
    assert set(group(scene).members) == {one.id}
    assert one.beat() is Error.REBALANCE_IN_PROGRESS
    one.join()
    assert (one.joined.generation, set(one.joined.members)) == (2, {one.id})


def test_heartbeats_keep_a_member_alive_however_long(scene: Scene) -> None:
    members = stable(scene)
    beat_all(scene, members, 5_000)
    assert [member.beat() for member in members] == [Error.NONE, Error.NONE]
    sessions = [event for event in scene.log.events if event.kind == "session"]
    assert len(sessions) == 6  # one while new, one after joining and one after syncing, each


def test_a_member_that_waits_for_the_others_owes_no_heartbeat(scene: Scene) -> None:
    one, two = stable(scene, rebalance_ms=5_000)
    three = Member(scene, rebalance_ms=5_000)
    three.join()
    one.join()
    beat_all(scene, [two], 3_000)
    assert len(group(scene).members) == 3
    two.join()
    assert three.joined.generation == 2


def test_a_member_that_waits_for_its_assignment_owes_no_heartbeat(scene: Scene) -> None:
    one, two = Member(scene), Member(scene)
    one.join()
    two.join()
    scene.advance(600)
    waiting = two.sync()
    beat_all(scene, [one], 1_500)
    one.sync({two.id: b"yours"})
    assert waiting.response == SyncResponse(Error.NONE, b"yours")


def test_a_member_that_dies_during_a_rebalance_is_not_waited_for_to_its_end(scene: Scene) -> None:
    one, two = stable(scene, rebalance_ms=60_000)
    Member(scene).join()
    one.join()
    scene.advance(500)
    assert two.id not in group(scene).members
    assert one.joined.generation == 2


def test_leaving_begins_a_rebalance_or_lets_one_go_on(scene: Scene) -> None:
    one, two, three = stable(scene, 3)
    assert three.leave() is Error.NONE
    assert group(scene).state is GroupState.PREPARING_REBALANCE
    one.join()
    assert two.leave() is Error.NONE
    assert (one.joined.generation, set(one.joined.members)) == (2, {one.id})


def test_a_member_that_leaves_while_it_joins_is_answered(scene: Scene) -> None:
    one, two = Member(scene), Member(scene)
    joining = one.join()
    two.join()
    one.id = next(iter(group(scene).members))
    one.leave()
    assert joining.response == JoinResponse(Error.UNKNOWN_MEMBER_ID, one.id)
    scene.advance(600)
    assert set(two.joined.members) == {two.id}


def test_when_all_have_left_the_group_is_empty_and_the_generation_goes_on(scene: Scene) -> None:
    one, two = stable(scene)
    one.leave()
    two.leave()
    assert (group(scene).state, group(scene).members) == (GroupState.EMPTY, {})
    generation = group(scene).generation
    three = Member(scene)
    three.join()
    scene.advance(300)
    assert three.joined.generation == generation + 1


def test_all_who_join_and_leave_before_the_initial_delay_is_over_leave_an_empty_group(scene: Scene) -> None:
    one = Member(scene)
    one.join()
    one.id = next(iter(group(scene).members))
    one.leave()
    scene.advance(300)
    assert (group(scene).state, group(scene).generation) == (GroupState.EMPTY, 1)


def test_assignments_are_given_when_the_leader_brings_them(scene: Scene) -> None:
    one, two = Member(scene), Member(scene)
    one.join()
    two.join()
    scene.advance(600)
    waiting = two.sync()
    assert waiting.response is None
    leader = one.sync({one.id: b"first", two.id: b"second"})
    assert (leader.response, waiting.response) == (
        SyncResponse(Error.NONE, b"first"),
        SyncResponse(Error.NONE, b"second"),
    )
    assert two.sync().response == SyncResponse(Error.NONE, b"second")


def test_a_member_that_does_not_sync_in_time_is_dropped(scene: Scene) -> None:
    one, two = Member(scene, rebalance_ms=1_000), Member(scene, rebalance_ms=1_000)
    one.join()
    two.join()
    scene.advance(600)
    one.sync({})
    beat_all(scene, [one, two], 1_000)
    assert set(group(scene).members) == {one.id}
    assert one.beat() is Error.REBALANCE_IN_PROGRESS


def test_a_rebalance_answers_those_who_wait_for_their_assignment(scene: Scene) -> None:
    one, two = Member(scene), Member(scene)
    one.join()
    two.join()
    scene.advance(600)
    waiting = two.sync()
    Member(scene).join()
    assert waiting.response == SyncResponse(Error.REBALANCE_IN_PROGRESS)
    assert two.sync().response == SyncResponse(Error.REBALANCE_IN_PROGRESS)
    assert "sync" not in scene.cluster.waiting


def test_another_generation_or_an_unknown_member_is_an_error(scene: Scene) -> None:
    one, _ = stable(scene)
    groups = scene.groups
    assert groups.heartbeat("g", 7, one.id) is Error.ILLEGAL_GENERATION
    assert groups.sync_group("g", 7, one.id).response == SyncResponse(Error.ILLEGAL_GENERATION)
    for name in ("g", "nobody"):
        assert groups.heartbeat(name, 1, "stranger") is Error.UNKNOWN_MEMBER_ID
        assert groups.sync_group(name, 1, "stranger").response == SyncResponse(Error.UNKNOWN_MEMBER_ID)
        assert groups.leave_group(name, "stranger") is Error.UNKNOWN_MEMBER_ID
        assert groups.join_group(name, "stranger").response == JoinResponse(Error.UNKNOWN_MEMBER_ID, "stranger")
    assert list(groups.groups) == ["g"]  # no group is made by those who cannot join


def test_a_group_without_a_name_or_a_session_out_of_bounds_is_refused(scene: Scene) -> None:
    assert scene.groups.join_group("").response == JoinResponse(Error.INVALID_GROUP_ID)
    for session_ms in (99, 1_800_001):
        response = scene.groups.join_group("g", session_ms=session_ms).response
        assert response == JoinResponse(Error.INVALID_SESSION_TIMEOUT)


def test_members_agree_on_a_protocol_that_all_speak(scene: Scene) -> None:
    one = Member(scene, protocols={"sticky": b"", "range": b"1"})
    two = Member(scene, protocols={"sticky": b"", "range": b"2"})
    three = Member(scene, protocols={"range": b"3", "roundrobin": b""})
    for member in (one, two, three):
        member.join()
    odd = Member(scene, protocols={"sticky": b""})
    assert odd.join().response == JoinResponse(Error.INCONSISTENT_GROUP_PROTOCOL)
    assert Member(scene, protocols={"other": b""}).join().response == JoinResponse(Error.INCONSISTENT_GROUP_PROTOCOL)
    scene.advance(600)
    assert one.joined.protocol == "range"
    assert dict(one.joined.members) == {one.id: b"1", two.id: b"2", three.id: b"3"}


@pytest.mark.parametrize("is_leader", [True, False])
def test_in_a_stable_group_a_member_that_joins_again_unchanged_rebalances_only_as_leader(
    scene: Scene, is_leader: bool
) -> None:
    one, two = stable(scene)
    joining = (one if is_leader else two).join()
    if is_leader:
        assert joining.response is None
        assert group(scene).state is GroupState.PREPARING_REBALANCE
    else:
        assert joining.response is not None
        assert (joining.response.generation, group(scene).state) == (1, GroupState.STABLE)


def test_a_member_that_asks_twice_is_answered_twice(scene: Scene) -> None:
    one = Member(scene)
    first = one.join()
    one.id = next(iter(group(scene).members))
    second = one.join()
    assert first.response == JoinResponse(Error.REBALANCE_IN_PROGRESS, one.id)
    scene.advance(300)
    assert second.response is not None
    assert second.response.error is Error.NONE


def test_generations_strictly_increase(scene: Scene) -> None:
    one = stable(scene, 1)[0]
    seen = [one.joined.generation]
    for _ in range(5):
        one.join()
        seen.append(one.joined.generation)
        sync_all([one])
    assert seen == [1, 2, 3, 4, 5, 6]


def test_a_cluster_that_closes_leaves_no_member_waiting_in_a_purgatory(scene: Scene) -> None:
    stable(scene)
    Member(scene).join()
    scene.cluster.close()
    assert scene.cluster.waiting == {}
