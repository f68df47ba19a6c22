from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from durable.scene import Scene, check_verified


@pytest.fixture
def scene() -> Scene:
    """A durable hub on virtual time and a disk in memory."""
    return Scene()


@pytest.fixture
def in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """With SOJOURN_TEST_MEMORY=0, too: for tests that say where segments end, or look at what is in memory."""
    monkeypatch.setattr("durable.scene.MEMORY", {})


@pytest.fixture(autouse=True)
def what_was_told_is_what_the_law_says(tmp_path: Path) -> Iterator[None]:
    """Every test ends with a replay of what its hubs have written."""
    Scene.made.clear()
    yield
    for scene in Scene.made:
        if not scene.is_damaged:
            check_verified(scene.files)
    for folder in {segment.parent for segment in tmp_path.rglob("log-*.sj")}:
        check_verified(folder)
