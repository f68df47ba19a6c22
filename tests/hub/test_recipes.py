"""Kafka's patterns: each recipe does what its name says, at its limits too, on either build."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from concurrent.futures import Future
from typing import Any

import pytest

from hub.scene import Scene
from sojourn import AsyncHub, HubFullError, RuleError, recipes
from sojourn.recipes import Barrier, Batcher, DeadMansSwitch, DelayedFuture, LowWaterMark, Quorum, Readiness

RUN_THE_EXAMPLES = """
import doctest, sojourn.recipes, sojourn.timer
ran = doctest.testmod(sojourn.recipes)
print(sojourn.timer.IMPLEMENTATION, ran.attempted > 0, ran.failed)
"""


@pytest.mark.parametrize("implementation", ["pure", "compiled"])
def test_the_examples_in_the_docstrings_run(implementation: str) -> None:
    environment = os.environ | {"SOJOURN_PURE": "1" if implementation == "pure" else ""}
    ran = subprocess.run(
        [sys.executable, "-c", RUN_THE_EXAMPLES], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout.splitlines()[-1:] == [f"{implementation} True 0"], ran.stdout


# Quorum


def test_a_quorum_is_made_by_so_many_different_replicas(scene: Scene) -> None:
    quorum = Quorum(scene.hub, "write", acks=3, within=10)
    assert [quorum.ack(replica) for replica in (1, 2, 2, 1, 3, 4)] == [False, False, False, False, True, False]
    assert quorum.wait.result(0).outcome == "completed"
    scene.check()


def test_a_quorum_that_is_not_made_in_time_says_who_is_missing(scene: Scene) -> None:
    quorum = Quorum(scene.hub, "write", acks=2, within=10)
    quorum.ack("one")
    scene.advance(11)
    assert not quorum.ack("two")
    outcome = quorum.wait.result(0)
    assert (outcome.outcome, outcome.missing) == ("expired", "1 of 2 ack")
    assert outcome.explain().endswith("seen 1 of 2 acks (one), missing 1")


# Batcher


class Batches:
    """A batcher that delivers three items or more, or whatever there is after 10 ms."""

    def __init__(self, scene: Scene, **options: Any) -> None:
        self.scene = scene
        self.delivered: list[tuple[int, list[Any]]] = []
        self.batcher: Batcher[Any] = Batcher(
            scene.hub, "partition", self._deliver, **{"at_least": 3, "within": 10} | options
        )

    def _deliver(self, items: list[Any]) -> None:
        self.delivered.append((self.scene.clock.now_ms, items))

    def add(self, *items: Any) -> None:
        for item in items:
            self.batcher.add(item)
        self.scene.check()


class StrictLock:
    """What would wait for itself for ever fails instead."""

    def __init__(self) -> None:
        self._is_held = False

    def __enter__(self) -> None:
        assert not self._is_held, "deadlock"
        self._is_held = True

    def __exit__(self, *exc_info: object) -> None:
        self._is_held = False


def test_a_batch_is_delivered_as_soon_as_there_is_enough(scene: Scene) -> None:
    batches = Batches(scene)
    batches.add(*"abcdefg")
    assert batches.delivered == [(0, ["a", "b", "c"]), (0, ["d", "e", "f"])]
    scene.advance(11)
    assert batches.delivered[2:] == [(11, ["g"])]
    assert scene.counts()[0] == 0


def test_the_time_of_a_batch_starts_with_its_first_item(scene: Scene) -> None:
    batches = Batches(scene)
    scene.advance(100)
    batches.add("a")
    scene.advance(9)
    batches.add("b")
    scene.advance(2)
    assert batches.delivered == [(111, ["a", "b"])]
    assert scene.advance(100) == 0


def test_sizes_count_and_one_item_may_be_enough(scene: Scene) -> None:
    batches = Batches(scene, at_least=10, size=len)
    batches.add("x" * 10, "y" * 4, "z" * 7)
    assert [[len(item) for item in items] for _, items in batches.delivered] == [[10], [4, 7]]


def test_what_a_delivery_raises_is_reported_and_the_next_batch_is_delivered(scene: Scene) -> None:
    batches = Batches(scene)
    batches.batcher._deliver = lambda items: {}["missing"] if "a" in items else batches._deliver(items)
    batches.add(*"abcdef")
    assert [type(error) for _, error in scene.errors] == [KeyError]
    assert batches.delivered == [(0, ["d", "e", "f"])]


def test_a_delivery_may_add_to_the_next_batch(scene: Scene) -> None:
    batches = Batches(scene)
    deliver = batches.batcher._deliver
    batches.batcher._deliver = lambda items: (deliver(items), batches.batcher.add("again"))
    batches.add(*"abcd")
    scene.advance(11)
    assert batches.delivered == [(0, ["a", "b", "c"]), (11, ["again", "d"])]


def test_closing_the_hub_delivers_what_has_gathered(scene: Scene) -> None:
    batches = Batches(scene)
    batches.add("a")
    scene.hub.close()
    assert batches.delivered == [(0, ["a"])]


def test_an_item_that_finds_no_room_is_refused_and_not_kept(make_scene: Any) -> None:
    scene = make_scene(max_pending=0)
    batches = Batches(scene)
    with pytest.raises(HubFullError):
        batches.add("a")
    assert batches.batcher._batch is None
    assert scene.counts() == (0, 0, 0, 0)


@pytest.mark.parametrize("size", [-1, "much", None], ids=repr)
def test_an_item_without_a_size_is_refused_and_not_kept(scene: Scene, size: Any) -> None:
    batches = Batches(scene, size=lambda item: size if item == "odd" else 1)
    batches.add("a")
    with pytest.raises(RuleError, match=r"size\('odd'\): .* 'item'"):
        batches.add("odd")
    batches.add("b", "c")
    assert batches.delivered == [(0, ["a", "b", "c"])]


def test_an_item_of_a_batch_that_is_gone_does_not_count_for_the_next(scene: Scene) -> None:
    """Before "slow" is counted its batch is delivered, and another has begun."""
    batches, signal = Batches(scene, size=lambda item: 2), scene.hub.signal

    def meanwhile(*arguments: Any, **options: Any) -> int:
        scene.hub.signal = signal
        scene.advance(11)
        batches.add("a")
        return signal(*arguments, **options)

    scene.hub.signal = meanwhile
    batches.add("slow")
    assert batches.delivered == [(11, ["slow"])]
    batches.add("b")
    assert batches.delivered[1:] == [(11, ["a", "b"])]


def test_two_batchers_may_share_a_key(scene: Scene) -> None:
    one, other = Batches(scene), Batches(scene)
    one.add("a", "b")
    other.add("c")
    scene.advance(11)
    assert (one.delivered, other.delivered) == ([(11, ["a", "b"])], [(11, ["c"])])


def test_batches_are_the_same_on_a_hub_that_remembers(make_scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an earlier batch has counted is not counted again."""
    monkeypatch.setattr(recipes, "Lock", StrictLock)
    scene = make_scene(remember="1 s")
    batches = Batches(scene)
    batches.add(*"abcd")
    assert batches.delivered == [(0, ["a", "b", "c"])]
    scene.advance(11)
    assert batches.delivered[1:] == [(11, ["d"])]


