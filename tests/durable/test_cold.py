"""More than memory: wherever a wait lives, in memory or in the index, the answers are the same."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import sojourn as sj
from durable import program, test_twin
from durable.faulty_files import disk_after, some_of_it
from durable.scene import WALL_MS, Scene, picture
from sojourn.durable import engine, owned_folder
from sojourn.durable.index import cold
from sojourn.durable.index.cold import WAIT_BYTES
from sojourn.durable.index.index import Index
from sojourn.durable.log.records import SNAPSHOT_WAITS
from sojourn.durable.recovery.recovery import recover
from sojourn.durable.recovery.upkeep import Upkeep

FEW = 3 * WAIT_BYTES
MEMORIES = (0, FEW)


class LateUpkeep:
    """Upkeep whose work is done when somebody says so, as if by a slow thread."""

    def __init__(self, scene: Scene) -> None:
        upkeep = scene.hub._engine._upkeep
        upkeep._in_background = True
        upkeep._begin = self._begin  # type: ignore[method-assign]
        upkeep.join = self.finish  # type: ignore[method-assign]
        self.work: Callable[[], None] | None = None
        upkeep.__class__ = type("Late", (Upkeep,), {"is_working": property(lambda _: self.work is not None)})

    def _begin(self, work: Callable[[], None]) -> None:
        self.work = work

    def finish(self, timeout_s: float | None = None) -> None:
        if self.work is not None:
            self.work()
            self.work = None

    def fail(self) -> None:
        self.work = None


def told(scene: Scene) -> list[Any]:
    """Of those that end at the same time, one may be told before the other here, and after it there."""
    return sorted(tuple(outcome)[:12] for outcome in scene.hub.outcomes())


def pending(scene: Scene) -> list[Any]:
    """Of a state: numbers, counts, rules and waits, but not the time of the last record: one may have had no effect."""
    (_, head), *parts = picture(scene.hub._engine.state)
    head[1][0] = None
    return [head, *[body for type_, body in parts if type_ == SNAPSHOT_WAITS]]


def forget(scene: Scene) -> None:
    """Let what nobody holds leave memory: first the index has to have it."""
    for _ in range(2):
        scene.hub.signal("nobody", "waits")


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("remember", [None, 40])
@pytest.mark.parametrize("seed", range(15))
def test_a_program_has_one_history_however_little_memory_there_is(seed: int, remember: int | None, memory: int) -> None:
    scenes = [Scene(remember=remember), Scene(remember=remember, memory=memory)]
    randoms = [Random(seed), Random(seed)]
    for scene in scenes:
        scene.hub.register(program.SHIPPED)
        scene.hub.register(program.FUNDED)
    for number in range(60):
        for scene, random in zip(scenes, randoms, strict=True):
            program.step(scene, random)
            if random.random() < 0.05:
                scene.reopen(down_ms=20)
        here, there = scenes
        assert there.hub.stats()[:5] == here.hub.stats()[:5], f"seed {seed}, step {number}"
        assert pending(there) == pending(here), f"seed {seed}, step {number}"
        there.check()
    assert told(there) == told(here), f"seed {seed}"


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("remember", [None, 30])
@pytest.mark.parametrize("seed", range(15))
def test_with_little_memory_a_program_has_the_outcomes_of_a_hub_in_memory(
    seed: int, remember: int | None, memory: int
) -> None:
    twins, random = test_twin.Twins(remember), Random(seed)
    twins.scene.options["memory"] = memory
    twins.scene.reopen()
    for number in range(60):
        twins.step(random, number)
    twins.clock.advance(5_000)
    twins.scene.clock.advance(5_000)
    outcomes = {outcome.operation_id: tuple(outcome)[:12] for outcome in twins.scene.hub.outcomes()}
    assert outcomes == {wait_id: tuple(wait.result()) for wait_id, wait in twins.waits.items()}, f"seed {seed}"
    twins.scene.check()


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("seed", range(4))
def test_with_little_memory_a_hub_goes_on_from_every_cut(seed: int, memory: int) -> None:
    scene = Scene(memory=memory)
    answered = program.run(scene, seed, 12)
    for ops in range(answered[0].ops, len(scene.files.journal) + 1, 7):
        files = disk_after({}, scene.files.journal[:ops], some_of_it(ops))
        pending = picture(recover(files).state)
        after = Scene(files, scene.clock, memory=memory)
        after.check()
        after.clock.advance(5_000)
        assert after.hub.pending == 0, f"seed {seed}, after {ops} operations of {pending}"
        outcomes = list(after.hub.outcomes())
        assert [outcome.number for outcome in outcomes] == list(range(1, len(outcomes) + 1))
        after.check()
        after.hub.close()


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("seed", range(15))
def test_a_program_has_one_history_however_slowly_the_index_is_brought_forward(
    seed: int, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And however few leave memory, or are told, at a time."""
    monkeypatch.setattr(owned_folder, "MOVE_MOST", 1)
    scenes, randoms = [Scene(), Scene(memory=memory)], [Random(seed), Random(seed)]
    here, there = scenes
    late, slowness = LateUpkeep(there), Random(-1 - seed)
    for scene in scenes:
        scene.hub.register(program.SHIPPED)
        scene.hub.register(program.FUNDED)
    for number in range(60):
        for scene, random in zip(scenes, randoms, strict=True):
            program.step(scene, random)
        if slowness.random() < 0.4:
            _ = late.finish() if slowness.random() < 0.8 else late.fail()
        assert pending(there) == pending(here), f"seed {seed}, step {number}"
        there.check()
    assert told(there) == told(here), f"seed {seed}"


