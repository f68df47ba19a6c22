"""What README and docs say of speed is what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import figures


def test_every_table_is_drawn_from_the_measured_files() -> None:
    assert figures.draw(check=True) == []


def test_a_figure_that_was_not_measured_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "README.md"
    page.write_text(figures.PAGES[0].read_text().replace("as long", "as quick", 1))
    monkeypatch.setattr(figures, "PAGES", (page,))
    assert figures.draw(check=True) == [page]
    assert figures.draw() == [page]
    assert figures.draw(check=True) == []
    assert page.read_text() == (figures.ROOT / "README.md").read_text()
