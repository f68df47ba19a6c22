"""A finaliser may run inside the hub, at any allocation, and do there whatever a program may do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from concurrency.test_finalisers import little_to_collect, ran_inside  # noqa: F401
from hub.scene import Scene
from sojourn import all_of
from support import Build

STEPS: dict[str, Callable[[Scene], object]] = {
    "wait": lambda scene: scene.hub.wait(["k", "l", 7], all_of("a", "b"), 100, callback=scene.note),
    "wait by id": lambda scene: scene.hub.wait("k", "early", 100, id="new", callback=scene.note),
    "signal": lambda scene: scene.hub.signal("k", "a"),
    "extend": lambda scene: scene.hub.extend("x", 50),
    "extend far": lambda scene: scene.hub.extend("x", 10**9),
    "expire": lambda scene: scene.clock.advance(101),
}


def come_and_go(scene: Scene) -> None:
    """Others come to the same keys, and some leave."""
    if not scene.hub._waits._is_open:
        return
    for kind in "ab":
        scene.hub.wait(["k", 7], kind, 100, callback=scene.note)
    scene.hub.signal(7, "b")


FINALISERS: dict[str, Callable[[Scene], object]] = {
    "cancels": lambda scene: [wait.cancel() for wait in scene.hub.list("k")],
    "signals": lambda scene: scene.hub.signal("k", "b"),
    "has company": come_and_go,
}


def is_inside(nth: int, build: Build, step: str, finaliser: str, remember: str | None) -> bool:
    """Run the finaliser at the nth allocation inside the step, and check what comes of it; False if there are fewer."""
    scene = Scene(build, remember=remember)
    scene.hub.signal("k", "b")
    for name in "xyz":
        scene.hub.wait(["k", name], all_of("a", "b"), 100, id=name, callback=scene.note)
    is_there = ran_inside(nth, lambda: STEPS[step](scene), lambda: FINALISERS[finaliser](scene))
    scene.check()
    scene.hub.close()
    assert (scene.hub.pending, scene.hub.timer.size, scene.errors) == (0, 0, [])
    assert len(scene.told) == len({wait for wait, *_ in scene.told}) == sum(scene.counts())
    return is_there


@pytest.mark.usefixtures("little_to_collect")
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("finaliser", FINALISERS)
@pytest.mark.parametrize("remember", [None, "1 h"], ids=["forgetful", "remembering"])
def test_a_collection_at_any_allocation_may_do_anything(
    build: Build, step: str, finaliser: str, remember: str | None
) -> None:
    nth = 1
    while is_inside(nth, build, step, finaliser, remember):
        nth += 1
