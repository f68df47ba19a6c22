"""Laws of monotonic time: never early, late by less than a tick, exactly once, in order."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from scene import Scene, on_builds
from support import Build

NS = 10**6

shapes = st.fixed_dictionaries({"tick_ms": st.integers(1, 50), "wheel_size": st.integers(2, 70)})
starts_ms = st.integers(-(10**6), 10**6)
waits_ns = st.one_of(st.just(0), st.integers(0, 3 * NS), st.integers(0, 10**4 * NS))
delays_ms = st.one_of(st.integers(0, 100), st.integers(0, 10**5), st.integers(0, 10**10))
plans = st.lists(st.tuples(waits_ns, delays_ms), min_size=1, max_size=20)


class Run(NamedTuple):
    place: int
    armed_ns: int
    delay_ms: int
    ran_ns: int


def carry_out(scene: Scene, plan: list[tuple[int, int]]) -> list[Run]:
    """Arm a task after each wait, then let all of them run."""
    runs: list[Run] = []

    def callback(place: int, armed_ns: int, delay_ms: int) -> None:
        runs.append(Run(place, armed_ns, delay_ms, scene.clock.now_ns()))

    for place, (wait_ns, delay_ms) in enumerate(plan):
        scene.advance(wait_ns / NS)
        scene.timer.schedule(delay_ms, callback, place, scene.clock.now_ns(), delay_ms)
        scene.check()
    scene.advance(10**10 + 50)
    return runs


@on_builds
@given(plan=plans, shape=shapes, start_ms=starts_ms)
def test_no_task_runs_early_nor_late_by_a_tick(build: Build, plan: Any, shape: Any, start_ms: int) -> None:
    for run in carry_out(Scene(build, start_ms=start_ms, **shape), plan):
        late_ns = run.ran_ns - run.armed_ns - run.delay_ms * NS
        assert 0 <= late_ns < shape["tick_ms"] * NS


@on_builds
@given(plan=plans, shape=shapes, start_ms=starts_ms)
def test_every_task_runs_exactly_once(build: Build, plan: Any, shape: Any, start_ms: int) -> None:
    runs = carry_out(Scene(build, start_ms=start_ms, **shape), plan)
    assert sorted(run.place for run in runs) == list(range(len(plan)))


@on_builds
@given(plan=plans, shape=shapes, start_ms=starts_ms)
def test_tasks_run_by_deadline_tick_and_first_in_first_out_within_it(
    build: Build, plan: Any, shape: Any, start_ms: int
) -> None:
    runs = carry_out(Scene(build, start_ms=start_ms, **shape), plan)
    tick_ms = shape["tick_ms"]
    due = [-(-(-(-run.armed_ns // NS) + run.delay_ms - start_ms) // tick_ms) for run in runs]
    turns = [(tick, run.place) for tick, run in zip(due, runs, strict=True)]
    assert turns == sorted(turns)


@on_builds
@given(data=st.data(), shape=shapes, deadline_ms=st.integers(1, 10**4))
def test_equal_deadlines_run_first_in_first_out_whenever_they_were_armed(
    build: Build, data: st.DataObject, shape: Any, deadline_ms: int
) -> None:
    scene = Scene(build, **shape)
    armed_ms = sorted(data.draw(st.lists(st.integers(0, deadline_ms), max_size=20), "armed at"))
    for place, at_ms in enumerate(armed_ms):
        scene.advance(at_ms - scene.clock.now_ms)
        if at_ms < deadline_ms:
            scene.schedule(deadline_ms - at_ms, place)
    scene.advance(deadline_ms + 50)
    assert scene.names == [place for place, at_ms in enumerate(armed_ms) if at_ms < deadline_ms]


@on_builds
@given(
    delays=st.lists(delays_ms, max_size=30),
    shape=shapes,
    steps=st.lists(st.one_of(st.integers(0, 200), st.integers(0, 10**6)), max_size=20),
)
def test_moved_by_hand_at_any_moments_it_runs_all_that_is_due_and_nothing_else(
    build: Build, delays: list[int], shape: Any, steps: list[int]
) -> None:
    scene = Scene(build, started=False, **shape)
    scene.schedule_many(delays)
    for step_ms in steps:
        scene.clock.advance(step_ms)
        scene.advance_by_hand()
        is_due = [scene.tick_after(delay_ms) <= scene.clock.now_ms for delay_ms in delays]
        assert sorted(scene.names) == [place for place, due in enumerate(is_due) if due]


@on_builds
@given(delays=st.lists(delays_ms, min_size=1, max_size=30), shape=shapes, timeout_ms=st.integers(0, 10**11))
def test_advance_clock_waits_for_the_first_tick_that_has_work_or_until_its_timeout(
    build: Build, delays: list[int], shape: Any, timeout_ms: int
) -> None:
    scene = Scene(build, started=False, **shape)
    scene.schedule_many(delays)
    first_ms = scene.tick_after(min(delays))
    ran = scene.advance_by_hand(timeout_ms)
    assert scene.clock.now_ms == min(first_ms, timeout_ms)
    assert ran == sum(scene.tick_after(delay_ms) == first_ms <= timeout_ms for delay_ms in delays)
