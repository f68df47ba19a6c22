"""Load without end, in virtual time: what a hub keeps, in memory and on the disk, does not grow with it."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import sojourn as sj
from durable.scene import SHIPPED, WALL_MS
from sojourn.testing import ManualClock

STEP_MS = 100
KEEP_BYTES = 400_000
SEGMENT_BYTES = 100_000
SNAPSHOT_BYTES = 200_000
"""A state of this load, with room to spare; two of them are kept, and one is being written."""
MOST_RSS_GROWTH = 30 * 2**20


class Load:
    """Waits of every kind come, and are met, extended, cancelled or left to expire."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.random, self.n = folder, Random(1), 0
        self.clock = ManualClock(wall_ms=WALL_MS)
        self.hub: Any = sj.Hub(
            "soak",
            data=folder,
            clock=self.clock,
            sync="os",
            remember=2_000,
            remember_ids=5_000,
            keep="1 min",
            keep_bytes=KEEP_BYTES,
            segment_bytes=SEGMENT_BYTES,
        )
        self.hub.register(SHIPPED)
        self.read = 0

    def run(self, minutes: float) -> None:
        for _ in range(int(minutes * 60_000 / STEP_MS)):
            self.step()
            self.clock.advance(STEP_MS)

    def step(self) -> None:
        hub, random, self.n = self.hub, self.random, self.n + 1
        keys = [f"k{self.n}-{i}" for i in range(4)]
        hub.wait_many(keys, rule="shipped", ids=[f"w-{key}" for key in keys], payloads=[{"n": self.n}] * 4)
        hub.wait(keys[0], sj.seen("ack", times=self.n), random.randrange(1, 3_000))
        hub.signal_many(
            [(key, kind) for key in keys[1:] for kind in ("paid", "packed")], ids=[f"s{self.n}-{i}" for i in range(6)]
        )
        hub.signal(f"early{self.n}", "paid")
        hub.extend(f"w-{keys[0]}", random.randrange(500))
        if self.n % 20 == 0:
            hub.shift(rule="shipped", by=random.randrange(1, 50))
            hub.cancel_where(key_prefix=f"k{self.n}")
        for outcome in hub.outcomes(after=self.read):
            assert outcome.number == self.read + 1
            self.read = outcome.number

    def check(self) -> None:
        """Nothing is kept beyond its time."""
        self.hub._engine.state.check()
        state = self.hub._engine.state
        sizes = {
            "pending": len(state.waits),
            "keys": len(state.by_key),
            "instants": len(state.due._at),
            "untold": len(state.untold),
            "ids": len(state.ids),
            "ids of signals": len(state.signal_ids),
            "plans": len(state.plans),
            "remembered": self.hub.stats().remembered,
        }
        assert max(sizes.values()) < 1_000, sizes
        on_disk = sum(path.stat().st_size for path in self.folder.iterdir())
        assert on_disk < KEEP_BYTES + 2 * SEGMENT_BYTES + 3 * SNAPSHOT_BYTES, [*self.folder.iterdir()]


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4_096


def test_what_a_hub_keeps_does_not_grow_with_its_load(tmp_path: Path) -> None:
    load = Load(tmp_path)
    for _ in range(4):
        load.run(0.25)
        load.check()
    assert load.read > 2_000
    load.hub.close()


@pytest.mark.soak
def test_an_hour_of_load_has_constant_memory_and_a_bounded_disk(tmp_path: Path) -> None:
    load = Load(tmp_path)
    load.run(5)
    before = resident_bytes()
    for _ in range(11):
        load.run(5)
        load.check()
        assert resident_bytes() - before < MOST_RSS_GROWTH
    assert load.read > 150_000
    print(f"{load.read:,} outcomes, {(resident_bytes() - before) / 2**20:.1f} MiB more than after five minutes")
    load.hub.close()
    assert sum(wait.done() for wait in load.hub.list()) == 0
