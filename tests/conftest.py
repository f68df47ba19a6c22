from __future__ import annotations

import os
from pathlib import Path

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


UNFINISHED = frozenset((Path(__file__).parent / "unfinished.txt").read_text().split())
"""What the purgatory and the hub do not hold yet: files, or tests in them. `make unfinished` runs these."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        file = f"{item.path.parent.name}/{item.path.name}"
        if file in UNFINISHED or f"{file}::{getattr(item, 'originalname', '')}" in UNFINISHED:
            item.add_marker(pytest.mark.unfinished)
