"""What `import sojourn` gives, and what it costs in dependencies."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import sojourn
import sojourn.demo
import sojourn.durable
import sojourn.hub
import sojourn.kafka
import sojourn.kafka.simulation
import sojourn.purgatory
import sojourn.rules
import sojourn.testing
import sojourn.timer

ROOMS = (
    sojourn,
    sojourn.timer,
    sojourn.rules,
    sojourn.purgatory,
    sojourn.hub,
    sojourn.durable,
    sojourn.kafka,
    sojourn.kafka.simulation,
    sojourn.demo,
    sojourn.testing,
)


def public_names(module: ModuleType) -> set[str]:
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"
    }


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__)
def test_all_names_what_is_public_and_nothing_else(room: ModuleType) -> None:
    assert public_names(room) == {name for name in room.__all__ if not name.startswith("_")}
    assert len(room.__all__) == len(set(room.__all__))


def test_importing_sojourn_needs_the_standard_library_only() -> None:
    program = (
        "import sys; before = set(sys.modules); import sojourn; "
        "top = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(sorted(top - sys.stdlib_module_names - {'sojourn', 'cython_runtime'}))"  # the latter is no package
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_importing_the_broker_model_needs_the_standard_library_only() -> None:
    program = (
        "import sys; before = set(sys.modules); import sojourn.kafka.simulation; "
        "top = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(sorted(top - sys.stdlib_module_names - {'sojourn', 'cython_runtime'}))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_importing_sojourn_does_not_import_asyncio_or_logging() -> None:
    program = "import sys, sojourn; print(sorted({'asyncio', 'logging'} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


@pytest.mark.parametrize(("pure", "implementation"), [("1", "pure"), ("", "compiled"), ("0", "compiled")])
def test_the_package_says_which_build_it_is(pure: str, implementation: str) -> None:
    program = (
        "import sojourn.timer; print(sojourn.timer.IMPLEMENTATION, sojourn.timer.SystemTimer.__mro__[-2].__module__)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], env={"SOJOURN_PURE": pure}, capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == [implementation, f"sojourn.timer._{'timer' if implementation == 'pure' else 'core'}"]
