"""The tests of a durable hub's verbs, over a client of a real server, with restarts of the server in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import sojourn as sj
from durable import test_hub
from durable.scene import WALL_MS, check_verified
from durable.test_twin import Twins
from service.client.local import LocalService
from service.client.scene import use_clock
from sojourn.service.client import RemoteHub
from sojourn.testing import ManualClock


class Scene:
    """As in `durable/scene.py`: `reopen` is a restart of the server, while `down_ms` pass."""

    def __init__(self, folder: Path, clock: ManualClock) -> None:
        self.clock, self._clock = self, clock
        self.told: list[str] = []
        self.local = LocalService(folder)
        self.hub = self._connect()

    def _connect(self) -> RemoteHub:
        return sj.connect(self.local.url, name="scene")

    def advance(self, ms: int) -> None:
        self.hub.advance(ms)

    def reopen(self, down_ms: int = 0) -> RemoteHub:
        self.hub.close()
        self.local.stop()
        self._clock.advance(down_ms)
        self.local.start()
        self.hub = self._connect()
        return self.hub

    def note(self, wait: Any) -> None:
        self.told.append(wait.id)

    def check(self) -> None:
        """What the service says of each wait is what its handles say."""
        for wait in self.hub.list():
            assert not wait.done()


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: Any) -> Iterator[Scene]:
    clock = ManualClock(wall_ms=WALL_MS)
    use_clock(monkeypatch, clock)
    scene = Scene(tmp_path, clock)
    yield scene
    scene.hub.close()
    scene.local.stop()
    check_verified(tmp_path)


NOT_OVER_A_CLIENT = {
    "a_signal_that_a_rule_cannot_read_is_refused_before_anything_is_written": "looks into the files",
    "closing_leaves_waits_pending_and_calls_nobody": "the error says something else: see test_client.py",
    "closing_may_cancel_what_is_pending": "refused: see test_client.py",
    "result_moves_a_manual_clock": "the clock is the service's",
}
"""Tests that do not apply, and why."""


def chosen(module: Any) -> dict[str, Any]:
    """The tests that ask for a scene, and apply."""
    found = {name: one for name, one in vars(module).items() if name.startswith("test_") and asks_for_scene(one)}
    assert NOT_OVER_A_CLIENT.keys() <= {name.removeprefix("test_") for name in found}
    return {name: one for name, one in found.items() if name.removeprefix("test_") not in NOT_OVER_A_CLIENT}


def asks_for_scene(test: Any) -> bool:
    return "scene" in test.__code__.co_varnames[: test.__code__.co_argcount]


globals().update(chosen(test_hub))


class RemoteTwins(Twins):
    """A hub in memory, and a client of a server that restarts now and then."""

    def __init__(self, scene: Any) -> None:
        self.scene = scene
        self.clock = ManualClock(wall_ms=WALL_MS)
        self.memory = sj.Hub("twin", clock=self.clock)
        self.waits, self.events, self.opened = {}, [], {}


@pytest.mark.parametrize("seed", range(8))
def test_the_same_program_has_the_same_outcomes_in_memory_and_over_a_client(scene: Scene, seed: int) -> None:
    twins, random = RemoteTwins(scene), Random(seed)
    for number in range(60):
        twins.step(random, number)
    twins.clock.advance(5_000)
    scene.advance(5_000)
    told = {outcome.operation_id: tuple(outcome)[:12] for outcome in scene.hub.outcomes()}
    assert told == {wait_id: tuple(wait.result()) for wait_id, wait in twins.waits.items()}, f"seed {seed}"
