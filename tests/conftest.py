from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings

from files.session import small_session
from support import BUILDS, Build

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A landing is not a lottery: under CI the examples are the same each time. Everywhere else they are new ones.
settings.register_profile("ci", max_examples=200, derandomize="CI" in os.environ, print_blob=True, deadline=None)
settings.register_profile("deep", settings.get_profile("ci"), max_examples=2_000)
settings.register_profile("few", settings.get_profile("ci"), max_examples=20)
settings.register_profile("quick", settings.get_profile("ci"), database=None, phases=[Phase.explicit, Phase.generate])
os.environ.setdefault("SOJOURN_NO_CLASS_ARCHIVE", "1")  # no command that a test starts leaves anything behind

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever asks for a Spark session needs Java; where there is none, such tests are skipped, and say so."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("java")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        for item in items:
            if item.get_closest_marker("java"):
                item.add_marker(
                    pytest.mark.skip(reason="needs Java 17, and there is none: install it, or set JAVA_HOME")
                )


@pytest.fixture(params=BUILDS, ids=lambda build: build.name)
def build(request: pytest.FixtureRequest) -> Build:
    """Every test that asks for it runs on the pure and on the compiled wheel."""
    return request.param


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for the whole run: small, silent, far from UTC, with scratch space of its own."""
    session = small_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
