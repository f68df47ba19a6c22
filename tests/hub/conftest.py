from __future__ import annotations

from collections.abc import Callable

import pytest

from hub.scene import Scene
from support import Build


@pytest.fixture
def make_scene(build: Build) -> Callable[..., Scene]:
    """Make a hub of either build on virtual time, with these options."""
    return lambda **options: Scene(build, **options)


@pytest.fixture
def scene(make_scene: Callable[..., Scene]) -> Scene:
    """A hub of either build on virtual time."""
    return make_scene()
