"""A limit on pending waits: beyond it the hub refuses with a clear error, and takes more once some have ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hub.scene import Scene
from sojourn import HubFullError, all_of

ENDS: dict[str, Callable[[Scene, Any], object]] = {
    "signal": lambda scene, wait: scene.signal(wait.key, "paid"),
    "deadline": lambda scene, wait: scene.advance(101),
    "cancel": lambda scene, wait: scene.hub.cancel(wait),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_full_hub_refuses_and_takes_more_once_a_wait_has_ended(make_scene: Any, end: str) -> None:
    scene = make_scene(max_pending=2)
    first, _ = scene.wait("1", within=100), scene.wait("2", within=1_000)
    for key in ("3", ["3", "4"]):
        with pytest.raises(HubFullError, match=r"holds 2 pending waits, .*max_pending allows"):
            scene.wait(key, all_of("paid"))
    scene.check()
    assert (scene.counts()[0], scene.watched()) == (2, 2)
    ENDS[end](scene, first)
    scene.wait("3")
    with pytest.raises(HubFullError):
        scene.wait("4")


def test_waiting_again_with_a_known_id_is_never_too_much(make_scene: Any) -> None:
    scene = make_scene(max_pending=1)
    wait = scene.wait(id="x")
    assert scene.wait(id="x") is wait
    with pytest.raises(HubFullError):
        scene.wait(id="y")
    assert scene.hub.get("y") is None
    scene.signal("k", "paid")
    assert scene.wait(id="y").id == "y"


def test_a_callback_may_wait_in_the_place_of_the_wait_that_ended(make_scene: Any) -> None:
    scene = make_scene(max_pending=1)
    scene.wait(callback=lambda wait: scene.wait(id="second"))
    scene.signal("k", "paid")
    assert (scene.errors, scene.counts()[0]) == ([], 1)


def test_a_hub_that_may_hold_nothing_holds_nothing(make_scene: Any) -> None:
    with pytest.raises(HubFullError):
        make_scene(max_pending=0).wait()


def test_without_a_limit_there_is_none(scene: Scene) -> None:
    scene.hub.wait_many(map(str, range(10_000)), "paid", 100)
    scene.check()
    assert scene.advance(101) == 10_000
