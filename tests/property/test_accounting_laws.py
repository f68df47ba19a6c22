"""Laws of accounting: whatever is done to tasks, each is in exactly one place, and the numbers add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scene import Scene, on_builds
from sojourn import TaskState
from support import Build

delays_ms = st.one_of(st.integers(0, 20), st.integers(0, 2_000))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("schedule"), delays_ms, st.none()),
        st.tuples(st.just("schedule_many"), st.lists(delays_ms, max_size=10), st.none()),
        st.tuples(st.just("schedule_at"), st.integers(-100, 100), st.none()),
        st.tuples(st.just("cancel"), st.integers(0, 50), st.none()),
        st.tuples(st.just("extend"), st.integers(0, 50), delays_ms),
        st.tuples(st.just("advance"), delays_ms, st.none()),
        st.tuples(st.just("step_wall"), st.integers(-100, 100), st.none()),
    ),
    max_size=40,
)


class Program:
    """Carries the steps out, one by one."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.tasks: list[Any] = []

    def do(self, kind: str, first: Any, second: Any) -> None:
        act: Callable[[Any, Any], object] = getattr(self, kind)
        act(first, second)
        self.scene.check()

    def schedule(self, delay_ms: int, _: None) -> None:
        self.tasks.append(self.scene.schedule(delay_ms))

    def schedule_many(self, delays: list[int], _: None) -> None:
        self.tasks.extend(self.scene.schedule_many(delays))

    def schedule_at(self, ahead_ms: int, _: None) -> None:
        self.tasks.append(self.scene.schedule_at((self.scene.clock.wall_ns() // 10**6 + ahead_ms) / 1000))

    def cancel(self, place: int, _: None) -> None:
        if place < len(self.tasks):
            self.tasks[place].cancel()

    def extend(self, place: int, delay_ms: int) -> None:
        if place < len(self.tasks):
            self.tasks[place].extend(delay_ms)

    def advance(self, ms: int, _: None) -> None:
        self.scene.advance(ms)

    def step_wall(self, ms: int, _: None) -> None:
        self.scene.step_wall(ms)

    def states(self) -> Counter[TaskState]:
        return Counter(task.state for task in self.tasks)


@on_builds
@given(steps=steps, wheel_size=st.integers(2, 5), tick_ms=st.integers(1, 10), is_run=st.booleans())
def test_scheduled_is_pending_and_cancelled_and_expired_and_undone(
    build: Build, steps: Any, wheel_size: int, tick_ms: int, is_run: bool
) -> None:
    scene = Scene(build, wheel_size=wheel_size, tick_ms=tick_ms)
    program = Program(scene)
    for step in steps:
        program.do(*step)
        stats, states = scene.timer.stats(), program.states()
        assert stats.scheduled == len(program.tasks) == stats.pending + stats.cancelled + stats.expired
        assert scene.timer.size == stats.pending == states[TaskState.PENDING]
        assert (stats.cancelled, stats.expired) == (states[TaskState.CANCELLED], states[TaskState.EXPIRED])
        assert stats.expired == len(scene.ran) == stats.lateness.total
    left = scene.timer.close(run_pending=is_run)
    stats, states = scene.timer.stats(), program.states()
    assert stats.scheduled == stats.cancelled + stats.expired + stats.undone
    assert (len(left), states[TaskState.IDLE], states[TaskState.PENDING]) == (stats.undone, stats.undone, 0)
    assert stats.expired == len(scene.ran)


@on_builds
@given(steps=steps, wheel_size=st.integers(2, 5), tick_ms=st.integers(1, 10))
def test_pending_is_who_is_pending_soonest_first(build: Build, steps: Any, wheel_size: int, tick_ms: int) -> None:
    scene = Scene(build, wheel_size=wheel_size, tick_ms=tick_ms)
    program = Program(scene)
    for step in steps:
        program.do(*step)
    pending = list(scene.timer.pending())
    assert set(pending) == {task for task in program.tasks if task.is_pending}
    deadlines_ms = [task.deadline_ms for task in pending]
    assert deadlines_ms == sorted(deadlines_ms)
    assert scene.timer.close() == pending


@on_builds
@given(steps=steps, wheel_size=st.integers(2, 5))
def test_a_bucket_is_queued_for_every_cell_of_the_occupancy_that_is_not_zero(
    build: Build, steps: Any, wheel_size: int
) -> None:
    scene = Scene(build, wheel_size=wheel_size)
    program = Program(scene)
    for step in (step for step in steps if step[0] not in ("schedule_at", "step_wall")):
        program.do(*step)
    occupancy, stats = scene.timer.occupancy(), scene.timer.stats()
    assert sum(map(sum, occupancy)) == stats.pending
    assert sum(tasks > 0 for wheel in occupancy for tasks in wheel) == stats.buckets_queued
    assert {len(wheel) for wheel in occupancy} == {wheel_size}
    assert len(occupancy) == stats.levels


@on_builds
@given(
    delays=st.lists(st.integers(0, 10**6), max_size=30), wheel_size=st.integers(2, 30), idle_ms=st.integers(0, 10**9)
)
def test_levels_are_a_matter_of_delays_alone(build: Build, delays: list[int], wheel_size: int, idle_ms: int) -> None:
    scene = Scene(build, wheel_size=wheel_size)
    scene.advance(idle_ms)
    scene.schedule_many(delays)
    levels, reach = 1, wheel_size
    while reach <= max(delays, default=0):
        levels, reach = levels + 1, reach * wheel_size
    assert scene.timer.stats().levels <= levels + 1
