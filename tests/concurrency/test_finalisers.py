"""A finaliser may run inside the timer, in the same thread, and cancel a task there: the lock, reentrant, lets it.

A garbage collection starts at an allocation. So one is started at every allocation that an operation makes, one after
the other; and where the interpreter mostly has memory at hand, as for a pair, a finaliser is run in its place.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from concurrency.scheduler import Stage
from concurrency.world import World
from sojourn.timer import _timer
from sojourn.timer._wheel import TimingWheel
from support import PURE, Build

OPERATIONS: dict[str, Callable[[World], object]] = {
    "schedule": lambda world: world.schedule("v", 5),
    "schedule_many": lambda world: world.schedule_many("uv", 5),
    "cancel": lambda world: world.cancel("x"),
    "extend": lambda world: world.extend("x", 5),
    "expire": lambda world: world.expire(5),
    "sink": lambda world: world.expire(4),
    "move": lambda world: world.add("w", to=world.other),
    "close": lambda world: world.close(),
    "pending": lambda world: list(world.timer.pending()),
    "nap": lambda world: world.timer.nap_ns(),
}


class Cycle:
    """Garbage that only a collection finds, and that does something when found."""

    def __init__(self, finaliser: Callable[[], object]) -> None:
        self.finaliser, self.itself = finaliser, self

    def __del__(self) -> None:
        self.finaliser()


def collect_at(nth: int, operation: Callable[[], object], finaliser: Callable[[], object]) -> None:
    """Run the operation with a garbage collection at the nth allocation that it makes."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.disable()
    Cycle(finaliser)
    gc.set_threshold(gc.get_count()[0] + nth)
    gc.enable()
    try:
        operation()
    finally:
        gc.set_threshold(*thresholds)


def ran_inside(nth: int, operation: Callable[[], object], finaliser: Callable[[], object]) -> bool:
    """The same; whether that came before the end of the operation."""
    ran: list[bool] = []
    collect_at(nth, lambda: (operation(), ran.append(False)), lambda: (ran.append(True), finaliser()))
    return ran[0]


def collect_after(function: str, nth: int, operation: Callable[[], object], finaliser: Callable[[], object]) -> None:
    """Run the operation with a garbage collection where the nth call of the function allocates its answer."""
    calls = 0
    home, original = (_timer, sorted) if function == "sorted" else (TimingWheel, getattr(TimingWheel, function))

    def answer(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        result = original(*args, **options)
        if calls == nth:
            finaliser()
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(home, function, answer, raising=False)
        operation()


def is_inside(how: Callable[..., None], nth: int, build: Build, operation: str, neighbours: str) -> bool:
    """Have y cancelled at the nth place inside the operation, and check the world; False if there are fewer places."""
    world = World(Stage(0), build, frozenset())
    for name in neighbours:
        world.add(name, 5)
    world.add("w", 3)
    inside: list[bool] = []

    def operate() -> None:
        OPERATIONS[operation](world)
        inside.append(not world.tasks["y"].is_pending and world.cancelled["y"] + world.denied["y"] > 0)

    how(nth, operate, lambda: world.cancel("y"))
    gc.collect()
    world.check()
    return inside[0]


def everywhere(how: Callable[..., None], build: Build, operation: str, neighbours: str) -> int:
    """Have y cancelled at the first place inside the operation, at the second, ... and return how many there were."""
    nth = 1
    while is_inside(how, nth, build, operation, neighbours):
        nth += 1
    return nth


@pytest.fixture
def little_to_collect() -> Iterator[None]:
    """What is there before the test is none of the collector's business."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("little_to_collect")
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("neighbours", ["xy", "yx"])
def test_a_collection_at_any_allocation_may_cancel_a_neighbour(build: Build, operation: str, neighbours: str) -> None:
    everywhere(collect_at, build, operation, neighbours)


@pytest.mark.parametrize(
    ("operation", "function"),
    [("close", "sorted"), ("pending", "sorted"), *((name, "next_bucket") for name in ("expire", "sink", "nap"))],
)
@pytest.mark.parametrize("neighbours", ["xy", "y"])
def test_a_collection_that_cancels_a_task_already_chosen_does_no_harm(
    operation: str, function: str, neighbours: str
) -> None:
    assert everywhere(partial(collect_after, function), PURE, operation, neighbours) > 1


@pytest.mark.usefixtures("little_to_collect")
def test_tasks_cancelled_by_collections_all_the_time(build: Build) -> None:
    world = World(Stage(0), build, frozenset())
    timer: Any = world.timer
    thresholds = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for i in range(300):
            Cycle(timer.schedule(i % 7, world.note, f"garbage {i}").cancel)
            kept = timer.schedule(i % 7, world.note, f"kept {i}")
            Cycle(timer.schedule_many([i % 5] * 3, world.note, f"batch {i}")[1].cancel)
            kept.extend(i % 3)
            if i % 4 == 0:
                world.clock.now_ms += 1
                timer._run_due()
            timer._check()
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    world.clock.now_ms += 10
    timer._run_due()
    timer._check()
    stats = timer.stats()
    assert (stats.pending, stats.scheduled) == (0, 5 * 300)
    assert stats.expired == len(world.ran)
    assert {f"kept {i}" for i in range(300)} <= {name for name, _ in world.ran}
    assert stats.cancelled > 300, "collections did happen"