# Barrier


def test_a_barrier_opens_when_all_have_arrived_and_says_so_to_the_last(scene: Scene) -> None:
    barrier = Barrier(scene.hub, "group", parties=2, within=10)
    assert [barrier.arrive("ann"), barrier.arrive("ann"), barrier.arrive("bob")] == [False, False, True]
    assert barrier.wait.result(0).outcome == "completed"


def test_a_barrier_that_is_not_full_in_time_stays_closed(scene: Scene) -> None:
    barrier = Barrier(scene.hub, "group", parties=2, within=10)
    scene.advance(10)
    assert not barrier.arrive("ann")
    scene.advance(1)
    assert not barrier.arrive("bob")
    assert barrier.wait.result(0).missing == "1 of 2 arrival"


# DeadMansSwitch


def test_a_switch_is_held_by_beats_and_goes_off_once_without(scene: Scene) -> None:
    switch = DeadMansSwitch(scene.hub, "member", within=10, callback=scene.note)
    for _ in range(5):
        scene.advance(10)
        switch.beat()
    scene.advance(10)
    assert scene.told == []
    scene.advance(1)
    switch.beat()
    assert scene.told == [(switch.wait.id, "expired", 60)]
    assert scene.advance(1_000) == 0


def test_a_switch_that_is_stopped_calls_nobody(scene: Scene) -> None:
    switch = DeadMansSwitch(scene.hub, "member", within=10, callback=scene.note)
    assert (switch.stop(), switch.stop()) == (True, False)
    scene.advance(100)
    assert (scene.told, switch.wait.outcome, scene.errors) == ([], "cancelled", [])


def test_a_switch_that_has_gone_off_cannot_be_stopped(scene: Scene) -> None:
    switch = DeadMansSwitch(scene.hub, "member", within=10)
    scene.advance(11)
    assert not switch.stop()
    assert switch.wait.explain().endswith("no beat for 10 ms")


# LowWaterMark


def test_a_mark_is_reached_when_every_replica_has_and_no_replica_counts_twice(scene: Scene) -> None:
    mark = LowWaterMark(scene.hub, "partition", at_least=100, replicas=2, within=10)
    reports = [("one", 100), ("one", 200), ("two", 99.5), ("two", 100)]
    assert [mark.report(*report) for report in reports] == [False, False, False, True]
    assert mark.wait.result(0).outcome == "completed"


def test_a_mark_that_is_not_reached_says_what_is_missing(scene: Scene) -> None:
    mark = LowWaterMark(scene.hub, "partition", at_least=100, replicas=2, within=10)
    mark.report("one", 120)
    scene.advance(11)
    assert mark.wait.result(0).missing == "1 of 2 sources with level >= 100"


def test_a_level_that_is_no_number_is_an_error_for_the_one_who_reports(scene: Scene) -> None:
    mark = LowWaterMark(scene.hub, "partition", at_least=100, replicas=2, within=10)
    with pytest.raises(RuleError):
        mark.report("one", None)  # type: ignore[arg-type]


