"""A client of a real server on loopback in virtual time, with the face of `hub/scene.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sojourn as sj
from service.client.local import LocalService
from sojourn.service import service as service_module
from sojourn.service.settings import Limits
from sojourn.testing import ManualClock


def use_clock(monkeypatch: Any, clock: ManualClock) -> None:
    """Servers run on this clock, one after the other; hubs of `tests/hub` begin at the epoch."""
    monkeypatch.setattr(service_module, "ManualClock", lambda wall_ms: clock)


class RemoteClock:
    """The clock of a scene, as far as it can be moved and read from outside."""

    def __init__(self, scene: RemoteScene) -> None:
        self.advance = scene.advance
        self._scene = scene

    @property
    def now_ms(self) -> int:
        return self._scene.hub.now_ms()


class RemoteScene:
    """`told` lists the id, outcome and time of every wait that ended, `errors` what reached the client's handler.

    Options are those of a hub where it has them, and of a service where that has them.
    """

    def __init__(self, folder: Path, *, on_error: Any = None, max_pending: int | None = None, **settings: Any) -> None:
        self.local = LocalService(folder, limits=Limits(pending=max_pending), **settings)
        self.clock = RemoteClock(self)
        self.told: list[tuple[str, str, int]] = []
        self.errors: list[tuple[Any, BaseException]] = []
        on_error = on_error or (lambda wait, error: self.errors.append((wait, error)))
        self.hub = sj.connect(self.local.url, name="scene", on_error=on_error)

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

    def advance(self, ms: int) -> int:
        """How many waits that has ended."""
        before = self.hub.stats().pending
        self.hub.advance(ms)
        return before - self.hub.stats().pending

    def counts(self) -> tuple[int, int, int, int]:
        """Pending, completed, expired, cancelled."""
        return self.hub.stats()[:4]

    def watched(self) -> int:
        return sum(len(wait.keys) for wait in self.hub.list())

    def check(self) -> None:
        """Handles and service agree."""
        for wait in self.hub._verbs.known.held():
            assert not wait.done()
            asked = self.hub.get(wait.id)
            assert asked is wait
