from __future__ import annotations

import pytest

from hub.scene import Scene
from support import Build


@pytest.fixture
def scene(build: Build) -> Scene:
    """A hub of either build on virtual time."""
    return Scene(build)
