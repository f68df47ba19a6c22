from __future__ import annotations

from pathlib import Path

import pytest

from replay.logs import write_orders, write_rule


@pytest.fixture
def orders_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of its own: a log of orders, and a rule for it."""
    monkeypatch.chdir(tmp_path)
    write_orders(tmp_path)
    write_rule(tmp_path)
