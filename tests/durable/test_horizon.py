"""Pending by due time: counted as waits come, move and go, and the same as counting them all."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from durable.scene import SHIPPED, WALL_MS, Scene
from sojourn.durable import DurableHub
from sojourn.durable.state.horizon import horizon, soonest
from sojourn.testing import ManualClock

pytestmark = pytest.mark.usefixtures("in_memory")  # what is in an index is counted as of a while ago: see below


def brute(scene: Scene, start: int, width_ms: int, number: int, now: int) -> list[int]:
    counts = [0] * number
    for wait in scene.hub.list():
        place = (wait.deadline - start) // width_ms
        if wait.deadline >= now and place < number:
            counts[place] += 1
    return counts


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("within_ms", [60_000, 120_000, 3_600_000, 90 * 86_400_000])
def test_counts_are_those_of_all_waits(seed: int, within_ms: int) -> None:
    rng, scene = random.Random(seed), Scene()
    scene.hub.register(SHIPPED)
    for i in range(1, 121):
        draw = rng.random()
        if draw < 0.6:
            scene.hub.wait(f"k{i % 7}", "x", int(10 ** rng.uniform(0, 9.5)), id=f"w{i}")
        elif draw < 0.7:
            scene.hub.extend(f"w{rng.randrange(i)}", rng.randrange(10_000_000))
        elif draw < 0.8:
            scene.hub.cancel(f"w{rng.randrange(i)}")
        else:
            scene.clock.advance(rng.randrange(5_000))
    state, now = scene.hub._engine.state, scene.hub.now_ms()
    ahead = horizon(state, now, within_ms, 60)
    assert ahead.counts == brute(scene, ahead.start, ahead.width_ms, len(ahead.counts), now)
    assert ahead.overdue + sum(ahead.counts) + ahead.later == ahead.pending == scene.hub.pending
    assert len(ahead.counts) in (60, 61)
    waits, is_all = soonest(state, lambda wait: True, 500)
    assert is_all
    assert [wait.id for wait in waits] == [wait.id for wait in scene.hub.list()]


def test_waits_whose_clock_stands_are_counted_by_themselves() -> None:
    scene = Scene()
    scene.hub.register(SHIPPED)
    scene.hub.wait("a", rule="shipped")
    scene.hub.wait("b", "x", 5_000)
    scene.hub.stop_clock("shipped")
    scene.hub.wait("c", rule="shipped")
    ahead = horizon(scene.hub._engine.state, scene.hub.now_ms(), 60_000, 60)
    assert (ahead.stopped, ahead.later, sum(ahead.counts)) == (2, 0, 1)


def test_what_is_overdue_is_not_among_what_is_due() -> None:
    scene = Scene()
    scene.hub.wait("a", "x", 5_000)
    now = scene.hub.now_ms()
    ahead = horizon(scene.hub._engine.state, now + 5_001, 3_600_000, 60)
    assert (ahead.overdue, sum(ahead.counts), ahead.later) == (1, 0, 0)


def test_only_as_many_as_asked_for_are_found_soonest_first() -> None:
    scene = Scene()
    for i in range(50):
        scene.hub.wait(f"k{i}", "x", 1_000 + 10 * (i * 37 % 50), id=f"w{i}")
    waits, is_all = soonest(scene.hub._engine.state, lambda wait: wait.key != "k0", 3)
    assert not is_all
    assert [wait.deadline - scene.hub.now_ms() for wait in waits] == [1_010, 1_020, 1_030]


def test_there_are_others_before_a_time_if_they_are_only_on_the_disk() -> None:
    scene = Scene(memory=5 * 1024, segment_bytes=2_000)
    for i in range(300):
        scene.hub.wait(f"k{i}", "x", 1_000 * (i + 1))
    state, now = scene.hub._engine.state, scene.hub.now_ms()
    for due, are_in_memory in ((3, True), (8, False), (200, False)):
        waits, is_all = soonest(state, lambda wait: True, 500, now + 1_000 * due + 1)
        assert (is_all, len(waits) == due) == (are_in_memory, are_in_memory)


@pytest.mark.parametrize("memory", [0, 20 * 1024])
def test_what_is_only_on_the_disk_is_counted_too(tmp_path: Path, memory: int) -> None:
    clock = ManualClock(wall_ms=WALL_MS)
    hub = DurableHub("cold", data=tmp_path, clock=clock, memory=memory, segment_bytes=4_000)
    with hub:
        for i in range(10):
            hub.wait_many([f"k{i}-{j}" for j in range(40)], "x", 60_000 * (2 + 30 * i))
        state = hub._engine.state
        assert state.cold is not None
        assert len(state.waits) < state.pending
        in_index = dict(state.cold.index.minutes())
        assert sum(in_index.values()) == state.cold.index.mark.pending  # type: ignore[union-attr]
        ahead = horizon(state, hub.now_ms(), 500 * 60_000, 50, in_index)
        assert ahead.pending == 400
        assert abs(sum(ahead.counts) - 400) <= len(
            state.cold.changed
        )  # the index knows of these when it is brought forward
        assert ahead.later == max(0, 400 - sum(ahead.counts))


def test_a_minute_with_more_than_are_looked_at_is_counted_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sojourn.durable.index.index.MINUTES_CHUNK", 7)
    hub = DurableHub("cold", data=tmp_path, clock=ManualClock(wall_ms=WALL_MS), memory=0, segment_bytes=4_000)
    with hub:
        for size, within in ((3, 120_000), (40, 240_000), (5, 360_000), (6, 480_000)):
            hub.wait_many([f"k{within}-{i}" for i in range(size)], "x", within)
        for i in range(100):
            hub.signal(f"nobody-{i}", "x")
        state = hub._engine.state
        assert state.cold is not None
        assert sorted(dict(state.cold.index.minutes()).values()) == [3, 5, 6, 40]


def test_a_crowd_is_found_within_a_long_bucket() -> None:
    scene = Scene()
    scene.hub.wait_many([f"k{i}" for i in range(30)], "x", 7_200_000)
    for i in range(100):
        scene.hub.wait(f"l{i}", "x", 3_600_000 + 60_000 * i)
    now = scene.hub.now_ms()
    ahead = horizon(scene.hub._engine.state, now, 86_400_000, 4)
    at, count = ahead.crowds[0]
    assert (at, count) == ((now + 7_200_000) // 60_000 * 60_000, 31)
    assert max(ahead.counts) > 31