# Readiness


def test_all_parts_ready_is_said_to_the_last(scene: Scene) -> None:
    topics = Readiness(scene.hub, "request", ["orders", "fines"], within=10)
    assert [topics.ready("fines"), topics.ready("fines"), topics.ready("orders")] == [False, False, True]
    assert (topics.ready_parts, topics.missing_parts) == (["orders", "fines"], [])
    assert topics.wait.result(0).outcome == "completed"


def test_a_partial_answer_is_what_was_ready_in_time(scene: Scene) -> None:
    topics = Readiness(scene.hub, "request", ["a", "b", "c"], within=10, callback=scene.note, id="x")
    topics.ready("c")
    scene.advance(11)
    assert not topics.ready("a")
    assert scene.told == [("x", "expired", 10)]
    assert (topics.ready_parts, topics.missing_parts) == (["c"], ["a", "b"])
    assert topics.wait.result(0).missing == "a and b"


def test_a_part_that_nobody_awaits_is_an_error(scene: Scene) -> None:
    topics = Readiness(scene.hub, "request", ["a"], within=10)
    with pytest.raises(ValueError, match="part 'z' is not awaited; there are a"):
        topics.ready("z")
    with pytest.raises(RuleError):
        Readiness(scene.hub, "request", [], within=10)


def test_a_part_that_was_ready_early_is_ready_on_a_hub_that_remembers(make_scene: Any) -> None:
    scene = make_scene(remember="1 s")
    scene.hub.signal("request", "a")
    topics = Readiness(scene.hub, "request", ["a", "b"], within=10)
    assert topics.ready("b")
    assert (topics.ready_parts, topics.missing_parts) == (["a", "b"], [])


# DelayedFuture


def futures(count: int) -> list[Future[str]]:
    return [Future() for _ in range(count)]


def delayed(scene: Scene, awaited: list[Future[str]], **options: Any) -> tuple[DelayedFuture, list[str | None]]:
    """With the outcomes that its callback was told."""
    told: list[str | None] = []
    options = {"within": 10, "callback": lambda wait: told.append(wait.outcome)} | options
    return DelayedFuture(scene.hub, "request", awaited, **options), told


def test_a_delayed_future_goes_on_when_the_last_future_is_done_well_or_ill(scene: Scene) -> None:
    one, two, three = awaited = futures(3)
    request, told = delayed(scene, awaited)
    one.set_result("well")
    two.set_exception(ValueError("ill"))
    assert (told, request.wait.outcome) == ([], None)
    three.cancel()
    assert (told, request.wait.outcome, request.late) == (["completed"], "completed", ())
    scene.check()


def test_futures_that_are_done_already_are_not_waited_for(scene: Scene) -> None:
    one, two = awaited = futures(2)
    one.set_result("early")
    two.set_result("early")
    assert delayed(scene, awaited)[1] == ["completed"]
    assert delayed(scene, [])[1] == ["completed"]


def test_when_the_time_is_up_futures_that_have_not_begun_are_cancelled(scene: Scene) -> None:
    one, two, three = awaited = futures(3)
    request, told = delayed(scene, awaited)
    one.set_result("in time")
    assert two.set_running_or_notify_cancel()
    scene.advance(11)
    assert (told, request.late) == (["expired"], (two, three))
    assert (one.result(), two.running(), three.cancelled()) == ("in time", True, True)
    two.set_result("late")  # whoever is at work on it may finish
    assert told == ["expired"]
    scene.check()


def test_two_delayed_futures_of_one_key_do_not_count_for_each_other(scene: Scene) -> None:
    ours, theirs = futures(2), futures(2)
    request, _ = delayed(scene, ours)
    other, _ = delayed(scene, theirs)
    ours[0].set_result("")
    theirs[1].set_result("")
    assert (request.wait.outcome, other.wait.outcome) == (None, None)
    ours[1].set_result("")
    assert (request.wait.outcome, other.wait.outcome) == ("completed", None)


def test_a_delayed_future_that_is_cancelled_leaves_its_futures_alone(scene: Scene) -> None:
    awaited = futures(2)
    request, told = delayed(scene, awaited)
    assert request.wait.cancel()
    awaited[0].set_result("")
    assert (told, request.late, awaited[1].done()) == (["cancelled"], (), False)


def test_a_hub_that_remembers_keeps_nothing_of_futures_that_are_late(make_scene: Any) -> None:
    scene = make_scene(remember="1 h")
    awaited = futures(1)
    assert awaited[0].set_running_or_notify_cancel()
    delayed(scene, awaited)
    scene.advance(11)
    awaited[0].set_result("late")
    assert scene.hub.stats().remembered == 0
    scene.hub.close()


def test_a_delayed_future_takes_the_futures_of_asyncio() -> None:
    async def program() -> tuple[str, bool]:
        async with AsyncHub() as hub:
            loop = asyncio.get_running_loop()
            one, two = loop.create_future(), loop.create_future()
            request = DelayedFuture(hub, "request", [one, two], within="1 h")
            one.set_result("")
            two.cancel()
            return (await request.wait).outcome, two.cancelled()

    assert asyncio.run(program()) == ("completed", True)
