"""The tables of planted bugs keep up with the source."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from tests.mutants.__main__ import TABLES
from tests.mutants.mutant import Mutant

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("table", TABLES)
def test_every_bug_can_be_planted_in_just_one_place(table: str) -> None:
    mutants: list[Mutant] = import_module(f"tests.mutants.{table}").MUTANTS
    places = {mutant.name: (ROOT / mutant.file).read_text().count(mutant.old) for mutant in mutants}
    assert {name: count for name, count in places.items() if count != 1} == {}
    assert all(mutant.old != mutant.new for mutant in mutants)
