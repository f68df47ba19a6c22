"""Pages of pending waits: every one of them once, in memory or only on the disk."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from durable.scene import WALL_MS
from sojourn.durable import DurableHub
from sojourn.durable.state.pages import page
from sojourn.testing import ManualClock


@pytest.mark.parametrize("memory", [0, 2**30])
@pytest.mark.parametrize("prefix", [None, "a"])
def test_pages_have_every_pending_wait_once(tmp_path: Path, memory: int, prefix: str | None) -> None:
    hub = DurableHub("pages", data=tmp_path, clock=ManualClock(wall_ms=WALL_MS), memory=memory, segment_bytes=4_000)
    with hub:
        for i in range(8):
            hub.wait_many([f"{'ab'[j % 2]}-{i}-{j}" for j in range(30)], "x", 60_000 * (i + 1), ids=None)
        hub.cancel_where(key_prefix="a-3-")
        for i in range(40):
            hub.signal(f"nobody-{i}", "x")  # so that the index is brought forward
        hub.signal("a-5-0", "x")
        state, after, found = hub._engine.state, 0, []
        assert memory or len(state.waits) < state.pending
        while True:
            some = hub._engine.look(lambda state, after=after: page(state, key_prefix=prefix, after=after, limit=7))
            found += [wait.id for wait in some.waits]
            if some.next is None:
                break
            after = some.next
        expected = [wait.id for wait in hub.list() if prefix is None or wait.key.startswith(prefix)]
        assert found == sorted(expected, key=lambda one: int(one[1:]))
        assert len(found) == len(set(found)) > 100


def test_waits_that_are_only_on_the_disk_are_counted_by_plan(tmp_path: Path) -> None:
    hub = DurableHub("plans", data=tmp_path, clock=ManualClock(wall_ms=WALL_MS), memory=0, segment_bytes=4_000)
    with hub:
        for kind, size in (("x", 50), ("y", 70)):
            hub.wait_many([f"{kind}-{i}" for i in range(size)], kind, 600_000)
        for i in range(60):
            hub.signal(f"nobody-{i}", "x")
        hub.signal_many([(f"x-{i}", "x") for i in range(5)])
        hub.wait_many([f"later-{i}" for i in range(3)], "y", 600_000)
        state = hub._engine.state
        assert state.cold is not None
        here = Counter(wait._plan_number for wait in state.waits.values())
        assert len(state.waits) < state.pending
        assert sorted((here + state.cold.by_plan()).values()) == [45, 73]
