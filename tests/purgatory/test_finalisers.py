"""A finaliser may run inside the purgatory, at any allocation, and do there whatever a program may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from concurrency.test_finalisers import collect_at, little_to_collect, ran_inside  # noqa: F401
from purgatory.scene import Scene
from support import Build

STEPS: dict[str, Callable[[Scene], object]] = {
    "watch": lambda scene: scene.purgatory.try_complete_else_watch(scene.operation("new"), ["k", "l", 7]),
    "signal": lambda scene: scene.purgatory.check_and_complete("k"),
    "cancel for key": lambda scene: scene.purgatory.cancel_for_key("k"),
    "expire": lambda scene: scene.clock.advance(100),
    "close": lambda scene: scene.purgatory.close(),
    "close, cancelling": lambda scene: scene.purgatory.close(cancel_pending=True),
}


def come_and_go(scene: Scene) -> None:
    """Others come to the same keys, and some leave."""
    if scene.purgatory._is_open:
        for name in "ab":
            operation = scene.operation(name)
            scene.purgatory.try_complete_else_watch(operation, ["k", 7])
        operation.cancel()


FINALISERS: dict[str, Callable[[Scene], object]] = {
    "leaves": lambda scene: scene.purgatory.cancel_for_key("y"),
    "is signalled": lambda scene: scene.purgatory.check_and_complete("k"),
    "has company": come_and_go,
}


def is_inside(nth: int, build: Build, step: str, finaliser: str) -> bool:
    """Run the finaliser at the nth allocation inside the step, and check what comes of it; False if there are fewer."""
    scene = Scene(build)
    for name in "xyz":
        scene.watched(name, "k", name)
    is_there = ran_inside(nth, lambda: STEPS[step](scene), lambda: FINALISERS[finaliser](scene))
    scene.check()
    scene.purgatory.close(cancel_pending=True)
    scene.check()
    assert scene.counts() == (0, 0)
    assert all(scene.told.count(f"{name} cancellation") <= 1 for name in "xyz")
    return is_there


@pytest.mark.usefixtures("little_to_collect")
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("finaliser", FINALISERS)
def test_a_collection_at_any_allocation_may_do_anything(build: Build, step: str, finaliser: str) -> None:
    nth = 1
    while is_inside(nth, build, step, finaliser):
        nth += 1


@pytest.mark.usefixtures("little_to_collect")
@pytest.mark.parametrize("keys", [["k"], ["k", "l", 7]], ids=["one key", "three keys"])
def test_a_collection_may_end_the_operation_that_is_coming_in(build: Build, keys: list[object]) -> None:
    for nth in range(1, 60):
        scene = Scene(build)
        operation = scene.operation()

        def watch(scene: Scene = scene, operation: Any = operation) -> None:
            scene.purgatory.try_complete_else_watch(operation, keys)

        collect_at(nth, watch, operation.cancel)
        operation.cancel()
        assert scene.purgatory._entries() == []
        scene.check()
        assert (scene.counts(), scene.told, scene.timer.size) == ((0, 0), ["x cancellation"], 0)
