"""A client of a real server on loopback in virtual time, with the face of `hub/scene.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sojourn as sj
from service.client.local import LocalService
from sojourn.service import service as service_module
from sojourn.testing import ManualClock


def use_clock(monkeypatch: Any, clock: ManualClock) -> None:
    """Servers run on this clock, one after the other; hubs of `tests/hub` begin at the epoch."""
    monkeypatch.setattr(service_module, "ManualClock", lambda wall_ms: clock)


class RemoteScene:
    """`told` lists the id, outcome and time of every wait that ended, `errors` what reached the client's handler."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.local = LocalService(folder, **settings)
        self.told: list[tuple[str, str, int]] = []
        self.errors: list[tuple[Any, BaseException]] = []
        self.hub = sj.connect(self.local.url, on_error=lambda wait, error: self.errors.append((wait, error)))

    def close(self) -> None:
        self.hub.close()
        self.local.stop()

    def note(self, wait: Any) -> None:
        self.told.append((wait.id, wait.outcome, wait.at))

    def wait(self, key: Any = "k", until: Any = "paid", within: Any = 100, **options: Any) -> Any:
        if "rule" in options:
            until = within = None
        return self.hub.wait(key, until, within, **{"callback": self.note} | options)

    def signal(self, key: Any, kind: str, source: Any = None, value: Any = None) -> int:
        return self.hub.signal(key, kind, source, value)

    def restart(self) -> None:
        self.local.stop()
        self.local.start()

    def advance(self, ms: int) -> None:
        self.hub.advance(ms)

    def counts(self) -> tuple[int, int, int, int]:
        """Pending, completed, expired, cancelled."""
        return self.hub.stats()[:4]

    def check(self) -> None:
        """Handles and service agree."""
        for wait in self.hub._verbs.known.held():
            assert not wait.done()
            asked = self.hub.get(wait.id)
            assert asked is wait
