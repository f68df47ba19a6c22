"""No wake-up is lost: the reaper's sleep against everyone who makes something due sooner, in every interleaving.

Virtual time stands still unless all actors wait, and never goes beyond a horizon of twenty milliseconds. The reaper
goes to sleep for a task that is due in an hour; one that misses its alarm sleeps for ever, and that is a deadlock.

Where `preemptions` is given these are not all interleavings, but all in which an actor is interrupted at most so often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import pytest

from concurrency.stand_ins import HOUR_MS
from concurrency.world import STEPS, World, interleavings
from support import Build

Bodies = list[Callable[[], object]]


def awake(
    build: Build,
    scene: Callable[[World], Bodies],
    actors: int,
    *,
    on_time: Iterable[str] = (),
    least: int = 8,
    more: frozenset[str] = frozenset(),
    preemptions: int | None = None,
) -> None:
    """Play the scene beside a sleeping reaper in every way; the tasks named run at their very deadline."""

    def beside_the_reaper(world: World) -> Bodies:
        world.clock.horizon_ms = 20
        world.add("far", HOUR_MS)
        bodies = [world.reaper(), *scene(world)]

        def check() -> None:
            for name in on_time:
                deadline_ms, at = world.tasks[name].deadline_ms, dict(world.ran)[name]
                assert at in (deadline_ms, deadline_ms - world.clock.wall_offset_ms), f"{name} is on time"
            assert world.clock.now_ms <= 20, "nobody overslept"

        world.expectations.append(check)
        return bodies

    at = STEPS[build] | {"alarm"} | more
    assert interleavings(build, beside_the_reaper, actors, at=at, preemptions=preemptions) >= least


def test_scheduling_something_sooner_wakes_the_reaper(build: Build) -> None:
    awake(build, lambda world: [lambda: (world.schedule("x", 5), world.close_when_run("x"))], 2, on_time="x")


def test_each_of_two_who_schedule_something_sooner_is_heard(build: Build) -> None:
    def scene(world: World) -> Bodies:
        return [lambda: (world.schedule("x", 5), world.close_when_run("xy")), partial(world.schedule, "y", 3)]

    awake(build, scene, 3, on_time="xy", least=100, preemptions=3)


def test_scheduling_a_batch_wakes_the_reaper(build: Build) -> None:
    awake(build, lambda world: [lambda: (world.schedule_many("xy", 5), world.close_when_run("xy"))], 2, on_time="x")


def test_extending_a_task_to_something_sooner_wakes_the_reaper(build: Build) -> None:
    awake(build, lambda world: [lambda: (world.extend("far", 4), world.close_when_run(["far"]))], 2, on_time=["far"])


def test_a_task_that_comes_from_another_timer_wakes_the_reaper(build: Build) -> None:
    def scene(world: World) -> Bodies:
        world.add("x", 5, to=world.other)
        return [lambda: (world.add("x"), world.close_when_run("x"))]

    awake(build, scene, 2, on_time="x")


def test_a_wall_clock_task_wakes_the_reaper(build: Build) -> None:
    def scene(world: World) -> Bodies:
        def schedule_at() -> None:
            world.not_before["x"] = [0]
            world.tasks["x"] = world.timer.schedule_at((HOUR_MS + 5) / 1000, world.note, "x")
            world.close_when_run("x")

        return [schedule_at]

    awake(build, scene, 2, on_time="x")


def test_a_task_cancelled_in_favour_of_a_later_one_does_not_hide_it(build: Build) -> None:
    def scene(world: World) -> Bodies:
        def change_of_mind() -> None:
            world.schedule("x", 3)
            world.cancel("x")
            world.schedule("y", 6)
            world.close_when_run("y")

        return [change_of_mind]

    awake(build, scene, 2, on_time="y", preemptions=4)


def test_what_a_task_schedules_is_not_slept_over(build: Build) -> None:
    def scene(world: World) -> Bodies:
        world.meanwhile["x"] = partial(world.schedule, "y", 2)
        return [lambda: (world.schedule("x", 2), world.close_when_run("xy")), partial(world.schedule, "z", 3)]

    awake(build, scene, 3, on_time="yz", least=100, preemptions=3)


def test_closing_wakes_the_reaper(build: Build) -> None:
    awake(build, lambda world: [world.close], 2, least=5)


def test_closing_wakes_the_reaper_while_another_schedules(build: Build) -> None:
    awake(build, lambda world: [world.close, partial(world.schedule, "x", 5)], 3, least=50)


def test_closing_waits_for_the_task_that_is_running(build: Build) -> None:
    def scene(world: World) -> Bodies:
        world.schedule("x", 0)
        return [world.close]

    awake(build, scene, 2, more=frozenset({"callback"}))


def test_closing_twice_at_once_waits_for_the_reaper_twice(build: Build) -> None:
    awake(build, lambda world: [world.close, world.close], 3, least=50)


def test_closing_from_inside_a_task_and_from_outside_at_once(build: Build) -> None:
    def scene(world: World) -> Bodies:
        world.meanwhile["x"] = world.close
        return [partial(world.schedule, "x", 0), world.close]

    awake(build, scene, 3, least=50, preemptions=3)


def test_a_timer_driven_by_hand_wakes_up_for_something_sooner(build: Build) -> None:
    def scene(world: World) -> Bodies:
        world.clock.horizon_ms = 20
        world.expectations.append(lambda: _equal(world.ran[0], ("x", 5)))
        world.expectations.append(lambda: _equal(world.driven, [1]))
        return [partial(world.hand_drive, 10), partial(world.schedule, "x", 5)]

    assert interleavings(build, scene, 2, at=STEPS[build] | {"alarm"}) > 5


def test_driving_by_hand_does_not_make_the_reaper_deaf(build: Build) -> None:
    def scene(world: World) -> Bodies:
        return [lambda: (world.hand_drive(), world.schedule("x", 5), world.close_when_run("x"))]

    awake(build, scene, 2, on_time="x")


def test_waiting_by_hand_does_not_swallow_the_alarm_of_the_reaper(build: Build) -> None:
    def scene(world: World) -> Bodies:
        return [partial(world.hand_drive, 2), lambda: (world.schedule("x", 5), world.close_when_run("x"))]

    awake(build, scene, 3, on_time="x", least=100, preemptions=2)


@pytest.mark.parametrize("timeout_ms", [0, 2])
def test_waiting_by_hand_does_not_keep_the_reaper_from_closing(build: Build, timeout_ms: int) -> None:
    awake(build, lambda world: [partial(world.hand_drive, timeout_ms), world.close], 3, least=50, preemptions=3)


def _equal(one: object, other: object) -> None:
    assert one == other
