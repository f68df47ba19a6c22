"""A task is one object that one timer knows: it is neither copied nor pickled, pending or not."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from hub.scene import ROOMS as HUBS
from purgatory.scene import ROOMS
from sojourn.testing import ManualClock
from support import BUILDS, Build

WAYS: dict[str, Callable[[Any], object]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "pickle, of old": lambda thing: pickle.dumps(thing, 0),
}
each_way = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(params=BUILDS, ids=lambda build: build.name)
def build(request: pytest.FixtureRequest) -> Build:
    return request.param


def refuses(way: str, thing: Any) -> None:
    with pytest.raises(TypeError, match="cannot be copied or pickled: it is known to one timer, in one process"):
        WAYS[way](thing)


@each_way
def test_a_pending_task_is_not_copied_and_size_stays_exact(build: Build, way: str) -> None:
    timer = build.SystemTimer("t", clock=ManualClock())
    tasks = [timer.schedule(5, print), timer.add(type("Own", (build.TimerTask,), {})(5)), timer.schedule_at(5, print)]
    batch = timer.schedule_many([5, 6], print)
    for thing in (*tasks, batch, batch[0]):
        refuses(way, thing)
    assert timer.size == 5
    assert [task.cancel() for task in tasks] == [True] * 3
    assert batch.cancel() == 2
    timer._check()
    assert timer.size == 0


@each_way
def test_a_task_that_is_not_pending_is_not_copied_either(build: Build, way: str) -> None:
    """Both builds say the same, whatever it is that would be copied."""
    timer = build.SystemTimer("t", clock=ManualClock())
    cancelled = timer.schedule(5, print)
    cancelled.cancel()
    for thing in (build.TimerTask(5), cancelled, timer.schedule_many([], print), timer):
        refuses(way, thing)


@each_way
def test_an_operation_is_not_copied_and_a_purgatory_is_not_either(build: Build, way: str) -> None:
    room = ROOMS[build]
    purgatory = room.Purgatory("p", timer=build.SystemTimer("t", clock=ManualClock()))
    operation = room.DelayedOperation(5)
    refuses(way, operation)
    purgatory.try_complete_else_watch(operation, ["k"])
    refuses(way, operation)
    refuses(way, purgatory)
    assert (operation.cancel(), purgatory.delayed, purgatory.timer.size) == (True, 0, 0)
    refuses(way, operation)


@each_way
@pytest.mark.parametrize("kind", ["Hub", "AsyncHub"])
def test_a_hub_is_not_copied(build: Build, way: str, kind: str) -> None:
    hub = getattr(HUBS[build], kind)("h", clock=ManualClock())
    hub.wait("k", "paid", 5)
    refuses(way, hub)
    assert (hub.pending, hub.timer.size) == (1, 1)
    hub.close()
