"""Small programs on several tasks: order, batches, cascades given up half way, second timers.

Every interleaving of each; where `preemptions` is given, all in which an actor is interrupted at most so often.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from concurrency.stand_ins import HOUR_MS
from concurrency.world import World, interleavings
from support import COMPILED, PURE, Build

Bodies = list[Callable[[], object]]


def test_a_task_armed_during_a_cascade_runs_after_those_armed_before_it(build: Build) -> None:
    def scene(world: World) -> Bodies:
        for name in "xyz":
            world.schedule(name, 5)
        world.in_order = list("xyzw")
        world.clock.now_ms = 4  # the three sink to the lowest wheel now
        return [partial(world.expire, 0), partial(world.schedule, "w", 1)]

    assert interleavings(build, scene, 2, chunk=1) >= (7 if build is PURE else 3)


def test_a_batch_armed_in_chunks_during_a_cascade_keeps_the_order(build: Build) -> None:
    def scene(world: World) -> Bodies:
        world.schedule("x", 5)
        world.schedule("y", 5)
        world.in_order = list("xyzw")
        world.clock.now_ms = 4
        return [partial(world.expire, 0), partial(world.schedule_many, "zw", 1)]

    assert interleavings(build, scene, 2, chunk=1) >= (15 if build is PURE else 3)


def test_tasks_of_one_bucket_are_cancelled_extended_and_added_while_it_drains(build: Build) -> None:
    def scene(world: World) -> Bodies:
        world.schedule("x", 1)
        world.schedule("y", 1)
        world.in_order = list("xy")
        return [
            partial(world.expire, 1),
            lambda: (world.cancel("x"), world.schedule("z", 0)),
            partial(world.extend, "y", 3),
        ]

    assert interleavings(build, scene, 3, chunk=1, preemptions=4) > 100


def test_a_task_that_sinks_is_cancelled_extended_and_given_company_on_the_way(build: Build) -> None:
    def scene(world: World) -> Bodies:
        world.schedule("x", 5)
        world.schedule("y", 5)
        world.in_order = list("yz")
        world.clock.now_ms = 4
        return [
            partial(world.expire, 1),
            partial(world.extend, "x", 2),
            lambda: world.schedule("z", 1),
        ]

    assert interleavings(build, scene, 3, chunk=2, preemptions=3) > 100


def test_a_batch_is_cancelled_while_it_expires(build: Build) -> None:
    def scene(world: World) -> Bodies:
        batch = world.schedule_many("xy", 3)
        world.in_order = list("xy")
        return [partial(world.expire, 3), partial(world.cancel_batch, batch)]

    assert interleavings(build, scene, 2, chunk=1, wheel_size=3) >= (100 if build is PURE else 4)


def test_a_batch_and_one_of_its_tasks_are_cancelled_while_it_expires(build: Build) -> None:
    def scene(world: World) -> Bodies:
        batch = world.schedule_many("xy", 1)
        return [partial(world.expire, 1), partial(world.cancel_batch, batch), partial(world.cancel, "y")]

    assert interleavings(build, scene, 3, preemptions=4) >= (1_000 if build is PURE else 10)


def test_a_batch_is_taken_whole_or_refused_whole_by_a_timer_that_closes(build: Build) -> None:
    def scene(world: World) -> Bodies:
        return [partial(world.schedule_many, "xyz", 3), world.close]

    assert interleavings(build, scene, 2, chunk=1) >= 2


def test_a_batch_is_never_half_run_and_then_refused(build: Build) -> None:
    def scene(world: World) -> Bodies:
        return [partial(world.schedule_many, "xyz", 0), partial(world.expire, 0), world.close]

    assert interleavings(build, scene, 3, chunk=1) >= 6


def test_a_move_refused_by_a_closed_timer_leaves_the_task_where_it_was(build: Build) -> None:
    def scene(world: World) -> Bodies:
        world.add("x", 2)
        return [partial(world.add, "x", to=world.other), partial(world.close, world.other)]

    assert interleavings(build, scene, 2) >= 2


def test_a_task_moves_back_and_forth_between_two_timers_that_both_expire(build: Build) -> None:
    def scene(world: World) -> Bodies:
        world.add("x", 1)
        return [
            lambda: (world.add("x", to=world.other), world.add("x")),
            partial(world.expire, 1),
            lambda: world.expire(0, world.other),
        ]

    assert interleavings(build, scene, 3, preemptions=4) > 100


def test_a_callback_that_cancels_its_neighbour_races_others_who_do(build: Build) -> None:
    def scene(world: World) -> Bodies:
        world.schedule("x", 1)
        world.schedule("y", 1)
        world.meanwhile["x"] = partial(world.cancel, "y")
        return [partial(world.expire, 1), partial(world.cancel, "y"), partial(world.extend, "y", 1)]

    assert interleavings(build, scene, 3, preemptions=4) > 50


def test_a_callback_that_closes_the_timer_races_its_other_users(build: Build) -> None:
    def scene(world: World) -> Bodies:
        world.schedule("x", 1)
        world.schedule("y", 2)
        world.meanwhile["x"] = world.close
        return [partial(world.expire, 1), partial(world.cancel, "y"), partial(world.schedule, "z", 1)]

    assert interleavings(build, scene, 3) > 50


def test_two_drivers_share_a_task_that_arms_itself_again(build: Build) -> None:
    def scene(world: World) -> Bodies:
        world.schedule("x", 0)
        armed = [False]

        def again() -> None:
            if not armed[0]:
                armed[0] = True
                world.add("x")

        world.meanwhile["x"] = again
        return [partial(world.expire, 0), partial(world.expire, 0)]

    assert interleavings(build, scene, 2) > 20


def test_extending_a_wall_clock_task_while_it_moves_to_the_monotonic_clock(build: Build) -> None:
    """Either it is due five from the extending, or two from the moving: by the clock that it is on, not the other."""

    def scene(world: World) -> Bodies:
        world.tasks["x"] = task = world.timer.schedule_at((HOUR_MS + 9) / 1000, world.note, "x")
        world.not_before["x"] = [0]
        task.delay_ms = 2

        def check() -> None:
            assert task.deadline_ms in (2, 5)

        world.expectations.append(check)
        return [partial(world.extend, "x", 5), partial(world.add, "x")]

    assert interleavings(build, scene, 2, at=frozenset({"acquire", "clock", "wall"})) >= 6


def test_a_task_that_arms_itself_again_runs_again_in_an_executor_with_two_workers(build: Build) -> None:
    def scene(world: World) -> Bodies:
        handed_in: list[Callable[[], object]] = []

        class Executor:
            def submit(self, run: Callable[..., object], task: Any) -> None:
                handed_in.append(partial(run, task))

        def work() -> None:
            world.stage.wait_until(lambda: bool(handed_in), "idle worker")
            handed_in.pop(0)()

        def drive() -> None:
            world.expire(0)
            world.stage.wait_until(lambda: armed[0], "driver")
            world.expire(0)

        armed = [False]

        def again() -> None:
            if not armed[0]:
                world.add("x")
                armed[0] = True
                world.point("call")

        world.timer.executor = Executor()
        world.schedule("x", 0)
        world.meanwhile["x"] = again
        return [drive, work, work]

    assert interleavings(build, scene, 3, preemptions=3) > 10


def test_the_lock_is_never_held_while_a_task_a_clock_or_a_handler_runs() -> None:
    """`World.point` asserts it at every one of them; here it is seen to notice."""

    def scene(world: World) -> Bodies:
        def hold() -> None:
            with world.lock:
                world.clock.now_ns()

        return [hold, lambda: None]

    with pytest.raises(AssertionError, match="the lock is held at a clock"):
        interleavings(COMPILED, scene, 2)
