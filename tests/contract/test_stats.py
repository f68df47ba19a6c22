"""`size`, `pending`, `stats` and `occupancy`: exact at every moment."""

from __future__ import annotations

import pytest

from scene import Scene
from sojourn.timer import TimerStats
from support import Build


def test_size_is_exact_after_every_step(shaped: Scene) -> None:
    tasks = [shaped.schedule(delay_ms) for delay_ms in (7, 70, 700, 7_000)]
    batch = shaped.schedule_many([7, 14, 21])
    sizes = [shaped.timer.size]
    for step in (lambda: shaped.advance(7), tasks[1].cancel, tasks[1].cancel, lambda: tasks[2].extend(9), batch.cancel):
        step()
        shaped.check()
        sizes.append(shaped.timer.size)
    assert sizes == [7, 5, 4, 4, 4, 2]


def test_pending_lists_the_tasks_soonest_first_and_first_in_first_out(shaped: Scene) -> None:
    names = {shaped.schedule(delay_ms): place for place, delay_ms in enumerate([700, 70, 7_000, 70, 0])}
    shaped.schedule(8).cancel()
    assert [names[task] for task in shaped.timer.pending()] == [4, 1, 3, 0, 2]
    shaped.check()


def test_pending_follows_extensions_and_batches(scene: Scene) -> None:
    task = scene.schedule(10)
    batch = scene.schedule_many([20, 5])
    task.extend(30)
    assert list(scene.timer.pending()) == [batch[1], batch[0], task]
    scene.check()


def test_pending_is_a_snapshot(scene: Scene) -> None:
    tasks = [scene.schedule(delay_ms) for delay_ms in range(5)]
    seen = []
    for task in scene.timer.pending():
        seen.append(task)
        task.cancel()
        scene.schedule(1)
    assert (seen, scene.timer.size) == (tasks, 5)


def test_pending_in_a_task_shows_its_neighbours_but_not_itself(scene: Scene) -> None:
    scene.timer.schedule(5, lambda: scene.note(list(scene.timer.pending())))
    left = [scene.schedule(5, "neighbour"), scene.schedule(50)]
    scene.advance(5)
    assert scene.names == [left, "neighbour"]


def test_stats_account_for_every_task(scene: Scene) -> None:
    batch = scene.schedule_many([1, 2, 3, 4, 5, 6])
    scene.advance(2)
    batch[2].cancel()
    batch[3].extend(9)
    batch[3].extend(9)
    stats = scene.timer.stats()
    assert (stats.scheduled, stats.pending, stats.expired, stats.cancelled, stats.extended) == (6, 3, 2, 1, 2)
    scene.timer.close()
    stats = scene.timer.stats()
    assert (stats.scheduled, stats.pending, stats.undone) == (6, 0, 3)


def test_stats_are_a_frozen_snapshot(scene: Scene) -> None:
    before = scene.timer.stats()
    scene.schedule(5)
    assert before.pending == 0
    with pytest.raises(AttributeError):
        before.pending = 1
    assert before != scene.timer.stats()
    assert isinstance(hash(before), int)


def test_lateness_is_counted_from_the_deadline(by_hand: Scene) -> None:
    by_hand.schedule_many([10, 10, 10])
    by_hand.clock.advance(10)
    by_hand.advance_by_hand()
    by_hand.schedule(10)
    by_hand.clock.advance(13)
    by_hand.advance_by_hand()
    lateness = by_hand.timer.stats().lateness
    assert (lateness.total, lateness.max_ms) == (4, 3.0)
    assert [lateness.quantile(share) for share in (0.5, 0.75, 1)] == [0.001, 0.001, 3.0]


def test_lateness_by_the_wall_clock_counts_from_the_wall_time(scene: Scene) -> None:
    scene.schedule_at(10)
    scene.step_wall(10_500)
    assert scene.timer.stats().lateness.max_ms == 500.0


def test_each_wheel_shows_how_many_tasks_its_buckets_hold(wheel_build: Build) -> None:
    scene = Scene(wheel_build, wheel_size=4)
    scene.schedule_many([1, 1, 3, 6, 20, 21])
    assert scene.timer.occupancy() == ((0, 2, 0, 1), (0, 1, 0, 0), (0, 2, 0, 0))
    stats = scene.timer.stats()
    assert (stats.levels, stats.buckets_queued, stats.cascaded) == (3, 4, 0)


def test_a_bucket_holds_what_the_occupancy_shows(wheel_build: Build) -> None:
    scene = Scene(wheel_build, wheel_size=4)
    scene.schedule_many([1, 1, 3, 6, 20, 21])
    held = [[scene.timer.bucket_size(level, bucket) for bucket in range(4)] for level in range(3)]
    assert held == [[0, 2, 0, 1], [0, 1, 0, 0], [0, 2, 0, 0]]


@pytest.mark.parametrize(("level", "bucket"), [(1, 0), (-1, 0), (0, 4), (0, -1)])
def test_a_bucket_that_does_not_exist_is_refused(wheel_build: Build, level: int, bucket: int) -> None:
    scene = Scene(wheel_build, wheel_size=4)
    with pytest.raises(IndexError, match=f"level {level} has no bucket {bucket}: 1 levels of 4 buckets"):
        scene.timer.bucket_size(level, bucket)


def test_sinking_is_counted_once_a_move(wheel_build: Build) -> None:
    scene = Scene(wheel_build, wheel_size=4)
    scene.schedule_many([6, 27])  # 6 sinks at 4; 27 at 16 and at 24
    scene.advance(27)
    assert scene.timer.stats().cascaded == 3


def test_an_emptied_timer_has_no_bucket_queued(wheel_build: Build) -> None:
    scene = Scene(wheel_build, wheel_size=4)
    batch = scene.schedule_many(range(100))
    scene.advance(50)
    batch.cancel()
    stats: TimerStats = scene.timer.stats()
    assert (stats.buckets_queued, stats.pending) == (0, 0)
    assert not any(map(sum, scene.timer.occupancy()))
