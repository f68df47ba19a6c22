"""Ctrl-C at any line of what a call does: the hub goes on, and everybody hears of what is on the disk."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import sojourn.durable
from durable.scene import Scene

ROOM = Path(sojourn.durable.__file__).parent
AT_WORK = {
    str(ROOM / f"{name}.py")
    for name in ("engine", "owned_folder", "nap", "outcomes", "verbs", "log/writer", "state/state", "state/roster")
}
"""Where groups are carried out. `commit.py` has its own tests."""


class Interrupter:
    """Raises `KeyboardInterrupt` at the n-th line."""

    def __init__(self, n: int) -> None:
        self.left = n
        self.where = ""

    def run(self, call: Callable[[], object]) -> bool:
        """Whether the call came to be interrupted."""
        sys.settrace(self._enter)
        try:
            call()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return self.left <= 0

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        is_at_work = frame.f_code.co_filename in AT_WORK and frame.f_code.co_name != "_take_calls"
        return self._line if is_at_work else None  # a callback that is being called may well be interrupted

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.left -= 1
            if self.left == 0:
                self.where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                raise KeyboardInterrupt
        return self._line


def verbs(scene: Scene) -> dict[str, Callable[[], object]]:
    return {
        "signal": lambda: scene.hub.signal("k", "paid"),
        "wait": lambda: scene.hub.wait("k", "paid", 1_000, id="new"),
        "cancel_where": lambda: scene.hub.cancel_where(key_prefix=""),
        "advance": lambda: scene.clock.advance(200),
    }


@pytest.mark.parametrize("verb", ["signal", "wait", "cancel_where", "advance"])
def test_the_hub_goes_on_after_an_interrupt_at_any_line(verb: str) -> None:
    n = 1
    while interrupted_at(n, verb):
        n += 1
    assert n > 50


def interrupted_at(n: int, verb: str) -> bool:
    scene = Scene()
    waits = scene.hub.wait_many(["k", "k", "l"], "paid", 100, ids=["a", None, None])
    for wait in waits:
        wait.add_done_callback(scene.note)
    interrupter = Interrupter(n)
    was_interrupted = interrupter.run(verbs(scene)[verb])
    assert not scene.hub._engine.committer._is_led, f"{interrupter.where}: nobody leads any more"
    scene.hub.signal("k", "paid")
    scene.clock.advance(2_000)
    try:
        scene.check()
    except AssertionError as error:
        raise AssertionError(f"{interrupter.where}: the hub is not what its log says") from error
    numbers = [outcome.number for outcome in scene.hub.outcomes()]
    assert numbers == list(range(1, scene.hub.stats().last_number + 1)), interrupter.where
    assert all(wait.done() for wait in waits), f"{interrupter.where}: {waits}"
    assert sorted(scene.told) == ["#2", "#3", "a"], f"{interrupter.where}: {scene.told}"
    return was_interrupted
