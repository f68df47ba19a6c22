"""A hub on virtual time, over either build, with a diary of what its waits told."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from sojourn.hub import _core, _signals
from sojourn.hub._waits import WaitsFace
from sojourn.hub.hub import AsyncHubFace, SyncHubFace
from sojourn.testing import ManualClock
from support import BUILDS, Build

GUARD_S = 30
"""Nobody waits that long: a test that would hang fails instead."""


class Room(NamedTuple):
    """The hub that goes with a build of the timer."""

    Hub: type[Any]
    AsyncHub: type[Any]
    Wait: type[Any]


def room(build: Build) -> Room:
    module = {"pure": _signals, "compiled": _core}[build.name]
    waits = type("Waits", (WaitsFace, module.Signals), {"_wait_type": module.Wait})
    return Room(
        hub("Hub", SyncHubFace, module, waits, build.SystemTimer),
        hub("AsyncHub", AsyncHubFace, module, waits, build.AsyncTimer),
        module.Wait,
    )


def hub(name: str, face: type[Any], module: Any, waits: type[Any], timer_type: type[Any]) -> type[Any]:
    return type(name, (module.QuickVerbs, face), {"_own_timer_type": timer_type, "_waits_type": waits})


ROOMS = {build: room(build) for build in BUILDS}


def check(hub: Any) -> None:
    """Prove the invariants; whatever is pending is in the timer, which nobody else uses."""
    hub._waits._check_all()
    hub.timer._check()
    assert hub.timer.size == hub.pending == len(hub.list())
    assert hub.stats().pending == hub.pending


class Scene:
    """`told` lists the id, outcome and time of every wait that ended, `errors` what reached the hub's handler."""

    def __init__(self, build: Build, *, start_ms: int = 0, wall_ms: int = 0, **options: Any) -> None:
        self.build, self.room = build, ROOMS[build]
        self.clock = ManualClock(start_ms, wall_ms=wall_ms)
        self.told: list[tuple[Hashable, str, int]] = []
        self.errors: list[tuple[Any, BaseException]] = []
        options.setdefault("on_error", lambda wait, exception: self.errors.append((wait, exception)))
        if "timer" not in options:
            options["clock"] = self.clock
        self.hub = self.room.Hub("scene", **options)

    def note(self, wait: Any) -> None:
        """The callback of most waits here."""
        self.told.append((wait.id, wait.outcome, wait.at))

    def wait(self, key: Hashable = "k", until: Any = "paid", within: Any = 100, **options: Any) -> Any:
        if "rule" in options:
            until = within = None
        wait = self.hub.wait(key, until, within, **{"callback": self.note} | options)
        self.check()
        return wait

    def signal(self, key: Hashable, kind: str, source: Any = None, value: Any = None) -> int:
        completed = self.hub.signal(key, kind, source, value)
        self.check()
        return completed

    def advance(self, ms: float) -> int:
        ran = self.clock.advance(ms)
        self.check()
        return ran

    def counts(self) -> tuple[int, int, int, int]:
        """Pending, completed, expired, cancelled."""
        return self.hub.stats()[:4]

    def watched(self) -> int:
        """How many keys pending waits are on, each counted for itself."""
        return int(self.hub._waits.watched)

    def check(self) -> None:
        check(self.hub)
