from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka.scene import Scene


@pytest.fixture
def scene() -> Iterator[Scene]:
    """Three brokers; afterwards nothing may be left, and the law over the log must say what happened."""
    scene = Scene()
    yield scene
    scene.close()
