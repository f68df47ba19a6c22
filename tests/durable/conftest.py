from __future__ import annotations

import pytest

from durable.scene import Scene


@pytest.fixture
def scene() -> Scene:
    """A durable hub on virtual time and a disk in memory."""
    return Scene()
