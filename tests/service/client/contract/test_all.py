"""No file of `tests/hub` is left out in silence."""

from __future__ import annotations

from pathlib import Path

from service.client.contract.chosen import NOT_OVER_A_CLIENT, WHOLE_FILES

HERE = Path(__file__).parent


def names(folder: Path) -> set[str]:
    return {file.stem.removeprefix("test_") for file in folder.glob("test_*.py")}


def test_each_file_runs_over_a_client_or_has_its_reason() -> None:
    run = names(HERE) - {"all"}
    assert run | WHOLE_FILES.keys() == names(HERE.parents[2] / "hub")
    assert not run & WHOLE_FILES.keys()
    assert run >= NOT_OVER_A_CLIENT.keys()
