"""A durable hub on virtual time and a disk in memory; and what must be the same after a recovery."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from typing import Any, ClassVar

import sojourn as sj
from durable.faulty_files import FaultyFiles
from sojourn.durable import DurableHub, verify
from sojourn.durable.log.files import Files
from sojourn.durable.log.segments import Header, Position
from sojourn.durable.recovery.recovery import recover
from sojourn.durable.recovery.snapshot import all_parts, write_snapshot
from sojourn.durable.state.state import State
from sojourn.testing import ManualClock

WALL_MS = 1_700_000_000_000

SHIPPED = sj.Rule("shipped", opens="order", until=sj.all_of("paid", "packed"), within=1_000, cancels="void")
FUNDED = sj.Rule("funded", opens="order", until=sj.total("coin", at_least=10), within=1_000)

MEMORY: dict[str, Any] = {"memory": int(found)} if (found := os.environ.get("SOJOURN_TEST_MEMORY")) else {}
"""With SOJOURN_TEST_MEMORY=0 every scene has its waits in the index, as far as it can."""


class Scene:
    """`told` lists the ids whose callbacks were called. What is in its files at the end of a test is verified."""

    made: ClassVar[list[Scene]] = []

    def __init__(self, files: FaultyFiles | None = None, clock: ManualClock | None = None, **options: Any) -> None:
        self.is_damaged = False
        """Whether a test has broken its files on purpose."""
        self.files = files or FaultyFiles()
        self.clock = clock or ManualClock(wall_ms=WALL_MS)
        self.told: list[str] = []
        self.options = MEMORY | options
        self.hub = self.open()
        self.made.append(self)

    def open(self, **options: Any) -> DurableHub:
        hub = sj.Hub("scene", data=self.files, clock=self.clock, **self.options | options)  # type: ignore[call-arg]
        assert isinstance(hub, DurableHub)
        self.hub = hub
        return hub

    def reopen(self, down_ms: int = 0, **options: Any) -> DurableHub:
        self.hub.close()
        self.clock.advance(down_ms)
        return self.open(**options)

    def crash(self) -> None:
        """The process is gone, and nothing was said."""
        self.hub.timer.close()
        self.files._owners.clear()

    def note(self, wait: Any) -> None:
        self.told.append(wait.id)

    def check(self) -> None:
        """The running state keeps its promises, and is the one that the log gives."""
        state = self.hub._engine.state
        state.check()
        assert picture(state) == picture(recover(self.files).state)


def check_verified(data: Any) -> None:
    """Each outcome in a folder comes out again under the law, where Arrow is there to find out."""
    if find_spec("pyarrow") is not None:
        verified = verify(data)
        assert verified.is_same, "\n".join(map(str, verified.differences))


def snapshot_at(files: Files, header: Header) -> None:
    """Make the snapshot of the state at the start of that segment."""
    state = recover(files, until=Position(header.segment - 1, header.previous_end)).state
    write_snapshot(files, header.segment, state)


def picture(state: State) -> list[Any]:
    """All that a state is, as a snapshot has it."""
    return [[type_, json.loads(body)] for type_, body in all_parts(0, state)]
