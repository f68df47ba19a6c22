from __future__ import annotations

import pytest

from purgatory.scene import Scene
from support import Build


@pytest.fixture
def scene(build: Build) -> Scene:
    """A purgatory of either build on a started timer."""
    return Scene(build)
