from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.client.flaky import Flaky
from service.client.scene import RemoteScene, use_clock
from sojourn.testing import ManualClock


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: Any) -> Iterator[RemoteScene]:
    """A client of a real server, on virtual time that begins at the epoch."""
    use_clock(monkeypatch, ManualClock())
    scene = RemoteScene(tmp_path)
    yield scene
    scene.close()


@pytest.fixture
def flaky(scene: RemoteScene) -> Iterator[Flaky]:
    """Another way to the service of the scene, on which answers get lost."""
    flaky = Flaky(scene.local.url)
    yield flaky
    flaky.close()
