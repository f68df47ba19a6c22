"""`result()`: the outcome, for whichever thread asks, and however long it takes."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from hub.scene import GUARD_S, Scene
from sojourn.hub import _blocking

ENDS: dict[str, Callable[[Scene, Any], object]] = {
    "completed": lambda scene, wait: scene.hub.signal("k", "paid"),
    "expired": lambda scene, wait: scene.clock.advance(101),
    "cancelled": lambda scene, wait: scene.hub.cancel(wait),
    "closed": lambda scene, wait: scene.hub.close(),
}
each_end = pytest.mark.parametrize("end", ENDS)


@each_end
def test_threads_that_wait_for_the_result_get_it_when_another_ends_the_wait(scene: Scene, end: str) -> None:
    wait = scene.wait()
    has_asked = threading.Barrier(4)

    def ask() -> Any:
        has_asked.wait()
        return wait.result(GUARD_S)

    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(ask) for _ in range(3)]
        has_asked.wait()
        ENDS[end](scene, wait)
        answers = {answer.result() for answer in asked}
    assert answers == {wait.result(0)}
    assert wait.result(0).outcome == ("cancelled" if end == "closed" else end)


@each_end
def test_the_result_of_a_wait_that_has_ended_is_there_at_once(scene: Scene, end: str) -> None:
    wait = scene.wait()
    ENDS[end](scene, wait)
    assert wait.result(timeout=0) is not None
    assert wait.result(timeout=0) == wait.result(0)


def test_asking_no_longer_than_so_long_raises_a_timeout_error_and_changes_nothing(scene: Scene) -> None:
    wait = scene.wait()
    for timeout in (0, 0.0, 1e-9):
        with pytest.raises(TimeoutError, match="still pending after"):
            wait.result(timeout)
    scene.check()
    assert not wait.done()
    assert scene.signal("k", "paid") == 1
    assert wait.result(0).outcome == "completed"


def test_who_asks_in_vain_leaves_nothing_behind(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    events: weakref.WeakSet[Any] = weakref.WeakSet()

    class Event(threading.Event):
        def __init__(self) -> None:
            super().__init__()
            events.add(self)

    monkeypatch.setattr(_blocking, "threading", SimpleNamespace(Event=Event, get_ident=lambda: None))
    wait = scene.wait(callback=None)
    for callbacks in range(3):
        with pytest.raises(TimeoutError):
            wait.result(1e-9)
        gc.collect()
        assert not events
        wait.add_done_callback(lambda wait, i=callbacks: scene.told.append(i))
    scene.signal("k", "paid")
    assert scene.told == [0, 1, 2]


def test_a_callback_may_ask_for_the_result(scene: Scene) -> None:
    answers: list[str] = []
    scene.wait(callback=lambda wait: answers.append(wait.result(0).outcome))
    scene.signal("k", "paid")
    assert answers == ["completed"]


def test_the_result_explains_itself(scene: Scene) -> None:
    wait = scene.wait(within="1 min")
    scene.advance(2_000)
    scene.signal("k", "paid")
    assert wait.result(0).explain() == "completed by paid at 1970-01-01 00:00:02 UTC after 2 s: seen paid"
    assert wait.explain() == scene.hub.explain(wait) == wait.result(0).explain()
