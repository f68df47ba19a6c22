"""`TaskBatch`: a sequence of the tasks of one call, and their bulk cancel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from scene import Scene
from sojourn import TaskState


@pytest.fixture
def batch(scene: Scene) -> Any:
    """Five tasks, due at 10, 20 ... 50 ms."""
    return scene.schedule_many(range(10, 60, 10))


def test_a_batch_is_a_sequence_of_its_tasks_in_the_order_of_the_delays(batch: Any) -> None:
    assert isinstance(batch, Sequence)
    assert len(batch) == 5
    assert [task.delay_ms for task in batch] == [10, 20, 30, 40, 50]
    assert [task.delay_ms for task in reversed(batch)] == [50, 40, 30, 20, 10]


def test_a_batch_gives_the_same_task_every_time(batch: Any) -> None:
    assert batch[1] is batch[1] is batch[-4] is batch[np.int64(1)] is batch[:2][1] is list(batch)[1]
    assert batch.index(batch[3]) == 3
    assert batch.count(batch[3]) == 1
    assert batch[3] in batch
    assert object() not in batch


def test_a_slice_is_a_list_of_tasks(batch: Any) -> None:
    assert batch[1:4] == [batch[1], batch[2], batch[3]]
    assert batch[::-2] == [batch[4], batch[2], batch[0]]
    assert batch[9:] == []


@pytest.mark.parametrize("index", [5, -6])
def test_an_index_out_of_range_is_an_index_error(batch: Any, index: int) -> None:
    with pytest.raises(IndexError):
        batch[index]


@pytest.mark.parametrize("index", ["1", 1.0, None])
def test_an_index_that_is_no_index_is_a_type_error(batch: Any, index: object) -> None:
    with pytest.raises(TypeError):
        batch[index]


def test_a_batch_says_how_many_it_holds(batch: Any) -> None:
    assert repr(batch) == "<TaskBatch of 5>"


def test_bulk_cancel_prevents_every_run_and_says_how_many(scene: Scene, batch: Any) -> None:
    assert batch.cancel() == 5
    scene.check()
    assert (scene.timer.size, scene.timer.stats().cancelled) == (0, 5)
    assert (scene.advance(100), scene.ran) == (0, [])


def test_bulk_cancel_counts_only_what_it_prevented_itself(scene: Scene, batch: Any) -> None:
    scene.advance(20)
    assert batch[2].cancel()
    assert batch.cancel() == 2
    scene.check()
    assert batch.cancel() == 0
    states = [task.state for task in batch]
    assert states == [TaskState.EXPIRED] * 2 + [TaskState.CANCELLED] * 3


def test_a_task_looked_at_is_cancelled_with_the_rest(scene: Scene, batch: Any) -> None:
    looked_at = batch[3]
    scene.check()
    assert batch.cancel() == 5
    assert looked_at.is_cancelled
    assert not looked_at.cancel()


def test_an_extended_task_is_cancelled_with_the_rest(scene: Scene, batch: Any) -> None:
    batch[0].extend(500)
    assert batch.cancel() == 5
    scene.check()
    assert scene.advance(1_000) == 0


def test_tasks_looked_at_only_after_they_ran_tell_what_happened(scene: Scene, batch: Any) -> None:
    scene.advance(30)
    tasks = list(batch)
    scene.check()
    assert [task.state for task in tasks] == [TaskState.EXPIRED] * 3 + [TaskState.PENDING] * 2
    assert [task.delay_ms for task in tasks] == [10, 20, 30, 40, 50]
    assert [task.deadline_ms for task in tasks] == [10, 20, 30, 40, 50]
    assert not tasks[0].cancel()
    assert not tasks[0].extend(5)


def test_looking_at_a_task_changes_neither_its_turn_nor_its_arguments(scene: Scene) -> None:
    batch = scene.schedule_many([10] * 5)
    assert [batch[i].is_pending for i in (3, 0)] == [True, True]
    scene.check()
    scene.advance(10)
    assert scene.names == [0, 1, 2, 3, 4]


def test_a_callback_may_cancel_the_batch_it_belongs_to(scene: Scene) -> None:
    batch = scene.timer.schedule_many([10, 10, 20], lambda: scene.note(batch.cancel()))
    scene.advance(100)
    assert scene.ran == [(2, 10)]


def test_a_batch_that_nobody_keeps_still_runs(scene: Scene) -> None:
    scene.timer.schedule_many([10, 20], scene.note, "task")
    scene.advance(20)
    assert scene.names == ["task", "task"]


def test_a_task_of_a_batch_may_move_to_another_timer(scene: Scene, batch: Any) -> None:
    other = scene.build.SystemTimer("other", clock=scene.clock).start()
    other.add(batch[0])
    other._check()
    scene.check()
    assert (scene.timer.size, other.size) == (4, 1)
    assert batch.cancel() == 5
    assert (scene.timer.size, other.size) == (0, 0)
