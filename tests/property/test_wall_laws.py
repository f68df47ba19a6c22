"""Laws of the wall clock: however it is set, no task runs before it shows the task's time, and none waits after it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scene import Scene, on_builds
from support import Build

NS = 10**6
WALL_MS = 1_770_000_000_000

shapes = st.fixed_dictionaries({"tick_ms": st.integers(1, 20), "wheel_size": st.integers(2, 10)})
changes = st.lists(
    st.one_of(
        st.tuples(st.just("advance"), st.integers(0, 10**6)),
        st.tuples(st.just("step"), st.one_of(st.integers(-500, 500), st.integers(-(10**11), 10**11))),
        st.tuples(st.just("schedule_at"), st.one_of(st.integers(-500, 500), st.integers(-(10**11), 10**11))),
        st.tuples(st.just("schedule"), st.integers(0, 500)),
    ),
    max_size=30,
)


class WallScene(Scene):
    """Writes down by how much each run was late by its clock, in nanoseconds."""

    def __init__(self, build: Build, **options: Any) -> None:
        super().__init__(build, wall_ms=WALL_MS, **options)
        self.late_ns: list[int] = []
        self.wall_tasks: list[Any] = []

    def change(self, kind: str, ms: int) -> None:
        if kind == "advance":
            self.advance(ms / 10)
        elif kind == "step":
            self.step_wall(ms / 10)
        elif kind == "schedule":
            due_ns = self.clock.now_ns() + ms * NS
            self.timer.schedule(ms, lambda: self.late_ns.append(self.clock.now_ns() - due_ns))
        else:
            when_ms = self.clock.wall_ns() // NS + ms
            run = lambda: self.late_ns.append(self.clock.wall_ns() - when_ms * NS)  # noqa: E731
            self.wall_tasks.append(self.timer.schedule_at(when_ms / 1000, run))
        self.check()


@on_builds
@given(changes=changes, shape=shapes)
def test_no_task_is_early_by_its_own_clock_however_the_wall_clock_is_set(
    build: Build, changes: Any, shape: Any
) -> None:
    scene = WallScene(build, **shape)
    for change in changes:
        scene.change(*change)
    assert all(late_ns >= 0 for late_ns in scene.late_ns)


@on_builds
@given(changes=changes, shape=shapes)
def test_once_the_wall_clock_is_a_tick_past_its_time_no_task_is_left_waiting(
    build: Build, changes: Any, shape: Any
) -> None:
    scene = WallScene(build, **shape)
    for change in changes:
        scene.change(*change)
        scene.advance(0)
        for task in scene.wall_tasks:
            if task.is_pending:
                assert scene.clock.wall_ns() < (task.deadline_ms + shape["tick_ms"]) * NS


@on_builds
@given(steps=st.lists(st.integers(-(10**6), 10**6), max_size=10), shape=shapes, delay_ms=st.integers(0, 10**4))
def test_steps_of_the_wall_clock_never_move_a_monotonic_deadline(
    build: Build, steps: list[int], shape: Any, delay_ms: int
) -> None:
    scene = WallScene(build, **shape)
    scene.schedule_at(WALL_MS // 1000 + 10**6, "on the wall clock")
    scene.schedule(delay_ms)
    for step in steps:
        scene.step_wall(step)
    scene.advance(delay_ms + shape["tick_ms"])
    assert scene.ran == [("task", scene.tick_after(delay_ms))]


@on_builds
@given(steps=st.lists(st.integers(-3_000, 3_000), max_size=12), shape=shapes)
def test_tasks_of_one_wall_time_run_first_in_first_out_however_the_clock_is_set(
    build: Build, steps: list[int], shape: Any
) -> None:
    scene = WallScene(build, **shape)
    for place, step in enumerate(steps):
        scene.schedule_at(WALL_MS / 1000 + 3.5, place)
        scene.clock._wall_ns += step * NS  # set while nobody looks
    scene.step_wall(10**6)
    assert scene.names == list(range(len(steps)))
