"""What README and docs say of speed is what was measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import figures
from benchmarks.results import Results


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


def test_the_table_of_commands_is_drawn_once_they_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in figures.MEASURED.glob("*.json"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(figures, "MEASURED", tmp_path)
    measured = tmp_path / "replay.json"
    measured.unlink(missing_ok=True)
    assert figures.replays() == ""
    assert "the kernel over history" in figures.summary()
    rows = [
        {"peer": "sojourn-local", "n": 1_000_000, "ns": 600.0, "bytes": 1 << 29},
        {"peer": "duckdb", "n": 1_000_000, "ns": 700.0, "bytes": 1 << 30},
        {"peer": "duckdb", "n": 200_000_000, "ns": 600.0, "bytes": 1 << 33},
    ]
    Results([{"workload": "replay", "op": "replay", **row} for row in rows]).save(measured)
    assert figures.replays().splitlines()[-4:] == [
        "| cold, from file to file | 1,000,000 events, s | GiB | 200,000,000 events, s | GiB |",
        "| --- | --: | --: | --: | --: |",
        "| `sojourn replay --engine local` | 0.6 | 0.5 |  |  |",
        "| DuckDB by hand | 0.7 | 1.0 | 120 | 8.0 |",
    ]
    assert "the kernel over history" not in figures.summary()
