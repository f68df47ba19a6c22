"""The law stands at the bottom: the standard library, no clock, no thread; and its names are public."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import sojourn
from sojourn import rules

MODULES = sorted(Path(rules.__file__).parent.glob("*.py"))
WORLDLY = {"time", "threading", "_thread", "asyncio", "random", "socket", "subprocess", "secrets", "uuid"}


def imported(module: Path) -> set[str]:
    """What a module imports: `..errors` for a neighbour of the package, the first name for anything else."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.level > 1:
            found.add("." * node.level + (node.module or ""))
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_the_rules_import_nothing_but_the_standard_library_and_the_errors(module: Path) -> None:
    others = {name for name in imported(module) if name not in sys.stdlib_module_names}
    assert others <= {"..errors"}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_the_rules_know_no_clock_no_thread_and_no_chance(module: Path) -> None:
    assert not imported(module) & WORLDLY


def test_what_people_type_most_is_at_the_top() -> None:
    names = [
        "Condition",
        "Event",
        "Outcome",
        "Rule",
        "all_of",
        "any_of",
        "column",
        "n_of",
        "never",
        "reached",
        "seen",
        "total",
        "until_column",
    ]
    assert all(getattr(sojourn, name) is getattr(rules, name) for name in names)
    assert set(names) < set(sojourn.__all__)
    assert sojourn.RuleError.__mro__[1:3] == (sojourn.SojournError, ValueError)
