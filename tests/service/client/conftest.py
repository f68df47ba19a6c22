from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.client.flaky import Flaky
from service.client.scene import RemoteScene, start_at_0


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: Any) -> Iterator[RemoteScene]:
    """A client of a real server, on virtual time that begins at the epoch."""
    start_at_0(monkeypatch)
    scene = RemoteScene(tmp_path)
    yield scene
    scene.close()


@pytest.fixture
def flaky(scene: RemoteScene) -> Iterator[Flaky]:
    """Another way to the service of the scene, on which answers get lost."""
    flaky = Flaky(scene.local.url)
    yield flaky
    flaky.close()
