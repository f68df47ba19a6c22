"""More than memory: wherever a wait lives, in memory or in the index, the answers are the same."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import sojourn as sj
from durable import program, test_twin
from durable.faulty_files import disk_after, some_of_it
from durable.scene import SHIPPED, WALL_MS, Scene, picture
from sojourn.durable.cold import WAIT_BYTES
from sojourn.durable.records import SNAPSHOT, SNAPSHOT_WAITS
from sojourn.durable.recovery import recover

FEW = 3 * WAIT_BYTES
MEMORIES = (0, FEW)


def told(scene: Scene) -> list[Any]:
    """Of those that end at the same time, one may be told before the other here, and after it there."""
    return sorted(tuple(outcome)[:12] for outcome in scene.hub.outcomes())


def pending(scene: Scene) -> list[Any]:
    return [body for type_, body in picture(scene.hub._engine.state) if type_ in (SNAPSHOT, SNAPSHOT_WAITS)]


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
