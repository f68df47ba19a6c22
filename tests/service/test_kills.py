"""A service that is killed under load; `make service-kills` does it for longer."""

from __future__ import annotations

from pathlib import Path

from service.kills import run


def test_each_acknowledged_wait_ends_once_though_the_service_is_killed(tmp_path: Path) -> None:
    world = run(3, 7, tmp_path / "data")
    assert len(world.expected) > 20
    assert world.retries
