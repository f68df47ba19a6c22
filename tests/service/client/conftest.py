from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from service.client.flaky import Flaky
from service.client.scene import RemoteScene, use_clock
from sojourn.testing import ManualClock


@pytest.fixture
def make_scene(tmp_path: Path, monkeypatch: Any) -> Iterator[Callable[..., RemoteScene]]:
    """Make a client of a real server, on virtual time that begins at the epoch, with these options."""
    made: list[RemoteScene] = []

    def make(**options: Any) -> RemoteScene:
        use_clock(monkeypatch, ManualClock())
        made.append(RemoteScene(tmp_path / str(len(made)), **options))
        return made[-1]

    yield make
    for scene in made:
        scene.close()


@pytest.fixture
def scene(make_scene: Callable[..., RemoteScene]) -> RemoteScene:
    """A client of a real server, on virtual time that begins at the epoch."""
    return make_scene()


@pytest.fixture
def flaky(scene: RemoteScene) -> Iterator[Flaky]:
    """Another way to the service of the scene, on which answers get lost."""
    flaky = Flaky(scene.local.url)
    yield flaky
    flaky.close()
