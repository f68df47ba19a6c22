from __future__ import annotations

import pytest

from contract.heap_reference import HEAP
from scene import Scene
from support import BUILDS, Build

SHAPES = [{"tick_ms": tick_ms, "wheel_size": wheel_size} for tick_ms in (1, 7) for wheel_size in (2, 4, 20, 512)]


@pytest.fixture(params=(*BUILDS, HEAP), ids=lambda build: build.name)
def build(request: pytest.FixtureRequest) -> Build:
    """Every contract holds on the pure wheel, on the compiled wheel and on the heap reference."""
    return request.param


@pytest.fixture(params=BUILDS, ids=lambda build: build.name)
def wheel_build(request: pytest.FixtureRequest) -> Build:
    """What is said of wheels holds on the builds that have some."""
    return request.param


@pytest.fixture
def scene(build: Build) -> Scene:
    """A started timer of the default shape."""
    return Scene(build)


@pytest.fixture
def by_hand(build: Build) -> Scene:
    """The same, not started: moved by `advance_clock`."""
    return Scene(build, started=False)


@pytest.fixture(params=SHAPES, ids=lambda shape: "tick{tick_ms}-size{wheel_size}".format(**shape))
def shaped(request: pytest.FixtureRequest, build: Build) -> Scene:
    """A started timer in every shape, large and tiny: on a wheel of 2 buckets everything wraps and cascades."""
    return Scene(build, **request.param)
