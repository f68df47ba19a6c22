from __future__ import annotations

import pytest

from support import BUILDS, Build


@pytest.fixture(params=BUILDS, ids=lambda build: build.name)
def build(request: pytest.FixtureRequest) -> Build:
    """Every test that asks for it runs on the pure and on the compiled wheel."""
    return request.param