def test_upkeep_shows_a_running_hub_nothing_from_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait that was opened and has ended since the index was written is not remembered: no row of it may be seen."""
    monkeypatch.setattr(cold, "HASTE", 1)  # few changes are many already
    scene = Scene(memory=16 * WAIT_BYTES)
    late = LateUpkeep(scene)
    monkeypatch.setattr(scene.hub._engine._upkeep, "join", lambda timeout_s=None: None)
    open_far(scene, 20)
    late.finish()
    open_far(scene, 8)
    assert late.work is not None
    scene.hub.wait_many([f"k{i}" for i in range(12)], "paid", 5)
    scene.clock.advance(10)
    late.finish()
    open_far(scene, 8)
    put_new, seen = Index.put_new, list[Any]()

    def spied(index: Index, rows: list[Any], shifts: int) -> None:
        put_new(index, rows, shifts)
        seen.extend(row[2][0] for row in rows)

    monkeypatch.setattr(Index, "put_new", spied)
    late.finish()
    assert seen == ["far"] * 8
    scene.hub.close()


def open_far(scene: Scene, count: int) -> None:
    scene.hub.wait_many(["far"] * count, "paid", 100_000)
    scene.hub.signal("nobody", "waits")


def test_a_herd_that_is_cancelled_in_the_index_is_told_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "TELL_MOST", 3)
    monkeypatch.setattr(engine, "TELL_MOST_AT_ONCE", 3)
    scene = Scene(memory=0)
    scene.hub.wait_many([f"k{i}" for i in range(40)], "paid", 100)
    held = scene.hub.wait("k", "paid", 100)
    late = LateUpkeep(scene)
    assert scene.hub.cancel_where(key_prefix="k", dry_run=True) == 41
    assert scene.hub.cancel_where(key_prefix="k") == 41
    for _ in range(5):
        assert (scene.hub.pending, scene.hub.cancel_where(key_prefix="k")) == (0, 0)
        scene.check()
        late.finish()
        assert scene.hub.signal("k3", "paid") == 0
        scene.check()
    scene.clock.advance(0)
    assert [outcome.at for outcome in scene.hub.outcomes()] == [WALL_MS] * 41
    assert held.outcome == "cancelled"
    scene.check()


def test_a_wait_that_somebody_holds_is_told_also_if_it_was_far_away() -> None:
    scene = Scene(memory=0)
    scene.hub.wait("a", "paid", 1_000, callback=scene.note)
    held = scene.hub.wait("b", "paid", 1_000, id="held")
    scene.hub.wait("c", "paid", 1_000, id="c")
    forget(scene)
    assert "c" not in scene.hub._engine.state.ids
    assert scene.hub.get("held") is held
    scene.hub.get("c").add_done_callback(scene.note)  # type: ignore[union-attr]
    forget(scene)
    assert [scene.hub.signal(key, "paid") for key in "abc"] == [1, 1, 1]
    assert held.outcome == "completed"
    assert scene.told == ["#1", "c"]
    scene.check()


def test_what_was_moved_in_the_index_is_not_taken_for_overdue() -> None:
    scene = Scene(memory=0)
    scene.hub.wait("k", "paid", 100)
    hub = scene.reopen(recover_grace=1_000)
    LateUpkeep(scene)
    assert hub.shift(key_prefix="k", by=5_000) == 1
    scene.clock.advance(500)
    assert hub.shift(key_prefix="k", by=5_000, dry_run=True) == 1
    assert hub.cancel_where(key_prefix="k") == 1
    scene.check()


def test_ids_are_known_wherever_their_waits_are() -> None:
    scene = Scene(memory=0)
    scene.hub.wait("k", "paid", 1_000, id="w")
    forget(scene)
    assert scene.hub._engine.state.ids == {}
    assert scene.hub.wait("k", "paid", 1_000, id="w").seq == 1
    with pytest.raises(sj.IdTakenError):
        scene.hub.wait("other", "paid", 1_000, id="w")
    forget(scene)
    assert scene.hub.cancel("w")
    assert scene.hub.wait("k", "paid", 1_000, id="w").outcome == "cancelled"
    scene.check()


def test_prefixes_are_those_of_texts() -> None:
    scene = Scene(memory=0)
    keys = ["", "a", "a\U0010ffff", "a\U0010ffffz", "ab", "b", "\ud7ff", "\ud7ffx", "\ue000", "\U0010ffff"]
    scene.hub.wait_many(keys, "paid", 1_000)
    for prefix in keys:
        expected = sum(key.startswith(prefix) for key in keys)
        assert scene.hub.cancel_where(key_prefix=prefix, dry_run=True) == expected, repr(prefix)
    assert scene.hub.signal("", "paid") == 1
    assert [wait.key for wait in scene.hub.list("\ud800")] == []
