"""`timer.schedule_many`: one call, one task a delay, all or none."""

from __future__ import annotations

import subprocess
import sys
from array import array
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from scene import Scene
from sojourn import DelayError, TaskState
from support import Build

DELAYS_MS = [30, 5, 5, 0, 1_000]
AS_ITERABLE: dict[str, Callable[[list[int]], Iterable[int]]] = {
    "list": list,
    "tuple": tuple,
    "deque": deque,
    "generator": lambda delays: (delay for delay in delays),
    "dict keys": lambda delays: dict(enumerate(delays)).values(),
    "array of int64": lambda delays: array("q", delays),
    "array of int32": lambda delays: array("i", delays),
    "memoryview": lambda delays: memoryview(array("q", delays)),
    "numpy int64": lambda delays: np.array(delays, np.int64),
    "numpy int32": lambda delays: np.array(delays, np.int32),
    "numpy uint64": lambda delays: np.array(delays, np.uint64),
    "numpy of the other byte order": lambda delays: np.array(delays, np.dtype(np.int64).newbyteorder()),
    "numpy backwards": lambda delays: np.array(delays[::-1])[::-1],
    "numpy with gaps": lambda delays: np.repeat(delays, 3)[::3],
    "numpy read-only": lambda delays: np.broadcast_to(np.array([delays]), (2, len(delays)))[0],
    "numpy objects": lambda delays: np.array(delays, object),
}


TESTS = Path(__file__).parents[1]
SHORTER_THAN_IT_SAYS = """
import sys
from contract.heap_reference import HEAP
from scene import Scene
from support import BUILDS

class Shorter(list):
    def __len__(self):
        return 5

scene = Scene({build.name: build for build in (*BUILDS, HEAP)}[sys.argv[1]])
try:
    batch = scene.timer.schedule_many(Shorter([3, 4]), scene.note, "task")
except RuntimeError:
    batch = []
scene.check()
assert scene.timer.size == len(batch) in (0, 2)
assert scene.advance(10) == len(batch)
"""


@pytest.mark.parametrize("kind", AS_ITERABLE)
def test_delays_come_in_any_iterable_of_whole_numbers(scene: Scene, kind: str) -> None:
    batch = scene.timer.schedule_many(AS_ITERABLE[kind](DELAYS_MS), scene.note, "task")
    scene.check()
    assert [task.delay_ms for task in batch] == DELAYS_MS
    scene.advance(1_000)
    assert scene.ran == [("task", delay_ms) for delay_ms in sorted(DELAYS_MS)]


def test_a_range_of_delays_runs_in_order(shaped: Scene) -> None:
    shaped.schedule_many(range(1_000))
    assert shaped.advance(1_001) == 1_000
    assert shaped.ran == [(delay_ms, shaped.tick_after(delay_ms)) for delay_ms in range(1_000)]


def test_no_delays_make_an_empty_batch(scene: Scene) -> None:
    batch = scene.timer.schedule_many([], scene.note, "task")
    assert (len(batch), scene.timer.size, batch.cancel()) == (0, 0, 0)


def test_each_gives_every_task_a_last_argument_of_its_own(scene: Scene) -> None:
    seen: list[tuple[object, ...]] = []
    scene.timer.schedule_many([2, 1], lambda *args: seen.append(args), "all", each=iter("ab"))
    scene.advance(2)
    assert seen == [("all", "b"), ("all", "a")]


def test_a_batch_and_single_tasks_of_one_deadline_run_first_in_first_out(shaped: Scene) -> None:
    shaped.schedule(70, "before")
    shaped.schedule_many([70, 70, 70])
    shaped.schedule(70, "after")
    shaped.advance(70)
    assert shaped.names == ["before", 0, 1, 2, "after"]


def test_every_task_of_a_batch_counts(scene: Scene) -> None:
    batch = scene.schedule_many([1, 2, 3, 4])
    assert (scene.timer.size, scene.timer.stats().scheduled) == (4, 4)
    scene.advance(2)
    batch[3].cancel()
    stats = scene.timer.stats()
    assert (stats.pending, stats.expired, stats.cancelled) == (1, 2, 1)


def test_deadlines_count_from_the_call(scene: Scene) -> None:
    scene.advance(100)
    assert [task.deadline_ms for task in scene.schedule_many([5, 10])] == [105, 110]


def test_a_callback_may_schedule_the_next_batch(scene: Scene) -> None:
    scene.timer.schedule(5, lambda: scene.schedule_many([0, 5]))
    scene.advance(10)
    assert scene.ran == [(0, 5), (1, 10)]


@pytest.mark.parametrize("kind", [kind for kind in AS_ITERABLE if kind != "numpy uint64"])
def test_one_bad_delay_refuses_them_all_and_is_named(scene: Scene, kind: str) -> None:
    with pytest.raises(ValueError, match=r"delays_ms\[2\]=-7 is negative"):
        scene.timer.schedule_many(AS_ITERABLE[kind]([1, 2, -7, 3]), scene.note)
    scene.check()
    assert (scene.timer.size, scene.timer.stats().scheduled) == (0, 0)


@pytest.mark.parametrize("kind", ["f8", "m8[ms]", "M8[ms]", "U1", "?"])
def test_an_array_of_anything_but_whole_numbers_is_refused_with_its_first_item(scene: Scene, kind: str) -> None:
    with pytest.raises(DelayError, match=r"delays_ms\[0\]=.* is not a whole number of milliseconds"):
        scene.timer.schedule_many(np.array([1, 2]).astype(kind), scene.note)
    assert scene.timer.size == 0


def test_a_sequence_with_fewer_items_than_it_says_is_refused_or_taken_as_it_is(build: Build) -> None:
    """In a process of its own: a core that believes the length would read and run what is not there."""
    ended = subprocess.run(
        [sys.executable, "-c", SHORTER_THAN_IT_SAYS, build.name], cwd=TESTS, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_iterable_that_raises_schedules_nothing(scene: Scene) -> None:
    with pytest.raises(ZeroDivisionError):
        scene.timer.schedule_many((1 // delay_ms for delay_ms in (1, 0)), scene.note)
    scene.check()
    assert scene.timer.size == 0


def test_a_batch_on_a_closed_timer_is_refused_whole(scene: Scene) -> None:
    scene.timer.close()
    with pytest.raises(RuntimeError, match="'scene' is closed"):
        scene.schedule_many([1, 2, 3])
    assert scene.timer.size == 0


def test_a_task_taken_out_of_a_batch_lives_on_its_own(scene: Scene) -> None:
    batch = scene.schedule_many([10, 20, 30])
    task = batch[1]
    assert (task.state, task.delay_ms, task.deadline_ms) == (TaskState.PENDING, 20, 20)
    assert task.extend(50)
    scene.check()
    del batch
    scene.advance(100)
    assert scene.ran == [(0, 10), (2, 30), (1, 50)]
