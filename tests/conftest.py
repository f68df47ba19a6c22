from __future__ import annotations

import os

import pytest
from hypothesis import Phase, settings

from support import BUILDS, Build

settings.register_profile("ci", max_examples=200, derandomize=False, print_blob=True, deadline=None)
settings.register_profile("deep", settings.get_profile("ci"), max_examples=2_000)
settings.register_profile("quick", settings.get_profile("ci"), database=None, phases=[Phase.explicit, Phase.generate])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(params=BUILDS, ids=lambda build: build.name)
def build(request: pytest.FixtureRequest) -> Build:
    """Every test that asks for it runs on the pure and on the compiled wheel."""
    return request.param
